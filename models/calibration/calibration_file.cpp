#include "models/calibration/calibration_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/pace.h"
#include "models/calibration/trust.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/yaml_reader.h"

namespace collsim {

namespace {

constexpr std::array<std::string_view, link_kind_count> link_kinds{"nvlink", "pcie", "cpu",
                                                                   "network"};
constexpr std::array<std::string_view, protocol_count> protocols{"ll", "ll128", "simple"};

/// Topologies say of PCIe what NCCL takes for usable, and good hosts exceed that.
constexpr auto pcie = static_cast<std::size_t>(LinkKind::pcie);
constexpr double max_of_pcie = 1.5;
constexpr double slowest_pace = 10;

constexpr std::string_view calibrations = "models/calibrations";

void read_rate(const YamlMapping& mapping, std::string_view key, BytesPerSecond& rate) {
  if (const auto value = mapping.find(key)) rate = value->rate();
}

void read_rates(const YamlValue& value, PerTouch<BytesPerSecond>& rates) {
  const YamlMapping mapping = value.mapping({"load", "receive", "store", "send", "fan", "other"});
  read_rate(mapping, "load", rates.load);
  read_rate(mapping, "receive", rates.receive);
  read_rate(mapping, "store", rates.store);
  read_rate(mapping, "send", rates.send);
  read_rate(mapping, "fan", rates.fan);
  read_rate(mapping, "other", rates.other);
}

void read_rounds(const YamlMapping& mapping, PerTouch<Seconds>& rounds) {
  const auto read = [&](std::string_view key, Seconds& time) {
    if (const auto given = mapping.find(key)) time = given->time();
  };
  read("load", rounds.load);
  read("receive", rounds.receive);
  read("store", rounds.store);
  read("send", rounds.send);
  read("fan", rounds.fan);
  read("other", rounds.other);
}

/// What may differ by the kind of the slowest link.
void read_thread_block(const YamlMapping& mapping, ProtocolCost& cost) {
  if (const auto slice = mapping.find("slice")) cost.slice = slice->time();
  if (const auto fence = mapping.find("fence")) cost.fence = fence->time();
  if (const auto copied = mapping.find("copy_slice")) cost.copy_slice = copied->time();
  if (const auto per_warp = mapping.find("slice_per_warp")) cost.slice_per_warp = per_warp->time();
  if (const auto half = mapping.find("half_block")) cost.half_block = half->time();
  if (const auto fan = mapping.find("fan")) cost.fan = fan->time();
  if (const auto crowding = mapping.find("crowding")) {
    cost.crowding = crowding->share(max_crowding);
  }
  if (const auto overlap = mapping.find("overlap")) cost.overlap = overlap->share();
  if (const auto mixing = mapping.find("mixing")) cost.mixing = mixing->share(max_mixing);
  if (const auto rates = mapping.find("rate")) read_rates(*rates, cost.rate);
  read_rate(mapping, "fetch", cost.fetch);
  if (const auto cold = mapping.find("cold")) {
    const YamlMapping rounds = cold->mapping({"load", "receive", "fan"});
    if (const auto load = rounds.find("load")) cost.cold_load = load->time();
    if (const auto receive = rounds.find("receive")) cost.cold_receive = receive->time();
    if (const auto fan = rounds.find("fan")) cost.cold_fan = fan->time();
  }
  const std::initializer_list<std::string_view> moves{"load", "receive", "store", "send"};
  if (const auto round = mapping.find("round")) read_rounds(round->mapping(moves), cost.round);
  if (const auto first = mapping.find("first")) read_rounds(first->mapping(moves), cost.first);
  if (const auto work = mapping.find("work")) {
    read_rounds(work->mapping({"load", "receive", "store", "send", "fan", "other"}), cost.work);
  }
  if (const auto last = mapping.find("last_store")) cost.last_store = last->share();
  if (const auto longer = mapping.find("misaligned")) cost.misaligned = longer->share();
}

void read_protocol(const YamlMapping& mapping, ProtocolCost& cost) {
  if (const auto setup = mapping.find("setup")) cost.setup = setup->time();
  if (const auto per_warp = mapping.find("setup_per_warp")) cost.setup_per_warp = per_warp->time();
  if (const auto direct = mapping.find("direct_setup")) cost.direct_setup = direct->time();
  if (const auto setup = mapping.find("message_setup")) cost.message_setup = setup->time();
  if (const auto alpha = mapping.find("alpha")) {
    const YamlMapping kinds = alpha->mapping({"nvlink", "pcie", "cpu", "network"});
    for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
      if (const auto time = kinds.find(link_kinds[kind])) cost.alpha[kind] = time->time();
    }
  }
  if (const auto factor = mapping.find("wire_factor")) {
    cost.wire_factor = factor->fraction(4);
    if (cost.wire_factor < 1) factor->fail("a wire factor below 1", "a number from 1 to 4");
  }
  if (const auto warp = mapping.find("warp")) cost.warp_granule = warp->bytes();
  read_thread_block(mapping, cost);
}

void read_protocol(const YamlValue& value, std::size_t protocol, Calibration& cost) {
  const YamlMapping mapping = value.mapping(
      {"setup",       "setup_per_warp", "direct_setup", "message_setup", "alpha",
       "wire_factor", "warp",           "over",         "slice",         "fence",
       "copy_slice",  "slice_per_warp", "half_block",   "fan",           "crowding",
       "mixing",      "overlap",        "rate",         "fetch",         "cold",
       "round",       "work",           "first",        "last_store",    "misaligned"});
  read_protocol(mapping, cost.protocols[protocol]);
  const auto over = mapping.find("over");
  if (!over) return;
  const YamlMapping kinds = over->mapping({"nvlink", "pcie", "cpu", "network"});
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    const auto own = kinds.find(link_kinds[kind]);
    if (!own) continue;
    if (!cost.over[protocol][kind]) cost.over[protocol][kind] = cost.protocols[protocol];
    read_thread_block(own->mapping({"slice", "fence", "copy_slice", "slice_per_warp", "half_block",
                                    "fan", "crowding", "mixing", "overlap", "rate", "fetch", "cold",
                                    "round", "work", "first", "last_store", "misaligned"}),
                      *cost.over[protocol][kind]);
  }
}

