#include "tools/collsim/request/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/imports/node_list.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/base/text_file.h"
#include "sim/base/units.h"
#include "sim/topologies/loader.h"

namespace collsim {

namespace {

constexpr std::string_view known_keys =
    "nic, nics, oversubscription, latency, fabric, inside, placement or beside";

/// Which NICs a fabric goes with, and the transport where those do not tell it.
struct FabricTransport {
  std::string_view fabric;     ///< how its name begins
  std::string_view nic;        ///< the NICs' model
  std::string_view transport;  ///< of calibrations; empty: by the NICs
};
constexpr std::array fabric_transports{
    FabricTransport{"edr", "ConnectX-5", {}},
    FabricTransport{"hdr", "ConnectX-6", {}},
    FabricTransport{"ndr", "ConnectX-7", {}},
    FabricTransport{"xdr", "ConnectX-8", {}},
    FabricTransport{"roce", "ConnectX-7", "roce"},
    FabricTransport{"ethernet", "Ethernet", {}},
    FabricTransport{"efa", "EFA", {}},
    FabricTransport{"slingshot", "Slingshot-11", {}},
    FabricTransport{"gcp-tcpx", "gVNIC", {}},
};

/// One `key=value`.
struct Setting {
  std::string key;
  std::string value;

  [[noreturn]] void refuse(const std::string& wrong, const std::string& accepted) const {
    throw InputError(fmt::format("--set {}={}: {}", key, value, wrong), accepted);
  }
};

template <typename Quantity>
Quantity quantity(const Setting& setting, Quantity (*parse)(std::string_view text)) {
  try {
    const Quantity read = parse(setting.value);
    if (read.value > 0) return read;
  } catch (const QuantityError& error) {
    setting.refuse(error.wrong(), error.accepted());
  }
  setting.refuse("no more than 0", "more than 0");
}

std::string exact(BytesPerSecond rate) {
  return fmt::format("{:.9g} GB/s", in_gigabytes_per_second(rate));
}

/// Changes a key of the fabric's cables.
void set_cable(MachineParts& parts, std::string_view key, const std::string& value) {
  const auto link = text_of_key(parts.fabric, "link");
  if (!link) return;
  parts.fabric = with_key(parts.fabric, "link", with_key(*link, key, value));
}

void set_nic(MachineParts& parts, const Setting& setting) {
  const BytesPerSecond rate = quantity(setting, parse_rate);
  bool any = false;
  for (GraphDevice& device : parts.node.devices) {
    if (device.kind != DeviceKind::nic) continue;
    device.port_rate = rate;
    any = true;
  }
  if (!any) setting.refuse("the nodes have no NICs", "a machine with NICs");
  set_cable(parts, "bandwidth", exact(rate));
}

void set_nics(MachineParts& parts, const Setting& setting) {
  std::vector<std::uint32_t> nics;
  for (std::uint32_t i = 0; i < parts.node.devices.size(); ++i) {
    if (parts.node.devices[i].kind == DeviceKind::nic) nics.push_back(i);
  }
  const std::size_t wanted = parse_number<std::size_t>(setting.value).value_or(0);
  if (wanted < 1 || wanted > nics.size()) {
    setting.refuse(fmt::format("a node has {} NICs", nics.size()),
                   fmt::format("1 to {}", nics.size()));
  }
  std::vector<bool> gone(parts.node.devices.size());
  for (const std::uint32_t nic : nics) gone[nic] = true;
  for (std::size_t i = 0; i < wanted; ++i) gone[nics[i * nics.size() / wanted]] = false;
  remove_devices(parts.node, gone);
}

void set_oversubscription(MachineParts& parts, const Setting& setting) {
  const auto kind = text_of_key(parts.fabric, "kind");
  if (kind != "fat_tree" && !(kind == "rails" && text_of_key(parts.fabric, "spines"))) {
    setting.refuse(fmt::format("{} has no switches above its leaves", parts.name),
                   "a fat tree, such as --set fabric=ndr-fat-tree,oversubscription=2");
  }
  std::string_view text = setting.value;
  if (text.ends_with(":1")) text.remove_suffix(2);
  const double ratio = parse_number<double>(text).value_or(0);
  if (!(ratio >= 1 && ratio <= 1e6)) {
    setting.refuse("not a ratio", "1 is full bisection, 2 (or 2:1) half of it");
  }
  parts.fabric = with_key(parts.fabric, "oversubscription", fmt::format("{}", ratio));
}

/// The GPUs' part of a calibration's name.
std::string_view gpus_calibration(std::string_view name) {
  return name.substr(0, name.find('+'));
}

void set_fabric(MachineParts& parts, const Setting& setting) {
  parts.fabric = load_fabric(setting.value);
  parts.fabric_from = setting.value;
  const auto* const found = std::find_if(
      fabric_transports.begin(), fabric_transports.end(),
      [&](const FabricTransport& each) { return setting.value.starts_with(each.fabric); });
  if (found == fabric_transports.end()) return;
  for (GraphDevice& device : parts.node.devices) {
    if (device.kind != DeviceKind::nic) continue;
    device.model = found->nic;
    device.port_rate = {};  // that of its network
    device.gpudirect = found->nic != "Ethernet";
  }
  std::string calibration(gpus_calibration(parts.calibration));
  if (!found->transport.empty() && !calibration.empty()) {
    calibration += fmt::format("+{}", found->transport);
  }
  parts.calibration = calibration;
}

/// What NCCL takes PCIe's sixteen lanes for (NCCL 2.30, src/graph/topo.cc).
std::string_view lanes_rate(const Setting& setting) {
  if (setting.value == "pcie3") return "12 GB/s";
  if (setting.value == "pcie4") return "24 GB/s";
  if (setting.value == "pcie5") return "48 GB/s";
  setting.refuse("no such links", "pcie3, pcie4 or pcie5");
}

void set_inside(MachineParts& parts, const Setting& setting) {
  const BytesPerSecond rate = parse_rate(lanes_rate(setting));
  std::vector<GraphDevice>& devices = parts.node.devices;
  std::vector<bool> gone(devices.size());
  for (std::size_t i = 0; i < gone.size(); ++i) gone[i] = devices[i].kind == DeviceKind::nvswitch;
  std::vector<GraphLink> kept;
  std::vector<GraphShare>& shares = parts.node.shares;
  for (const GraphLink& link : parts.node.links) {
    const bool between_gpus = link.kind == LinkKind::nvlink &&
                              devices[link.from].kind == DeviceKind::gpu &&
                              devices[link.to].kind == DeviceKind::gpu;
    if (between_gpus) continue;
    kept.push_back(link);
    if (link.kind == LinkKind::pcie) kept.back().bandwidth = rate;
  }
  if (kept.size() != parts.node.links.size() && !shares.empty()) {
    setting.refuse("the node has capacities that NVLinks share", "a node without 'shared'");
  }
  parts.node.links = std::move(kept);
  remove_devices(parts.node, gone);
  // The calibration is that of such GPUs without NVLink.
  const std::size_t plus = parts.calibration.find('+');
  parts.calibration = plus == std::string::npos ? "" : "pcie" + parts.calibration.substr(plus);
}

/// Nodes of another kind, which the same fabric joins.
void set_beside(MachineParts& parts, const Setting& setting) {
  const std::size_t colon = setting.value.rfind(':');
  std::uint32_t count = 0;
  if (colon != std::string::npos) {
    const std::string_view text = setting.value;
    count = parse_number<std::uint32_t>(text.substr(colon + 1)).value_or(0);
    if (count > gpu_limit) count = 0;
  }
  if (count == 0) setting.refuse("no machine and count of nodes", "such as dgx-a100:4");
  parts.beside = load_parts(setting.value.substr(0, colon)).node;
  parts.beside_count = count;
  parts.calibration.clear();  // that of the weaker of both
}

constexpr std::string_view list_word = "list:";
constexpr std::string_view file_word = "file:";

void set_list(MachineParts& parts, std::vector<std::uint32_t> nodes) {
  const std::uint32_t last = *std::max_element(nodes.begin(), nodes.end());
  if (parts.nodes > 1 && last >= parts.nodes) {
    throw InputError(fmt::format("--placement: '{}' has no node{}", parts.name, last),
                     fmt::format("node0 to node{}", parts.nodes - 1));
  }
  parts.placement = NodePlacement::listed;
  parts.listed = std::move(nodes);
}

void set_placement(MachineParts& parts, const Setting& setting) {
  const std::string_view value = setting.value;
  if (value.starts_with(list_word)) {
    return set_list(parts, parse_node_list("placement", value.substr(list_word.size())));
  }
  if (value.starts_with(file_word)) {
    const std::string file(value.substr(file_word.size()));
    return set_list(parts, read_node_list(read_text_file(file, "a file of names of nodes")));
  }
  const auto placement = find_placement(value);
  if (!placement) {
    setting.refuse("no such placement",
                   "packed, interleaved, random, list:node[0,4,8-11] or file:FILE");
  }
  parts.placement = *placement;
}

/// The settings of a change. Commas divide them, but those of a list of nodes.
std::vector<std::string> settings_of(std::string_view change) {
  std::vector<std::string> settings;
  for (std::string& each : split(change, ',')) {
    const bool of_list = each.find('=') == std::string::npos && !settings.empty() &&
                         settings.back().starts_with(fmt::format("placement={}", list_word));
    if (of_list) {
      settings.back() += fmt::format(",{}", each);
    } else {
      settings.push_back(std::move(each));
    }
  }
  return settings;
}

void apply(MachineParts& parts, const Setting& setting) {
  if (setting.key == "nic") return set_nic(parts, setting);
  if (setting.key == "nics") return set_nics(parts, setting);
  if (setting.key == "oversubscription") return set_oversubscription(parts, setting);
  if (setting.key == "fabric") return set_fabric(parts, setting);
  if (setting.key == "inside") return set_inside(parts, setting);
  if (setting.key == "latency") {
    return set_cable(parts, "latency", to_string(quantity(setting, parse_time)));
  }
  if (setting.key == "beside") return set_beside(parts, setting);
  if (setting.key != "placement") {
    throw InputError(fmt::format("--set: nothing is called '{}'", setting.key),
                     std::string(known_keys));
  }
  set_placement(parts, setting);
}

}  // namespace

void remove_devices(NodeTemplate& node, const std::vector<bool>& gone) {
  constexpr std::uint32_t none = ~0U;
  std::vector<std::uint32_t> renamed(node.devices.size(), none);
  NodeTemplate left;
  for (std::uint32_t i = 0; i < node.devices.size(); ++i) {
    if (gone[i]) continue;
    renamed[i] = static_cast<std::uint32_t>(left.devices.size());
    left.devices.push_back(std::move(node.devices[i]));
  }
  std::vector<std::uint32_t> link_renamed(node.links.size(), none);
  for (std::uint32_t i = 0; i < node.links.size(); ++i) {
    GraphLink link = node.links[i];
    if (renamed[link.from] == none || renamed[link.to] == none) continue;
    link.from = renamed[link.from];
    link.to = renamed[link.to];
    link_renamed[i] = static_cast<std::uint32_t>(left.links.size());
    left.links.push_back(link);
  }
  for (GraphShare& share : node.shares) {
    std::erase_if(share.links,
                  [&](const GraphDirection& each) { return link_renamed[each.link] == none; });
    for (GraphDirection& each : share.links) each.link = link_renamed[each.link];
    if (!share.links.empty()) left.shares.push_back(std::move(share));
  }
  node = std::move(left);
}

bool keeps_nodes(std::string_view change) {
  const std::vector<std::string> settings = settings_of(change);
  return std::all_of(settings.begin(), settings.end(), [](const std::string& each) {
    return each.starts_with("oversubscription=") || each.starts_with("placement=");
  });
}

MachineParts changed(MachineParts parts, std::string_view change) {
  for (const std::string& each : settings_of(change)) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == each.size()) {
      throw InputError(fmt::format("--set: '{}'", each), "KEY=VALUE, such as nic=200Gb/s");
    }
    apply(parts, {each.substr(0, equals), each.substr(equals + 1)});
  }
  return parts;
}

}  // namespace collsim
