#include "sim/topologies/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/lines.h"
#include "sim/topologies/burst_reader.h"
#include "sim/topologies/name_range.h"

namespace collsim {

namespace {

constexpr std::array device_kinds{DeviceKind::gpu,         DeviceKind::nvswitch,
                                  DeviceKind::pcie_switch, DeviceKind::cpu,
                                  DeviceKind::nic,         DeviceKind::network_switch};
constexpr std::array link_kinds{LinkKind::nvlink, LinkKind::pcie, LinkKind::cpu, LinkKind::network};

template <typename Kinds>
typename Kinds::value_type read_kind(const YamlValue& value, const Kinds& kinds,
                                     std::string_view what) {
  const std::string text = value.string();
  std::string names;
  for (const auto kind : kinds) {
    if (to_string(kind) == text) return kind;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(kind));
  }
  value.fail(fmt::format("'{}' is not a kind of {}", text, what),
             fmt::format("kinds are {}", names));
}

/// "a -> b" taken apart.
struct Arrow {
  std::string_view from;
  std::string_view to;
  bool both_ways = false;
};

Arrow parse_arrow(const YamlValue& value, std::string_view text) {
  const auto both = text.find("<->");
  const auto place = both == std::string_view::npos ? text.find("->") : both;
  if (place == std::string_view::npos) {
    value.fail(fmt::format("'{}' does not name a link", text),
               "a link is written 'gpu0 -> nvswitch0', with '<->' for both directions and '*' for "
               "every device");
  }
  const std::size_t length = both == std::string_view::npos ? 2 : 3;
  return {trimmed(text.substr(0, place)), trimmed(text.substr(place + length)),
          both != std::string_view::npos};
}

/// The keys that only a NIC has.
void read_nic(const YamlMapping& entry, GraphDevice& device) {
  for (const std::string_view key : {"rate", "gpudirect", "card"}) {
    if (device.kind != DeviceKind::nic && entry.find(key)) {
      entry.at(key).fail(fmt::format("'{}' is a key of NICs, and this device is a {}", key,
                                     to_string(device.kind)),
                         "remove it, or make the device a nic");
    }
  }
  if (const auto rate = entry.find("rate")) device.port_rate = rate->rate();
  if (const auto direct = entry.find("gpudirect")) device.gpudirect = direct->boolean();
  if (const auto card = entry.find("card")) device.card = card->string();
}

}  // namespace

DeviceKind read_device_kind(const YamlValue& value) {
  return read_kind(value, device_kinds, "device");
}

LinkKind read_link_kind(const YamlValue& value) {
  return read_kind(value, link_kinds, "link");
}

void GraphReader::add_known(GraphDevice device) {
  device_of_name_.emplace(device.name, static_cast<std::uint32_t>(graph_.devices.size()));
  graph_.devices.push_back(std::move(device));
}

void GraphReader::next_file() {
  devices_of_file_.clear();
  links_of_file_.clear();
  shares_of_file_.clear();
}

void GraphReader::read_devices(const YamlValue& list, bool inside_node) {
  for (const YamlValue& value : list.sequence()) {
    const YamlMapping entry =
        value.mapping({"id", "kind", "model", "rate", "gpudirect", "card", "multicast"});
    const YamlValue id = entry.at("id");
    GraphDevice device;
    if (inside_node || entry.find("kind")) {
      device.kind = read_device_kind(entry.at("kind"));
    } else {
      device.kind = DeviceKind::network_switch;
    }
    const bool switch_of_network = device.kind == DeviceKind::network_switch;
    if (inside_node && switch_of_network) {
      entry.at("kind").fail("a network switch is listed inside a node",
                            "network switches belong to the fabric");
    }
    if (!inside_node && !switch_of_network && device.kind != DeviceKind::nvswitch) {
      entry.at("kind").fail(fmt::format("a {} is listed outside a node", to_string(device.kind)),
                            "a fabric may list devices of kind network_switch and nvswitch");
    }
    if (const auto model = entry.find("model")) {
      device.model = model->string();
      if (device.kind == DeviceKind::gpu && check_gpu_model_) check_gpu_model_(*model);
    }
    read_nic(entry, device);
    if (const auto multicast = entry.find("multicast")) {
      device.reduces = multicast->boolean();
      if (device.kind != DeviceKind::nvswitch) {
        multicast->fail(fmt::format("'multicast' is a key of NVSwitches, and this device is a {}",
                                    to_string(device.kind)),
                        "remove it; a fabric whose switches add up has 'sharp: true'");
      }
    }
    for (std::string& name : expand_names(id, id.string())) {
      if (!is_plain_name(name)) {
        id.fail(fmt::format("'{}' is not a name", name),
                "names have letters, digits, _ - . and ranges like [0..7]");
      }
      device.name = std::move(name);
      add_device(id, device);
    }
  }
}