ProxyCost read_proxy(const YamlValue& value) {
  const YamlMapping mapping = value.mapping({"send", "receive", "copy", "rate", "socket"});
  ProxyCost cost;
  cost.used = true;
  cost.send = mapping.at("send").time();
  cost.receive = mapping.at("receive").time();
  read_rate(mapping, "copy", cost.copy);
  read_rate(mapping, "rate", cost.rate);
  if (const auto socket = mapping.find("socket")) cost.socket = socket->bytes();
  return cost;
}

/// What it leaves out is as in the calibration that it extends, and has to be there if none says
/// so.
void read_memory(const YamlValue& value, MemoryCost& cost) {
  if (value.is_scalar()) {
    if (value.string() != "none") {
      value.fail(fmt::format("'{}' is no host memory", value.string()),
                 "none, or { cached: ..., rate: ..., cache: ... }");
    }
    cost = {};
    return;
  }
  const YamlMapping mapping = value.mapping({"cached", "rate", "cache", "both_ways"});
  const auto states = [&](std::string_view key) { return !cost.used || mapping.find(key); };
  if (states("cached")) cost.cached = mapping.at("cached").rate();
  if (states("rate")) cost.rate = mapping.at("rate").rate();
  if (states("cache")) {
    const YamlValue cache = mapping.at("cache");
    cost.cache = cache.bytes();
    if (cost.cache.count == 0) cache.fail("a cache of 0 bytes", "a size above 0, like 40 MiB");
  }
  if (cost.rate > cost.cached) {
    const YamlValue wrong = mapping.find("rate") ? mapping.at("rate") : mapping.at("cached");
    wrong.fail(
        fmt::format("'rate' is {:.4g} GB/s and 'cached' {:.4g} GB/s",
                    in_gigabytes_per_second(cost.rate), in_gigabytes_per_second(cost.cached)),
        "a 'rate' of at most 'cached'");
  }
  if (const auto both_ways = mapping.find("both_ways")) {
    const YamlMapping ways = both_ways->mapping({"at_once", "in_turn"});
    cost.at_once = ways.at("at_once").rate();
    cost.in_turn = ways.at("in_turn").rate();
  }
  cost.used = true;
}

