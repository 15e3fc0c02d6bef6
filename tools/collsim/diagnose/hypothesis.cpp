#include "tools/collsim/diagnose/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/rank_gpus.h"

namespace collsim {

namespace {

/// The links that a call uses, one direction of each cable, by what they are for. Rising.
struct UsedLinks {
  std::vector<LinkId> nvlinks;   ///< of GPUs
  std::vector<LinkId> pcie;      ///< PCIe, and between sockets
  std::vector<LinkId> ports;     ///< that leave nodes
  std::vector<LinkId> switches;  ///< between switches of the fabric
};

bool is_end(const Topology& topology, DeviceId device) {
  const DeviceKind kind = topology.device(device).kind;
  return kind == DeviceKind::gpu || kind == DeviceKind::nic;
}

void add(const Topology& topology, LinkId id, UsedLinks& used) {
  const Link link = topology.link(id);
  if (link.kind == LinkKind::nvlink) {
    used.nvlinks.push_back(id);
  } else if (link.kind != LinkKind::network) {
    used.pcie.push_back(id);
  } else if (topology.node_of(link.from) < 0 && topology.node_of(link.to) < 0) {
    used.switches.push_back(id);
  } else {
    used.ports.push_back(id);
  }
}

/// Of the calls of these sizes, each as NCCL runs it.
UsedLinks used_links(const CallCompiler& compiler, const std::vector<Bytes>& sizes) {
  const Topology& topology = compiler.topology();
  std::set<LinkId> ids;
  LayoutCache cache;
  for (const Bytes size : sizes) {
    const CompiledCall call = compiler.plan(size, &cache);
    for (const ResourceOrigin& origin : call.wiring().origins) {
      if (!origin.shared) ids.insert(std::min(origin.id, topology.link(origin.id).reverse));
    }
  }
  UsedLinks used;
  for (const LinkId id : ids) add(topology, id, used);
  return used;
}

/// A device inside a node that a link ends at, the GPU or NIC where there is one.
DeviceId end_in_node(const Topology& topology, LinkId link) {
  const Link ends = topology.link(link);
  if (is_end(topology, ends.to)) return ends.to;
  return topology.node_of(ends.from) >= 0 ? ends.from : ends.to;
}

/// A change of the machine or the call by a cause that has a value, if it has one.
using Change = std::function<Deviation(double value)>;

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

/// The change that leaves links a share of their bandwidth.
Change slow_links(const Topology& topology, std::vector<LinkId> links) {
  return [&topology, links = std::move(links)](double share) {
    return Deviation{{}, slowed(topology, links, share)};
  };
}

/// The change that a setting is, whoever made it.
Change setting(std::map<std::string, std::string> variables) {
  return [change = Deviation{std::move(variables)}](double) { return change; };
}

/// Places of a cause that are tried: all of a small cluster, of a large one some of all over it,
/// and the fewer, the longer an estimate takes.
template <typename Place>
std::vector<Place> spread_over(const std::vector<Place>& all, Rank ranks) {
  constexpr double max_places = 32;
  const auto most = static_cast<std::size_t>(std::max(8.0, max_places * share_of_effort(ranks)));
  std::vector<Place> some;
  const std::size_t count = std::min(all.size(), most);
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

/// Places in which one link has a share of its bandwidth left, or is dead.
std::vector<CausePlace> bad_link_places(const Topology& topology, const std::vector<LinkId>& links,
                                        Rank ranks, bool dead = false) {
  std::vector<CausePlace> places;
  for (const LinkId link : spread_over(links, ranks)) {
    places.push_back(
        {topology.device_name(end_in_node(topology, link)), [&topology, link, dead](double share) {
           MachineFaults faults = slowed(topology, {link}, dead ? 1 : share);
           faults.links.front().dead = dead;
           return Deviation{{}, std::move(faults)};
         }});
  }
  return places;
}

/// Places in which one rank is late or slow.
std::vector<CausePlace> rank_places(Rank ranks, RankFault (*fault_of)(Rank rank, double value)) {
  std::vector<Rank> all(ranks);
  std::iota(all.rbegin(), all.rend(), Rank{0});
  std::vector<CausePlace> places;
  for (const Rank rank : spread_over(all, ranks)) {
    places.push_back({fmt::format("rank {}", rank), [rank, fault_of](double value) {
                        return Deviation{{}, {{}, {fault_of(rank, value)}}};
                      }});
  }
  return places;
}

/// A row of the table that does what `change` says.
Hypothesis hypothesis_of(const CauseRow& row, Change change) {
  Hypothesis made{row.cause, row.text, row.check, row.parameter, std::move(change)};
  made.weight = row.weight;
  made.remedy = row.remedy;
  made.destroys = row.destroys;
  made.is_question = row.is_question;
  made.signs = row.signs;
  return made;
}

class Catalogue {
 public:
  Catalogue(const CallCompiler& compiler, const RecordedCall& call, bool guesses_nics)
      : compiler_(compiler),
        topology_(compiler.topology()),
        call_(call),
        guesses_nics_(guesses_nics),
        is_large_(share_of_effort(call.ranks) < 1.0 / 8),
        has_rdma_(rdma_nics(*compiler.nccl()) > 0),
        used_(used_links(compiler, is_large_ ? std::vector{Bytes{64 << 20}}
                                             : std::vector{Bytes{64 << 10}, Bytes{64 << 20}})),
        rows_(load_causes()) {}

  std::vector<Hypothesis> take() && {
    add_transports();
    add_network();
    add_links();
    add_choices();
    add_ranks();
    add_twins();
    return std::move(all_);
  }

 private:
  const Nccl* nccl() const { return compiler_.nccl(); }

  Hypothesis& add(std::string_view cause, Change change) {
    all_.push_back(hypothesis_of(cause_row(rows_, cause), std::move(change)));
    return all_.back();
  }

  /// A cause that acts in one of several places.
  void add(std::string_view cause, std::vector<CausePlace> places) {
    Hypothesis& added = add(cause, places.front().change);
    added.place = places.front().name;
    added.places = std::move(places);
  }

  /// Peer-to-peer or RDMA that is not used.
  void add_transports() {
    const std::uint32_t per_node = call_.ranks / call_.nodes;
    if (per_node > 1 && !nccl()->through_host_memory(0, 1)) {
      const std::map<std::string, std::string> off{{"NCCL_P2P_DISABLE", "1"},
                                                   {"NCCL_NVLS_ENABLE", "0"}};
      const std::vector<LinkId> links = host_links();
      add("p2p-disabled", [off, links, &topology = topology_](double share) {
        Deviation change{off};
        if (share < 1) change.faults = slowed(topology, links, share);
        return change;
      });
      // Beside a share of what links carry: what such hosts have had, which is slower for all
      // sizes. Of 1,440 GPUs it takes a third of the time of all causes.
      if (!used_.nvlinks.empty() && !is_large_) {
        Hypothesis& measured = add("p2p-disabled", [off](double) {
          return Deviation{off, {}, false, true};
        });
        measured.text += ", as fast as hosts have been measured";
        measured.parameter.reset();
      }
      // A message of the loopback takes some 10 us, and crosses two links of a host and more.
      const auto over_tcp = [off, links, &topology = topology_](double share) {
        return Deviation{off, slowed(topology, links, share, microseconds(5))};
      };
      if (call_.nodes == 1) add("host-sockets", over_tcp);
    }
    if (call_.nodes == 1 || !has_rdma_) return;
    // A host has one interface for TCP, however many NICs it has for RDMA.
    add("sockets", [ports = used_.ports, &topology = topology_,
                    interface = "=" + nic_names().front()](double share) {
      Deviation change{{{"NCCL_IB_DISABLE", "1"}, {"NCCL_IB_HCA", interface}}};
      if (share < 1) change.faults = slowed(topology, ports, share);
      return change;
    });
    add("no-gpudirect", [ports = used_.ports, &topology = topology_](double share) {
      return Deviation{{}, slowed(topology, ports, share, microseconds(1.5))};
    });
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

  void add_network() {
    if (used_.ports.empty()) return;
    const DeviceId port = end_in_node(topology_, used_.ports.front());
    const bool has_nic = topology_.device(port).kind == DeviceKind::nic;
    add("slow-port", bad_link_places(topology_, used_.ports, call_.ranks));
    if (used_.ports.size() > call_.nodes && has_nic) {
      add("dead-port", bad_link_places(topology_, used_.ports, call_.ranks, true));
    }
    add("slow-network", slow_links(topology_, used_.ports));
    add("slow-messages", [ports = used_.ports, &topology = topology_](double value) {
      return Deviation{{}, slowed(topology, ports, 1, microseconds(value))};
    });
    if (guesses_nics_ && has_nic) add_other_nics();
    add_fewer_nics();
    if (!used_.switches.empty()) add("oversubscription", slow_links(topology_, used_.switches));
  }

  /// As NCCL_IB_HCA takes them: of ports that NCCL has merged, "mlx5_0+mlx5_1", all.
  std::vector<std::string> nic_names() const {
    std::vector<std::string> names;
    for (const std::uint32_t net : nccl()->system().of_kind(NcclNodeKind::net)) {
      names.push_back(nccl()->system().node(net).net.name);
      std::replace(names.back().begin(), names.back().end(), '+', ',');
    }
    return names;
  }

  /// What NCCL is told to use so many of the NICs, evenly chosen.
  static std::map<std::string, std::string> some_nics(const std::vector<std::string>& names,
                                                      std::size_t count) {
    std::vector<std::string> some;
    for (std::size_t i = 0; i < count; ++i) some.push_back(names[i * names.size() / count]);
    return {{"NCCL_IB_HCA", fmt::format("={}", fmt::join(some, ","))}};
  }

  /// Common rates are powers of two times 25 Gb/s, and so are numbers of NICs. As many NICs are as
  /// likely as fewer.
  void add_other_nics() {
    Hypothesis& as_many =
        add("other-nics", [ports = used_.ports, &topology = topology_](double times) {
          return Deviation{{}, slowed(topology, ports, 1 / times)};
        });
    as_many.parameter->values = {2, 4, 8, 16, 32};
    as_many.signs.lines.clear();
    const std::vector<std::string> names = nic_names();
    const double halvings = std::floor(std::log2(static_cast<double>(names.size())));
    for (std::size_t count = names.size() / 2; count > 0; count /= 2) {
      Hypothesis& fewer = add("other-nics", [ports = used_.ports, &topology = topology_,
                                             some = some_nics(names, count)](double times) {
        Deviation change{some};
        if (times > 1) change.faults = slowed(topology, ports, 1 / times);
        return change;
      });
      fewer.text += fmt::format(" ({} for {})", count, names.size());
      fewer.parameter->text = "each with 1/{} of the rate";
      fewer.parameter->values = {1, 2, 4, 8};
      fewer.weight /= halvings;
    }
  }

  void add_fewer_nics() {
    const std::vector<std::string> names = nic_names();
    if (names.size() < 2) return;
    CauseParameter& counts = *add("fewer-nics", [names](double value) {
                                return Deviation{some_nics(names, static_cast<std::size_t>(value))};
                              }).parameter;
    constexpr std::string_view all = "{all}";
    counts.text.replace(counts.text.find(all), all.size(), std::to_string(names.size()));
    for (std::size_t count = 1; count < names.size(); count += count < 4 ? 1 : 2) {
      counts.values.push_back(static_cast<double>(count));
    }
  }

  void add_links() {
    if (!used_.nvlinks.empty())
      add("slow-nvlink", bad_link_places(topology_, used_.nvlinks, call_.ranks));
    if (used_.pcie.empty()) return;
    add("slow-slot", bad_link_places(topology_, used_.pcie, call_.ranks));
    add("slow-pcie", slow_links(topology_, used_.pcie));
  }

  /// What NCCL chooses otherwise than by itself.
  void add_choices() {
    const auto function = compiler_.nccl_function();
    if (function) {
      for (std::size_t i = 0; i < nccl_algorithm_count; ++i) {
        add_choice("forced-algorithm", "NCCL_ALGO",
                   std::string(nccl_name(static_cast<NcclAlgorithm>(i))), nccl_algorithm_count);
      }
      constexpr std::array protocols{Protocol::ll, Protocol::ll128, Protocol::simple};
      for (const Protocol protocol : protocols) {
        add_choice("forced-protocol", "NCCL_PROTO", std::string(to_string(protocol)),
                   protocols.size());
      }
      if (nccl()->nvls_channels() > 0 && !call_.variables.contains("NCCL_NVLS_ENABLE")) {
        add("nvls-off", setting({{"NCCL_NVLS_ENABLE", "0"}}));
      }
    }
    if (call_.nodes > 1 && nic_names().size() > 1 && function &&
        !call_.variables.contains("NCCL_CROSS_NIC")) {
      add("cross-nic", setting({{"NCCL_CROSS_NIC", "0"}}));
    }
    add_few_channels();
  }

  void add_few_channels() {
    std::vector<double> counts;
    for (const double count : {1, 2, 3, 4, 6, 8, 12, 16}) {
      if (count < nccl()->channel_count()) counts.push_back(count);
    }
    if (counts.empty()) return;
    add("few-channels", [](double value) {
      const std::string count = fmt::format("{:.0f}", value);
      return Deviation{{{"NCCL_MIN_NCHANNELS", "1"},
                        {"NCCL_MAX_NCHANNELS", count},
                        {"NCCL_MAX_P2P_NCHANNELS", count}}};
    }).parameter->values = std::move(counts);
  }

  /// One of so many choices, each as likely beforehand.
  void add_choice(std::string_view cause, const std::string& variable, const std::string& value,
                  std::size_t count) {
    if (call_.variables.contains(variable)) return;
    Hypothesis& added = add(cause, setting({{variable, value}}));
    added.text.replace(added.text.find("{}"), 2, value);
    added.weight /= static_cast<double>(count);
  }

  void add_ranks() {
    const Rank ranks = compiler_.ranks();
    add("late-rank", rank_places(ranks, [](Rank rank, double value) {
          return RankFault{rank, microseconds(value), 1};
        }));
    add("slow-gpu", rank_places(ranks, [](Rank rank, double value) {
          return RankFault{rank, {}, value};
        }));
    // Two processes take turns on a GPU: each has half of its time, and waits for the other's turn.
    add("shared-gpu", rank_places(ranks, [](Rank rank, double value) {
          constexpr double half = 0.5;
          return RankFault{rank, microseconds(value), half};
        }));
    add("slow-gpus", every_host([](double speed) { return HostFault{0, {}, speed}; }));
    add("late-calls", every_host([](double value) {
          return HostFault{0, microseconds(value), 1};
        }));
    if (spread_gpus(topology_, call_.ranks, call_.nodes).empty()) return;
    add("placement", [](double) { return Deviation{{}, {}, true}; });
  }

  /// The change that makes the ranks of all hosts late or slow.
  Change every_host(HostFault (*fault_of)(double value)) const {
    return [nodes = call_.nodes, fault_of](double value) {
      Deviation change;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        change.faults.hosts.push_back(fault_of(value));
        change.faults.hosts.back().node = static_cast<std::int32_t>(node);
      }
      return change;
    };
  }

  bool is_possible(CauseWhere where) const {
    const bool between_hosts = call_.nodes > 1;
    switch (where) {
      case CauseWhere::anywhere:
        return true;
      case CauseWhere::with_rdma:
        return between_hosts && has_rdma_;
      case CauseWhere::without_rdma:
        return between_hosts && !has_rdma_;
      case CauseWhere::with_nics:
        return between_hosts && nic_names().size() > 1;
      case CauseWhere::on_pcie:
        return used_.nvlinks.empty();
      case CauseWhere::guessed_nics:
        return between_hosts && guesses_nics_;
    }
    return false;
  }

  Hypothesis twin_of(const Hypothesis& other, const CauseRow& row) const {
    Hypothesis made = hypothesis_of(row, other.change);
    made.parameter = other.parameter;
    made.place = other.place;
    made.places = other.places;
    made.effect = other.text;
    if (!made.parameter || !row.usual) return made;
    const double unit = row.usual_of_one_nic ? 1 / static_cast<double>(nic_names().size()) : 1;
    made.parameter->usual = std::pair(row.usual->first * unit, row.usual->second * unit);
    return made;
  }

  /// Causes that are simulated as another one is.
  void add_twins() {
    std::vector<Hypothesis> made;
    for (Hypothesis& each : all_) {
      for (const CauseRow& row : rows_) {
        if (row.like != each.cause || !is_possible(row.where)) continue;
        each.effect = each.text;
        made.push_back(twin_of(each, row));
      }
    }
    std::move(made.begin(), made.end(), std::back_inserter(all_));
  }

  const CallCompiler& compiler_;
  const Topology& topology_;
  const RecordedCall& call_;
  bool guesses_nics_;
  bool is_large_;  // so that plans and estimates take long
  bool has_rdma_;
  UsedLinks used_;
  std::vector<CauseRow> rows_;
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
  const double anywhere = std::log(0.85 / 0.02);
  const auto [least, most] = *parameter.usual;
  const bool is_usual = value >= least && value <= most;
  return std::log(1 - sure + (is_usual ? sure * anywhere / std::log(most / least) : 0));
}

std::size_t rdma_nics(const Nccl& nccl) {
  const auto nets = nccl.system().of_kind(NcclNodeKind::net);
  return static_cast<std::size_t>(std::count_if(nets.begin(), nets.end(), [&](std::uint32_t net) {
    return nccl.system().node(net).net.gdr;
  }));
}

std::vector<Hypothesis> hypotheses_for(const CallCompiler& compiler, const RecordedCall& call,
                                       bool guesses_nics) {
  if (compiler.nccl() == nullptr) return {};
  return Catalogue(compiler, call, guesses_nics).take();
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
