#include "models/calibration/calibration_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "models/calibration/time_scale.h"
#include "models/calibration/trust.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/cost/constants.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

double read_constant(const YamlValue& value, Quantity quantity, const ConstantRange& accepted) {
  switch (quantity) {
    case Quantity::time:
      return value.time().value;
    case Quantity::rate:
      return value.rate().value;
    case Quantity::share:
      return value.share(accepted.max);
    case Quantity::factor:
      break;
  }
  const double factor = value.fraction(accepted.max);
  if (factor < accepted.min) {
    value.fail(fmt::format("a factor below {}", accepted.min),
               fmt::format("a number from {} to {}", accepted.min, accepted.max));
  }
  return factor;
}

namespace {

constexpr std::array<std::string_view, link_kind_count> link_kinds{"nvlink", "pcie", "cpu",
                                                                   "network"};
constexpr std::array<std::string_view, protocol_count> protocols{"ll", "ll128", "simple"};

constexpr double max_time_scale = 10;

constexpr std::string_view calibrations = "models/data/calibrations";
constexpr std::string_view nvswitches = "models/data/calibrations/nvls";

/// The keys below a group of constants such as "memory.both_ways", or at the top, each once; none
/// where the group is a single constant.
template <typename Constants>
std::vector<std::string_view> keys_below(const Constants& constants, std::string_view group,
                                         std::optional<Protocol> protocol = {}) {
  std::vector<std::string_view> keys;
  for (const auto& constant : constants) {
    if (protocol && !constant.of(*protocol)) continue;
    std::string_view rest = constant.key;
    if (!group.empty()) {
      if (!rest.starts_with(group) || rest.size() == group.size() || rest[group.size()] != '.') {
        continue;
      }
      rest.remove_prefix(group.size() + 1);
    }
    const std::string_view key = rest.substr(0, rest.find('.'));
    if (keys.empty() || keys.back() != key) keys.push_back(key);
  }
  return keys;
}

/// What a mapping says of a constant, whose key goes on from `begin` below it.
template <typename Constants>
std::optional<YamlValue> find_constant(const YamlMapping& mapping, const Constants& constants,
                                       std::string_view key, std::size_t begin) {
  const std::size_t dot = key.find('.', begin);
  auto value = mapping.find(key.substr(begin, dot - begin));
  if (!value || dot == std::string_view::npos) return value;
  const YamlMapping below = value->mapping(keys_below(constants, key.substr(0, dot)));
  return find_constant(below, constants, key, dot + 1);
}

/// Those that the mapping of a group states; without a group, the mapping at the top.
template <typename Constants, typename Owner>
void read_constants(const YamlMapping& mapping, const Constants& constants, Owner& owner,
                    std::string_view group = {}) {
  for (const auto& constant : constants) {
    if (!group.empty() && !constant.key.starts_with(group)) continue;
    const std::size_t begin = group.empty() ? 0 : group.size() + 1;
    if (const auto value = find_constant(mapping, constants, constant.key, begin)) {
      constant.in(owner) = read_constant(*value, constant.quantity, constant.accepted);
    }
  }
}

void read_protocol(const YamlValue& value, std::size_t protocol, Calibration& cost) {
  const auto of = static_cast<Protocol>(protocol);
  std::vector<std::string_view> allowed = keys_below(protocol_constants, {}, of);
  const std::vector<std::string_view> own_keys = keys_below(thread_block_constants, {}, of);
  allowed.insert(allowed.end(), own_keys.begin(), own_keys.end());
  allowed.insert(allowed.end(), {"wire_factor", "warp", "over"});
  const YamlMapping mapping = value.mapping(allowed);
  ProtocolConstants& general = cost.protocols[protocol];
  read_constants(mapping, protocol_constants, general);
  read_constants(mapping, thread_block_constants, general);
  if (const auto factor = mapping.find("wire_factor")) {
    constexpr ConstantRange accepted{1, 4};
    general.wire_factor = read_constant(*factor, Quantity::factor, accepted);
  }
  if (const auto warp = mapping.find("warp")) general.warp_granule = warp->bytes();
  const auto over = mapping.find("over");
  if (!over) return;
  const YamlMapping kinds = over->mapping(link_kinds);
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    const auto own = kinds.find(link_kinds[kind]);
    if (!own) continue;
    if (!cost.over[protocol][kind]) cost.over[protocol][kind] = general;
    read_constants(own->mapping(own_keys), thread_block_constants, *cost.over[protocol][kind]);
  }
}

/// A group of constants states its own sizes, too.
YamlMapping host_group(const YamlValue& value, std::string_view group,
                       std::initializer_list<std::string_view> sizes) {
  std::vector<std::string_view> keys = keys_below(host_constants, group);
  keys.insert(keys.end(), sizes);
  return value.mapping(keys);
}

/// The threads of a network are stated whole.
void read_proxy(const YamlValue& value, Calibration& cost) {
  const YamlMapping mapping = host_group(value, "proxy", {"socket", "eager"});
  for (const std::string_view required : {"send", "receive"}) {
    static_cast<void>(mapping.at(required));
  }
  cost.proxy = {};
  cost.proxy.used = true;
  read_constants(mapping, host_constants, cost, "proxy");
  if (const auto socket = mapping.find("socket")) cost.proxy.socket = socket->bytes();
  if (const auto eager = mapping.find("eager")) cost.proxy.eager = eager->bytes();
}