/// What the file says of its own constants. Where fitted ones come from is for people: but for
/// their names, only its keys must be right.
CalibrationTrust read_claims(const YamlMapping& root) {
  std::vector<std::string> names;
  if (const auto provenance = root.find("provenance")) {
    const YamlMapping keys = provenance->mapping(
        {"command", "version", "topology", "machine", "start", "recordings", "rows", "median_error",
         "held_out", "stopped", "fitted", "kept", "correlated"});
    if (const auto fitted = keys.find("fitted")) {
      const YamlMapping constants = fitted->free_mapping();
      for (const auto& [name, interval] : constants.entries()) names.push_back(name.string());
    }
  }
  const auto trust = root.find("trust");
  return trust ? read_trust(*trust) : trust_of_fitted(names);
}

/// A calibration's file and those that lead to it, each by what it extends.
using Lineage = std::vector<std::filesystem::path>;

Calibration read_lineage(const TextFile& text, const Lineage& lineage);

std::filesystem::path find_base(const YamlValue& value) {
  const std::string name = value.string();
  try {
    return find_data_file(name, calibrations);
  } catch (const InputError&) {
    value.fail(fmt::format("there is no calibration '{}'", name),
               shipped_names_instead_of(name, calibrations));
  }
}

/// What the last of the lineage extends.
Calibration load_base(const YamlValue& value, Lineage lineage) {
  const std::filesystem::path base = find_base(value);
  const bool is_circle = std::any_of(lineage.begin(), lineage.end(), [&](const auto& file) {
    std::error_code not_a_file;
    return std::filesystem::equivalent(file, base, not_a_file);
  });
  lineage.push_back(base);
  if (is_circle) {
    std::vector<std::string> names;
    for (const auto& file : lineage) names.push_back(file.stem().string());
    value.fail(fmt::format("a calibration that extends itself: {}", fmt::join(names, ", ")),
               "one that does not lead back here");
  }
  Calibration cost = read_lineage(read_text_file(base, "a YAML file"), lineage);
  cost.over_tcp.clear();
  return cost;
}

/// What a calibration begins from: what it extends, or machines of which only links cost anything.
Calibration read_start(const YamlMapping& root, const Lineage& lineage) {
  const auto base = root.find("extends");
  const auto pace = root.find("pace");
  if (base) {
    const Calibration cost = load_base(*base, lineage);
    return pace ? at_pace(cost, pace->fraction(slowest_pace)) : cost;
  }
  if (pace) pace->fail("'pace' without a calibration to scale", "'extends: ...' beside it");
  Calibration cost;
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    cost.protocols[static_cast<std::size_t>(protocol)].proxy_factor = bytes_per_byte(protocol);
  }
  return cost;
}

void read_unevenness(const YamlValue& value, Unevenness& unevenness) {
  const YamlMapping parts = value.mapping({"slice", "channel"});
  if (const auto share = parts.find("slice")) unevenness.slice = share->share(max_unevenness);
  if (const auto share = parts.find("channel")) unevenness.channel = share->share(max_unevenness);
}

void read_efficiency(const YamlValue& value, Calibration& cost) {
  const YamlMapping kinds = value.mapping({"nvlink", "pcie", "cpu", "network"});
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    if (const auto share = kinds.find(link_kinds[kind])) {
      cost.efficiency[kind] = share->fraction(kind == pcie ? max_of_pcie : 1);
    }
  }
}

