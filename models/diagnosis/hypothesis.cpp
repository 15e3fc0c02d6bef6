#include "models/diagnosis/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/call/rank_gpus.h"
#include "models/diagnosis/twin_causes.h"
#include "models/diagnosis/used_links.h"

namespace collsim {

namespace {

using Settings = std::map<std::string, std::string>;

constexpr const char* of_its_rate = "at {} of its rate";
const std::vector<double> shares{0.02, 0.05, 0.1, 0.18, 0.25, 0.35, 0.5, 0.7, 0.85};

/// Of what a host's memory carries; a smaller share is another cause's.
constexpr double min_of_host_memory = 0.1;

/// Of what a NIC carries: 1 Gb/s beside 400 Gb/s.
constexpr double min_of_interface = 0.002;

/// A share of what a part has. Parts that fail lose lanes, links or a step of their rate, down to
/// one of sixteen or eighteen; a share that is smaller is no slow part.
CauseParameter share_left(std::string text) {
  constexpr double least = 1.0 / 18;
  return {std::move(text), shares, true, 1, std::pair(least, 0.9), shares.front()};
}

/// A cause that is a setting, whoever made it.
Hypothesis setting(std::string cause, std::string text, std::string check, Settings variables) {
  return {std::move(cause), std::move(text), std::move(check), std::nullopt,
          [change = Deviation{std::move(variables)}](double) { return change; }};
}

/// Links that have a share of their bandwidth left, both ways.
MachineFaults slowed(const Topology& topology, const std::vector<LinkId>& links, double share,
                     Seconds latency = {}) {
  LinkFault fault;
  for (const LinkId link : links) {
    fault.links.push_back(link);
    fault.links.push_back(topology.link(link).reverse);
  }
  fault.share = share;
  fault.latency = latency;
  return {{fault}};
}

/// A cause that leaves links a share of their bandwidth.
Hypothesis slow_links(std::string cause, std::string text, std::string check,
                      const Topology& topology, std::vector<LinkId> links) {
  return {std::move(cause), std::move(text), std::move(check), share_left(of_its_rate),
          [&topology, links = std::move(links)](double share) {
            return Deviation{{}, slowed(topology, links, share)};
          }};
}

/// So many places of a cause are tried: all of a small cluster, of a large one some of all over it.
constexpr std::size_t max_places = 32;

template <typename Place>
std::vector<Place> spread_over(const std::vector<Place>& all) {
  std::vector<Place> some;
  const std::size_t count = std::min(all.size(), max_places);
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

/// A cause that acts in one of several places.
Hypothesis somewhere(std::string cause, std::string text, std::string check,
                     std::optional<CauseParameter> parameter, std::vector<CausePlace> places) {
  Hypothesis hypothesis{std::move(cause), std::move(text), std::move(check), std::move(parameter),
                        places.front().change};
  hypothesis.place = places.front().name;
  hypothesis.places = std::move(places);
  return hypothesis;
}

/// Places in which one link has a share of its bandwidth left.
std::vector<CausePlace> slow_link_places(const Topology& topology,
                                         const std::vector<LinkId>& links) {
  std::vector<CausePlace> places;
  for (const LinkId link : spread_over(links)) {
    places.push_back(
        {topology.device_name(end_in_node(topology, link)), [&topology, link](double share) {
           return Deviation{{}, slowed(topology, {link}, share)};
         }});
  }
  return places;
}

/// Places in which one link is dead.
std::vector<CausePlace> dead_link_places(const Topology& topology,
                                         const std::vector<LinkId>& links) {
  std::vector<CausePlace> places = slow_link_places(topology, links);
  for (CausePlace& place : places) {
    place.change = [slow = std::move(place.change)](double) {
      Deviation change = slow(1);
      change.faults.links.front().dead = true;
      return change;
    };
  }
  return places;
}

/// Places in which one rank is late or slow.
std::vector<CausePlace> rank_places(Rank ranks, RankFault (*fault_of)(Rank rank, double value)) {
  std::vector<Rank> all(ranks);
  std::iota(all.rbegin(), all.rend(), Rank{0});
  std::vector<CausePlace> places;
  for (const Rank rank : spread_over(all)) {
    places.push_back({fmt::format("rank {}", rank), [rank, fault_of](double value) {
                        return Deviation{{}, {{}, {fault_of(rank, value)}}};
                      }});
  }
  return places;
}

/// Chosen by what operators of clusters report: one port or cable of many goes bad more often than
/// all of them do, a setting of the fabric more often than the PCIe of all hosts.
double commonness_of(std::string_view cause) {
  constexpr auto common = std::to_array<std::pair<std::string_view, double>>({
      {"slow-port", 3},
      {"no-gpudirect", 3},
      {"slow-network", 2},
      {"slow-nvlink", 2},
      {"slow-gpu", 2},
      {"fewer-nics", 2},
      {"sockets", 2},
  });
  const auto* const found = std::find_if(common.begin(), common.end(),
                                         [&](const auto& each) { return each.first == cause; });
  return found == common.end() ? 1 : found->second;
}

class Catalogue {
 public:
  Catalogue(const CallCompiler& compiler, const RecordedCall& call)
      : compiler_(compiler),
        topology_(compiler.topology()),
        call_(call),
        used_(used_links(compiler, {Bytes{64 << 10}, Bytes{64 << 20}})) {}

  std::vector<Hypothesis> take() && {
    add_transports();
    add_network();
    add_links();
    add_choices();
    add_ranks();
    add_twins({call_.nodes > 1, has_rdma(), !used_.nvlinks.empty(), nic_names().size()}, all_);
    for (Hypothesis& each : all_) each.commonness = commonness_of(each.cause);
    return std::move(all_);
  }

 private:
  const Nccl* nccl() const { return compiler_.nccl(); }

  /// Peer-to-peer or RDMA that is not used.
  void add_transports() {
    const std::uint32_t per_node = call_.ranks / call_.nodes;
    if (per_node > 1 && !nccl()->through_host_memory(0, 1)) {
      all_.push_back({"p2p-disabled", "no peer-to-peer: GPUs of a node talk through host memory",
                      "NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, IOMMU and ACS, isolation of containers; "
                      "NCCL_DEBUG=INFO says `via SHM`",
                      CauseParameter{"which moves data at {} of its rate",
                                     {0.1, 0.18, 0.25, 0.35, 0.5, 0.7, 1},
                                     true,
                                     1,
                                     std::pair(0.5, 1.0),
                                     min_of_host_memory},
                      [links = host_links(), &topology = topology_](double share) {
                        Deviation change{{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}}};
                        if (share < 1) change.faults = slowed(topology, links, share);
                        return change;
                      }});
    }
    if (call_.nodes == 1 || !has_rdma()) return;
    // A host has one interface for TCP, however many NICs it has for RDMA.
    Hypothesis sockets{"sockets", "TCP in place of RDMA",
                       "NCCL_IB_DISABLE, NCCL_NET, /dev/infiniband in the container; "
                       "NCCL_DEBUG=INFO says `NET/Socket`",
                       CauseParameter{"over a network {} as fast",
                                      {0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1},
                                      true,
                                      1,
                                      std::nullopt,
                                      min_of_interface},
                       [this_ports = used_.ports, &topology = topology_,
                        interface = "=" + nic_names().front()](double share) {
                         Deviation change{{{"NCCL_IB_DISABLE", "1"}, {"NCCL_IB_HCA", interface}}};
                         if (share < 1) change.faults = slowed(topology, this_ports, share);
                         return change;
                       }};
    all_.push_back(std::move(sockets));
    // Without GPUDirect every byte crosses the links between switch and CPU twice as well, so that
    // NICs get a half or less, and messages come later.
    all_.push_back({"no-gpudirect", "no GPUDirect RDMA: NICs read and write host memory",
                    "nvidia-peermem or dma-buf, ACS, NCCL_NET_GDR_LEVEL; NCCL_DEBUG=INFO has no "
                    "`GDRDMA`",
                    CauseParameter{"NICs at {} of their rate",
                                   {0.12, 0.2, 0.3, 0.4, 0.5, 0.65},
                                   true,
                                   1,
                                   std::pair(0.3, 0.7),
                                   min_of_host_memory},
                    [ports = used_.ports, &topology = topology_](double share) {
                      return Deviation{{}, slowed(topology, ports, share, microseconds(1.5))};
                    }});
  }

  /// PCIe, and what joins sockets, of the nodes of the call; one direction of each.
  std::vector<LinkId> host_links() const {
    std::vector<LinkId> links;
    for (std::uint32_t node = 0; node < call_.nodes; ++node) {
      const NodePart part = topology_.node(node);
      const std::size_t count = 2 * part.graph->graph().links.size();
      for (LinkId link = part.first_link; link < part.first_link + count; ++link) {
        const Link each = topology_.link(link);
        const bool carries = each.kind == LinkKind::pcie || each.kind == LinkKind::cpu;
        if (carries && link < each.reverse) links.push_back(link);
      }
    }
    return links;
  }

  bool has_rdma() const {
    for (const std::uint32_t net : nccl()->system().of_kind(NcclNodeKind::net)) {
      if (nccl()->system().node(net).net.gdr) return true;
    }
    return false;
  }

  void add_network() {
    if (used_.ports.empty()) return;
    const DeviceId port = end_in_node(topology_, used_.ports.front());
    const std::string where =
        "link rate and error counters of every port (ibstat, perfquery, "
        "ethtool -S); then pairs of hosts";
    const bool has_nic = topology_.device(port).kind == DeviceKind::nic;
    all_.push_back(somewhere("slow-port", "one NIC port of one host is slow", where,
                             share_left(of_its_rate), slow_link_places(topology_, used_.ports)));
    if (used_.ports.size() > call_.nodes && has_nic) {
      all_.push_back(somewhere("dead-port",
                               "one NIC port of one host is dead, and others carry its traffic",
                               where, std::nullopt, dead_link_places(topology_, used_.ports)));
    }
    all_.push_back(slow_links("slow-network", "all NIC ports are slow",
                              "the ports' rate, MTU, congestion (PFC, ECN), NCCL_IB_* settings",
                              topology_, used_.ports));
    all_.push_back({"slow-messages", "every message between hosts takes longer",
                    "late completions of NICs (interrupt moderation), PFC and ECN of RoCE, "
                    "ib_write_lat between hosts",
                    CauseParameter{"by {} us", {2, 5, 15, 40, 100, 300, 1000}, true, 1e5},
                    [ports = used_.ports, &topology = topology_](double value) {
                      return Deviation{{}, slowed(topology, ports, 1, microseconds(value))};
                    }});
    add_fewer_nics();
    if (!used_.switches.empty()) {
      all_.push_back(slow_links("oversubscription", "links between switches are oversubscribed",
                                "uplinks of leaf switches, adaptive routing, other jobs", topology_,
                                used_.switches));
    }
  }

  std::vector<std::string> nic_names() const {
    std::vector<std::string> names;
    for (const std::uint32_t net : nccl()->system().of_kind(NcclNodeKind::net)) {
      names.push_back(nccl()->system().node(net).net.name);
    }
    return names;
  }

  void add_fewer_nics() {
    const std::vector<std::string> names = nic_names();
    if (names.size() < 2) return;
    CauseParameter counts{"{} of " + fmt::format("{} NICs", names.size()), {}, false};
    for (std::size_t count = 1; count < names.size(); count += count < 4 ? 1 : 2) {
      counts.values.push_back(static_cast<double>(count));
    }
    all_.push_back({"fewer-nics", "NCCL uses fewer NICs than there are",
                    "NCCL_IB_HCA, ports that are down, devices of the container; NCCL_DEBUG=INFO "
                    "lists them after `NET/IB : Using`",
                    counts, [names](double value) {
                      const auto count = static_cast<std::size_t>(value);
                      std::string list = "=";
                      for (std::size_t i = 0; i < count; ++i) {
                        list += (i == 0 ? "" : ",") + names[i * names.size() / count];
                      }
                      return Deviation{{{"NCCL_IB_HCA", list}}};
                    }});
  }

  void add_links() {
    if (!used_.nvlinks.empty()) {
      all_.push_back(somewhere("slow-nvlink", "NVLinks of one GPU are slow or some are down",
                               "nvidia-smi nvlink --status and -e on every host",
                               share_left(of_its_rate),
                               slow_link_places(topology_, used_.nvlinks)));
    }
    if (used_.pcie.empty()) return;
    const std::string check = "lspci -vv: LnkSta of GPUs and NICs (width and speed)";
    all_.push_back(somewhere("slow-slot", "one PCIe link of one host is slow", check,
                             share_left(of_its_rate), slow_link_places(topology_, used_.pcie)));
    all_.push_back(slow_links("slow-pcie", "PCIe or host memory of all hosts is slow",
                              check + "; NUMA binding, IOMMU, BIOS (NPS)", topology_, used_.pcie));
  }

  /// What NCCL chooses otherwise than by itself.
  void add_choices() {
    const auto function = compiler_.nccl_function();
    if (function) {
      for (std::size_t i = 0; i < nccl_algorithm_count; ++i) {
        add_choice("forced-algorithm", "NCCL_ALGO",
                   std::string(nccl_name(static_cast<NcclAlgorithm>(i))));
      }
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
        add_choice("forced-protocol", "NCCL_PROTO", std::string(to_string(protocol)));
      }
      if (nccl()->nvls_channels() > 0 && !call_.variables.contains("NCCL_NVLS_ENABLE")) {
        all_.push_back(setting("nvls-off", "NVLS is off",
                               "NCCL_NVLS_ENABLE, the fabric manager, "
                               "CUDA_VISIBLE_DEVICES; NCCL_DEBUG=INFO has no nvls channels",
                               {{"NCCL_NVLS_ENABLE", "0"}}));
      }
    }
    if (call_.nodes > 1 && nic_names().size() > 1 && function &&
        !call_.variables.contains("NCCL_CROSS_NIC")) {
      all_.push_back(setting("cross-nic", "rings keep to one rail (NCCL_CROSS_NIC=0)",
                             "NCCL_CROSS_NIC, /etc/nccl.conf", {{"NCCL_CROSS_NIC", "0"}}));
    }
    CauseParameter counts{"{} channels", {}, false};
    for (const double count : {1, 2, 3, 4, 6, 8, 12, 16}) {
      if (count < nccl()->channel_count()) counts.values.push_back(count);
    }
    if (counts.values.empty()) return;
    all_.push_back({"few-channels", "NCCL uses few channels",
                    "NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS, the communicator's maxCTAs", counts,
                    [](double value) {
                      const std::string count = fmt::format("{:.0f}", value);
                      return Deviation{{{"NCCL_MIN_NCHANNELS", "1"},
                                        {"NCCL_MAX_NCHANNELS", count},
                                        {"NCCL_MAX_P2P_NCHANNELS", count}}};
                    }});
  }