void GraphReader::add_device(const YamlValue& where, GraphDevice device) {
  if (!devices_of_file_.insert(device.name).second) {
    where.fail(fmt::format("duplicate device '{}'", device.name), "ids must be unique");
  }
  const auto known = device_of_name_.find(device.name);
  if (known == device_of_name_.end()) {
    add_known(std::move(device));
  } else {
    graph_.devices[known->second] = std::move(device);
  }
}

std::uint32_t GraphReader::find_device(const YamlValue& where, const std::string& name) const {
  const auto found = device_of_name_.find(name);
  if (found != device_of_name_.end()) return found->second;
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(graph_.devices.size(), 12); ++i) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", graph_.devices[i].name);
  }
  where.fail(fmt::format("there is no device '{}'", name),
             names.empty() ? "list it under 'devices'"
                           : fmt::format("devices are {}{}", names,
                                         graph_.devices.size() > 12 ? ", ..." : ""));
}

void GraphReader::read_links(const YamlValue& list, bool inside_node) {
  for (const YamlValue& value : list.sequence()) {
    const YamlMapping entry =
        value.mapping({"from", "to", "kind", "count", "bandwidth", "latency", "burst"});
    GraphLink link;
    link.kind =
        inside_node || entry.find("kind") ? read_link_kind(entry.at("kind")) : LinkKind::network;
    if (const auto count = entry.find("count")) {
      link.count = static_cast<std::uint32_t>(count->integer(1, 65'536));
    }
    link.bandwidth = static_cast<double>(link.count) * entry.at("bandwidth").rate();
    if (const auto latency = entry.find("latency")) link.latency = latency->time();
    link.burst = read_burst(entry, link.bandwidth);
    const YamlValue from = entry.at("from");
    const YamlValue to = entry.at("to");
    for (const auto& [from_name, to_name] :
         pair_names(value, expand_names(from, from.string()), expand_names(to, to.string()))) {
      link.from = find_device(from, from_name);
      link.to = find_device(to, to_name);
      if (link.from == link.to) {
        value.fail(fmt::format("this link joins '{}' to itself", from_name),
                   "a link joins two different devices");
      }
      add_link(value, link);
    }
  }
}

void GraphReader::add_link(const YamlValue& where, const GraphLink& link) {
  const LinkKey key{std::min(link.from, link.to), std::max(link.from, link.to), link.kind};
  if (!links_of_file_.insert(key).second) {
    where.fail(fmt::format("duplicate {} link between '{}' and '{}'", to_string(link.kind),
                           graph_.devices[link.from].name, graph_.devices[link.to].name),
               "several equal links are one entry with a 'count'; a link goes both ways");
  }
  const auto [known, added] =
      link_of_key_.emplace(key, static_cast<std::uint32_t>(graph_.links.size()));
  if (added) {
    graph_.links.push_back(link);
  } else {
    // Keep the direction of the link that is replaced: shared resources may refer to it.
    GraphLink& old = graph_.links[known->second];
    const auto [from, to] = std::pair(old.from, old.to);
    old = link;
    old.from = from;
    old.to = to;
  }
}

void GraphReader::read_shares(const YamlValue& list) {
  for (const YamlValue& value : list.sequence()) read_share(value);
}

void GraphReader::read_share(const YamlValue& value) {
  const YamlMapping entry = value.mapping({"name", "bandwidth", "links", "kind"});
  const YamlValue name = entry.at("name");
  const std::vector<std::string> names = expand_names(name, name.string());
  const BytesPerSecond bandwidth = entry.at("bandwidth").rate();
  std::optional<LinkKind> kind;
  if (const auto kind_value = entry.find("kind")) kind = read_link_kind(*kind_value);

  std::vector<GraphShare> shares(names.size());
  for (const YamlValue& covered : entry.at("links").sequence()) {
    const auto groups = read_covered(covered, kind ? &*kind : nullptr);
    if (names.size() > 1 && groups.size() != names.size()) {
      covered.fail(
          fmt::format("{} links are listed for {} shared resources", groups.size(), names.size()),
          "list as many links as names, or give one name");
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::vector<GraphDirection>& links = shares[names.size() == 1 ? 0 : i].links;
      links.insert(links.end(), groups[i].begin(), groups[i].end());
    }
  }
  if (shares.front().links.empty()) entry.at("links").fail("no links", "list at least one");
  for (std::size_t i = 0; i < names.size(); ++i) {
    shares[i].name = names[i];
    shares[i].bandwidth = bandwidth;
    if (!shares_of_file_.insert(names[i]).second) {
      name.fail(fmt::format("duplicate shared resource '{}'", names[i]), "names must be unique");
    }
    const auto [known, added] = share_of_name_.emplace(names[i], graph_.shares.size());
    if (added) {
      graph_.shares.push_back(shares[i]);
    } else {
      graph_.shares[known->second] = shares[i];
    }
  }
}

std::vector<std::vector<GraphDirection>> GraphReader::read_covered(const YamlValue& value,
                                                                   const LinkKind* kind) const {
  const std::string text = value.string();
  const Arrow arrow = parse_arrow(value, text);
  const auto expanded = [&](std::string_view side) {
    return side == "*" ? std::vector<std::string>{"*"} : expand_names(value, side);
  };
  std::vector<std::vector<GraphDirection>> groups;
  for (const auto& [from_name, to_name] :
       pair_names(value, expanded(arrow.from), expanded(arrow.to))) {
    std::optional<std::uint32_t> from;
    std::optional<std::uint32_t> to;
    if (from_name != "*") from = find_device(value, from_name);
    if (to_name != "*") to = find_device(value, to_name);
    const std::uint32_t* from_index = from ? &*from : nullptr;
    const std::uint32_t* to_index = to ? &*to : nullptr;
    auto directions = directions_between(from_index, to_index, kind);
    if (arrow.both_ways) {
      const auto back = directions_between(to_index, from_index, kind);
      directions.insert(directions.end(), back.begin(), back.end());
    }
    if (directions.empty()) {
      value.fail(fmt::format("there is no link from '{}' to '{}'", from_name, to_name),
                 "name a link that is listed under 'links'");
    }
    groups.push_back(std::move(directions));
  }
  return groups;
}

std::vector<GraphDirection> GraphReader::directions_between(const std::uint32_t* from,
                                                            const std::uint32_t* to,
                                                            const LinkKind* kind) const {
  std::vector<GraphDirection> directions;
  const auto matches = [](const std::uint32_t* wanted, std::uint32_t device) {
    return wanted == nullptr || *wanted == device;
  };
  for (std::uint32_t i = 0; i < graph_.links.size(); ++i) {
    const GraphLink& link = graph_.links[i];
    if (kind != nullptr && *kind != link.kind) continue;
    if (matches(from, link.from) && matches(to, link.to)) directions.push_back({i, false});
    if (matches(from, link.to) && matches(to, link.from)) directions.push_back({i, true});
  }
  return directions;
}

}  // namespace collsim