/// What it leaves out is as in the calibration that it extends, and has to be there if none says
/// so.
void read_memory(const YamlValue& value, Calibration& cost) {
  MemoryConstants& memory = cost.memory;
  if (value.is_scalar()) {
    if (value.string() != "none") {
      value.fail(fmt::format("'{}' is no host memory", value.string()),
                 "none, or { cached: ..., rate: ..., cache: ... }");
    }
    memory = {};
    return;
  }
  const YamlMapping mapping = host_group(value, "memory", {"cache"});
  for (const std::string_view required : {"cached", "rate", "cache"}) {
    if (!memory.used) static_cast<void>(mapping.at(required));
  }
  if (const auto both_ways = mapping.find("both_ways")) {
    static_cast<void>(both_ways->mapping({"at_once", "in_turn"}).at("at_once"));
    memory.in_turn = MemoryConstants{}.in_turn;
  }
  read_constants(mapping, host_constants, cost, "memory");
  if (const auto cache = mapping.find("cache")) {
    memory.cache = cache->bytes();
    if (memory.cache.count == 0)
      cache->fail("the cache has 0 bytes", "a size above 0, like 40 MiB");
  }
  if (memory.rate > memory.cached) {
    const YamlValue wrong = mapping.find("rate") ? mapping.at("rate") : mapping.at("cached");
    wrong.fail(
        fmt::format("'rate' is {:.4g} GB/s and 'cached' {:.4g} GB/s",
                    in_gigabytes_per_second(memory.rate), in_gigabytes_per_second(memory.cached)),
        "a 'rate' of at most 'cached'");
  }
  memory.used = true;
}

/// Costs of NVSwitches that add up: stated, or those of a file that is about them alone, with what
/// it says of its trust.
void read_nvls(const YamlMapping& root, Calibration& cost) {
  const auto value = root.find("nvls");
  if (!value) return;
  if (!value->is_scalar()) {
    read_constants(root, nvls_constants, cost);
    return;
  }
  const std::string name = value->string();
  std::filesystem::path file;
  try {
    file = find_data_file(name, nvswitches);
  } catch (const InputError&) {
    value->fail(fmt::format("there is no '{}' for NVSwitches", name),
                shipped_names_instead_of(name, nvswitches) + ", or { efficiency: ..., step: ... }");
  }
  const Calibration of_switches = load_calibration(file);
  cost.nvls = of_switches.nvls;
  cost.trust.nvls = of_switches.trust.nvls;
}

/// What the file says of its own constants. Where fitted ones come from is for people: but for
/// their names, only its keys must be right.
CalibrationTrust read_claims(const YamlMapping& root) {
  std::vector<std::string> names;
  if (const auto provenance = root.find("provenance")) {
    const YamlMapping keys = provenance->mapping(
        {"command", "version", "topology", "machine", "start", "recordings", "rows", "not_held_out",
         "held_out", "stopped", "fitted", "kept", "correlated"});
    if (const auto fitted = keys.find("fitted")) {
      const YamlMapping constants = fitted->free_mapping();
      for (const auto& [name, interval] : constants.entries()) names.push_back(name.string());
    }
  }
  const auto trust = root.find("trust");
  return trust ? read_trust(*trust) : trust_of_fitted(names);
}

/// Whose messages a transport is about.
bool is_between_gpus(const YamlValue& value) {
  if (value.string() == "gpus") return true;
  if (value.string() == "hosts") return false;
  value.fail(fmt::format("a transport cannot be between '{}'", value.string()),
             "'between' is hosts, or gpus of one host");
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
  const auto time_scale = root.find("time_scale");
  if (base) {
    const Calibration cost = load_base(*base, lineage);
    return time_scale ? with_time_scale(cost, time_scale->fraction(max_time_scale)) : cost;
  }
  if (time_scale)
    time_scale->fail("'time_scale' without a calibration to scale", "'extends: ...' beside it");
  return {};
}

/// The keys of a whole file: what it says of itself, and the groups of constants.
std::vector<std::string_view> top_keys() {
  std::vector<std::string_view> keys{"collsim",  "name",      "source",     "date",
                                     "trust",    "extends",   "time_scale", "between",
                                     "over_tcp", "protocols", "provenance", "fit"};
  const auto add = [&](const auto& constants) {
    const std::vector<std::string_view> groups = keys_below(constants, {});
    keys.insert(keys.end(), groups.begin(), groups.end());
  };
  add(machine_constants);
  add(correction_constants);
  add(nvls_constants);
  add(host_constants);
  return keys;
}

Calibration read_lineage(const TextFile& text, const Lineage& lineage) {
  const YamlMapping root = read_yaml(text, "calibration").mapping(top_keys());
  Calibration cost = read_start(root, lineage);
  cost.name = root.at("name").string();
  static_cast<void>(root.at("source").string());
  static_cast<void>(root.at("date").string());
  if (const auto name = root.find("over_tcp")) cost.over_tcp = name->string();
  if (const auto ends = root.find("between")) cost.inside_hosts = is_between_gpus(*ends);
  cost.trust = read_claims(root);
  read_constants(root, machine_constants, cost);
  read_constants(root, correction_constants, cost);
  read_nvls(root, cost);
  if (const auto proxy = root.find("proxy")) read_proxy(*proxy, cost);
  if (const auto memory = root.find("memory")) read_memory(*memory, cost);
  if (const auto per_protocol = root.find("protocols")) {
    const YamlMapping costs = per_protocol->mapping(protocols);
    for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
      if (const auto value = costs.find(protocols[protocol])) {
        read_protocol(*value, protocol, cost);
      }
    }
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

}  // namespace collsim