  void add_choice(const std::string& cause, const std::string& variable, const std::string& value) {
    if (call_.variables.contains(variable)) return;
    all_.push_back(setting(cause, fmt::format("{} is forced to {}", variable.substr(5), value),
                           variable + ", /etc/nccl.conf, ~/.nccl.conf, a tuner plug-in",
                           {{variable, value}}));
  }

  void add_ranks() {
    const Rank ranks = compiler_.ranks();
    all_.push_back(
        somewhere("late-rank", "one rank comes late to every call",
                  "CPU affinity and load of every process; a profiler shows who waits",
                  CauseParameter{"by {} us", {5, 15, 40, 100, 300, 1000, 5000, 20000}, true, 1e5},
                  rank_places(ranks, [](Rank rank, double value) {
                    return RankFault{rank, microseconds(value), 1};
                  })));
    all_.push_back(
        somewhere("slow-gpu", "one GPU moves data slowly",
                  "clocks and throttling (nvidia-smi -q -d PERFORMANCE), ECC, other processes",
                  share_left("at {} of its speed"), rank_places(ranks, [](Rank rank, double value) {
                    return RankFault{rank, {}, value};
                  })));
    // Clocks that are held down keep two fifths of their rate and more.
    constexpr double min_clock = 0.4;
    all_.push_back(
        {"slow-gpus", "all GPUs move data slowly",
         "clocks, power limits and throttling of all GPUs (nvidia-smi -q -d "
         "CLOCK,POWER,PERFORMANCE)",
         CauseParameter{
             "at {} of their speed", {min_clock, 0.5, 0.7, 0.85}, true, 1, std::nullopt, min_clock},
         [nodes = call_.nodes](double speed) {
           Deviation change;
           for (std::uint32_t node = 0; node < nodes; ++node) {
             change.faults.hosts.push_back({static_cast<std::int32_t>(node), {}, speed});
           }
           return change;
         }});
    if (spread_gpus(topology_, call_.ranks, call_.nodes).empty()) return;
    all_.push_back({"placement", "ranks sit far apart",
                    "which hosts, sockets and switches the job got; ask for near ones",
                    std::nullopt, [](double) {
                      return Deviation{{}, {}, true};
                    }});
  }

