#include "models/faults/fault.h"

#include <fmt/format.h>

#include <array>

#include "sim/topologies/loader.h"
#include "sim/topologies/name_range.h"

namespace collsim {

namespace {

constexpr std::string_view example = "such as { link: node0/nic0, bandwidth: 10% }";
constexpr std::int64_t max_ranks = gpu_limit;

void read_names(const YamlValue& value, Fault::Target target, Fault& fault) {
  fault.target = target;
  for (std::string& name : expand_names(value, value.string())) {
    fault.names.emplace_back(std::move(name), "");
  }
}

/// "A - B" and "A -> B" are cables, a name alone is a port.
void read_link(const YamlValue& value, Fault& fault) {
  const std::string text = value.string();
  constexpr std::array<std::string_view, 2> joints{" -> ", " - "};
  for (const std::string_view joint : joints) {
    const auto at = text.find(joint);
    if (at == std::string::npos) continue;
    fault.target = Fault::Target::cable;
    fault.names = pair_names(value, expand_names(value, text.substr(0, at)),
                             expand_names(value, text.substr(at + joint.size())));
    if (joint == joints.front()) fault.direction = Fault::Direction::out;
    return;
  }
  read_names(value, Fault::Target::port, fault);
}

void read_target(const YamlMapping& keys, Fault& fault) {
  const auto link = keys.find("link");
  const auto device = keys.find("device");
  const auto host = keys.find("host");
  const auto rank = keys.find("rank");
  if (int{link.has_value()} + int{device.has_value()} + int{host.has_value()} +
          int{rank.has_value()} !=
      1) {
    keys.value().fail("this fault names none or several of link, device, host and rank",
                      "one of link, device, host and rank");
  }
  if (link) read_link(*link, fault);
  if (device) read_names(*device, Fault::Target::device, fault);
  if (host) read_names(*host, Fault::Target::host, fault);
  if (rank) {
    fault.target = Fault::Target::rank;
    fault.rank = static_cast<Rank>(rank->integer(0, max_ranks - 1));
  }
}

void read_direction(const YamlValue& value, Fault& fault) {
  const std::string name = value.string();
  if (fault.direction != Fault::Direction::both) {
    value.fail("'A -> B' has a direction, and 'direction' gives another",
               "write 'A - B' where 'direction' is given");
  }
  if (name == "out") {
    fault.direction = Fault::Direction::out;
  } else if (name == "in") {
    fault.direction = Fault::Direction::in;
  } else if (name != "both") {
    value.fail(fmt::format("unknown direction '{}'", name), "out, in or both");
  }
}

void read_bandwidth(const YamlValue& value, Fault& fault) {
  const std::string text = value.string();
  if (text.ends_with('%')) {
    fault.share = value.fraction();
  } else {
    fault.rate = value.rate();
  }
}

/// The keys that this kind of fault has no use for.
void refuse_others(const YamlMapping& keys, const Fault& fault) {
  constexpr std::array of_links{"bandwidth", "traffic", "dead",      "latency",
                                "jitter",    "from",    "direction", "until"};
  constexpr std::array of_ranks{"late", "speed"};
  if (fault.target == Fault::Target::rank) {
    for (const char* key : of_links) {
      if (const auto found = keys.find(key)) {
        found->fail(fmt::format("'{}' cannot be a fault of a rank", key),
                    "a rank may have late or speed; the other keys are of a link, device or host");
      }
    }
  } else if (fault.target != Fault::Target::host) {
    for (const char* key : of_ranks) {
      if (const auto found = keys.find(key)) {
        found->fail(fmt::format("'{}' cannot be a fault of a link", key),
                    "use it with rank: N or host: NAME");
      }
    }
  }
}

void read_effects(const YamlMapping& keys, Fault& fault) {
  if (const auto bandwidth = keys.find("bandwidth")) read_bandwidth(*bandwidth, fault);
  if (const auto traffic = keys.find("traffic")) fault.traffic = traffic->rate();
  if (const auto dead = keys.find("dead")) {
    fault.dead = dead->boolean();
    if (fault.dead && fault.direction != Fault::Direction::both) {
      dead->fail("a link cannot be dead in one direction", "both directions");
    }
  }
  if (const auto latency = keys.find("latency")) fault.latency = latency->time();
  if (const auto jitter = keys.find("jitter")) fault.jitter = jitter->time();
  if (const auto late = keys.find("late")) fault.late = late->time();
  if (const auto speed = keys.find("speed")) fault.speed = speed->fraction();
  if (fault.changes_links() || fault.changes_ranks()) return;
  std::string effects = "bandwidth, traffic, dead, latency or jitter";
  if (fault.target == Fault::Target::rank) effects = "late or speed";
  if (fault.target == Fault::Target::host) effects += "; late or speed of its ranks";
  keys.value().fail("a fault that changes nothing", effects);
}

void read_times(const YamlMapping& keys, Fault& fault) {
  if (const auto from = keys.find("from")) fault.from = from->time();
  if (const auto until = keys.find("until")) {
    fault.until = until->time();
    if (*fault.until <= fault.from) {
      until->fail(
          fmt::format("a fault from {} until {}", to_string(fault.from), to_string(*fault.until)),
          "'until' after 'from'");
    }
  }
  if (const auto detect = keys.find("detect")) {
    fault.detection = detect->time();
    if (!fault.dead)
      detect->fail("'detect' is given for a link that is not dead", "use it with dead: true");
  }
}

std::string text_of(const YamlMapping& keys) {
  std::string text;
  for (const auto& [key, value] : keys.entries()) {
    if (key.string() == "collsim") continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key.string(), value.string());
  }
  return text;
}

}  // namespace

bool Fault::changes_links() const {
  return share || rate || traffic || dead || latency.value > 0 || jitter.value > 0;
}

Fault read_fault(const YamlValue& value) {
  if (!value.is_mapping()) value.fail("not a fault", std::string(example));
  const YamlMapping keys =
      value.mapping({"link", "device", "host", "rank", "direction", "bandwidth", "traffic", "dead",
                     "latency", "jitter", "late", "speed", "from", "until", "detect"});
  Fault fault;
  fault.where = value.position();
  read_target(keys, fault);
  if (const auto target = keys.find("link")) fault.where = target->position();
  if (const auto target = keys.find("device")) fault.where = target->position();
  if (const auto target = keys.find("host")) fault.where = target->position();
  refuse_others(keys, fault);
  if (const auto direction = keys.find("direction")) read_direction(*direction, fault);
  read_effects(keys, fault);
  read_times(keys, fault);
  fault.text = text_of(keys);
  return fault;
}

Fault parse_fault(std::string_view text) {
  return read_fault(read_yaml_option("--fault", text));
}

}  // namespace collsim