Calibration read_lineage(const TextFile& text, const Lineage& lineage) {
  const YamlMapping root = read_yaml(text, "calibration")
                               .mapping({"collsim",
                                         "name",
                                         "source",
                                         "date",
                                         "trust",
                                         "extends",
                                         "pace",
                                         "over_tcp",
                                         "launch",
                                         "launch_per_doubling",
                                         "graph_launch",
                                         "issue",
                                         "issue_per_operation",
                                         "efficiency",
                                         "unevenness",
                                         "cache",
                                         "proxy",
                                         "memory",
                                         "protocols",
                                         "provenance"});
  Calibration cost = read_start(root, lineage);
  cost.name = root.at("name").string();
  static_cast<void>(root.at("source").string());
  static_cast<void>(root.at("date").string());
  if (const auto name = root.find("over_tcp")) cost.over_tcp = name->string();
  cost.trust = read_claims(root);
  if (const auto launch = root.find("launch")) cost.launch = launch->time();
  if (const auto doubling = root.find("launch_per_doubling")) {
    cost.launch_per_doubling = doubling->time();
  }
  if (const auto launch = root.find("graph_launch")) cost.graph_launch = launch->time();
  if (const auto issue = root.find("issue")) cost.issue = issue->time();
  if (const auto operation = root.find("issue_per_operation")) {
    cost.issue_per_operation = operation->time();
  }
  if (const auto efficiency = root.find("efficiency")) read_efficiency(*efficiency, cost);
  if (const auto parts = root.find("unevenness")) read_unevenness(*parts, cost.unevenness);
  if (const auto cache = root.find("cache")) cost.cache = cache->bytes();
  if (const auto proxy = root.find("proxy")) cost.proxy = read_proxy(*proxy);
  if (const auto memory = root.find("memory")) read_memory(*memory, cost.memory);
  if (const auto per_protocol = root.find("protocols")) {
    const YamlMapping costs = per_protocol->mapping({"ll", "ll128", "simple"});
    for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
      if (const auto value = costs.find(protocols[protocol])) {
        read_protocol(*value, protocol, cost);
      }
    }
  }
  return cost;
}

/// Of hosts that talk TCP; both ends were H200 hosts.
constexpr std::string_view measured_tcp = "h200-tcp";

/// What messages cost between hosts is the CPUs' and the network's: the other calibration says it.
Calibration with_network_of(Calibration cost, const Calibration& other) {
  constexpr auto network = static_cast<std::size_t>(LinkKind::network);
  cost.name = fmt::format("{}+{}", cost.name, other.name);
  cost.proxy = other.proxy;
  cost.efficiency[network] = other.efficiency[network];
  for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
    cost.protocols[protocol].alpha[network] = other.protocols[protocol].alpha[network];
    cost.over[protocol][network] = other.over[protocol][network];
  }
  return cost;
}

}  // namespace

std::string_view calibration_key(Protocol protocol) {
  return protocols[static_cast<std::size_t>(protocol)];
}

std::string_view calibration_key(LinkKind kind) {
  return link_kinds[static_cast<std::size_t>(kind)];
}

Calibration load_calibration(const std::filesystem::path& path) {
  return read_calibration(read_text_file(path, "a YAML file"));
}

Calibration read_calibration(const TextFile& text) {
  return read_lineage(text, {text.name});
}

Calibration over_tcp(const Calibration& cost) {
  if (cost.proxy.used) return cost;
  const std::string_view name = cost.over_tcp.empty() ? measured_tcp : cost.over_tcp;
  const Calibration tcp = load_calibration(find_data_file(name, calibrations));
  return cost.over_tcp.empty() ? with_network_of(cost, tcp) : tcp;
}

bool has_sockets_only(const Topology& topology) {
  bool found = false;
  for (const Device& device : topology.devices()) {
    if (device.kind != DeviceKind::nic) continue;
    if (!device.model.starts_with("Ethernet") && !device.model.starts_with("eth")) return false;
    found = true;
  }
  return found;
}

Calibration calibration_for(const Topology& topology) {
  return load_calibration(find_data_file(calibration_name(topology), calibrations));
}

}  // namespace collsim