  const CallCompiler& compiler_;
  const Topology& topology_;
  const RecordedCall& call_;
  UsedLinks used_;
  std::vector<Hypothesis> all_;
};

}  // namespace

std::string describe(const Hypothesis& hypothesis, double value) {
  const std::string where = hypothesis.place.empty()
                                ? ""
                                : fmt::format(", {} or one with the same part", hypothesis.place);
  if (!hypothesis.parameter) return hypothesis.text + where;
  std::string number = fmt::format("{:.3g}", value);
  if (!hypothesis.parameter->continuous) number = fmt::format("{:.0f}", value);
  std::string text = hypothesis.parameter->text;
  text.replace(text.find("{}"), 2, number);
  return hypothesis.text + ", " + text + where;
}

int fitted_numbers(const Hypothesis& hypothesis) {
  return (hypothesis.parameter ? 1 : 0) + hypothesis.more_numbers;
}

double prior_of(const CauseParameter& parameter, double value) {
  if (!parameter.usual || !parameter.continuous) return 0;
  constexpr double sure = 0.9;  // that the value is a usual one
  const double anywhere = std::log(shares.back() / shares.front());
  const auto [least, most] = *parameter.usual;
  const bool is_usual = value >= least && value <= most;
  return std::log(1 - sure + (is_usual ? sure * anywhere / std::log(most / least) : 0));
}

std::vector<Hypothesis> hypotheses_for(const CallCompiler& compiler, const RecordedCall& call) {
  if (compiler.nccl() == nullptr) return {};
  return Catalogue(compiler, call).take();
}

std::vector<DeviceId> spread_gpus(const Topology& topology, Rank ranks, std::uint32_t nodes) {
  const std::uint32_t per_node = ranks / nodes;
  std::map<std::int32_t, std::vector<DeviceId>> by_node;
  for (const DeviceId gpu : topology.gpus()) by_node[topology.node_of(gpu)].push_back(gpu);
  std::vector<const std::vector<DeviceId>*> fit;
  for (const auto& [node, gpus] : by_node) {
    if (gpus.size() >= per_node) fit.push_back(&gpus);
  }
  std::vector<DeviceId> spread;
  for (std::size_t i = 0; i < nodes && nodes <= fit.size(); ++i) {
    const std::vector<DeviceId>& gpus = *fit[i * fit.size() / nodes];
    for (std::size_t j = 0; j < per_node; ++j) spread.push_back(gpus[j * gpus.size() / per_node]);
  }
  if (spread == first_gpus(topology, ranks, per_node)) return {};
  return spread;
}

}  // namespace collsim
