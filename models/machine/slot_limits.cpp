#include "models/machine/slot_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace collsim {

namespace {

/// Rounding of data sheets, such as 63.0 and 64 GB/s, limits nothing.
constexpr double almost = 0.97;

/// The ways of one node.
class NodeWays {
 public:
  NodeWays(const Topology& topology, std::uint32_t node)
      : topology_(topology),
        first_(topology.node(node).first_device),
        devices_(topology.node(node).graph->graph().devices) {}

  std::vector<std::string> limits(bool with_nics) const {
    std::map<std::pair<double, double>, std::vector<std::string>> nics;
    std::map<std::pair<double, double>, std::vector<std::string>> gpus;
    for (DeviceId i = 0; i < devices_.size(); ++i) {
      const bool nic = devices_[i].kind == DeviceKind::nic;
      if (nic ? !with_nics : devices_[i].kind != DeviceKind::gpu) continue;
      const double own = nic ? port_rate(i) : pcie_rate(i);
      const double way = widest_way(i, nic ? DeviceKind::gpu : DeviceKind::cpu);
      if (way <= 0 || way >= almost * own) continue;
      (nic ? nics : gpus)[{own, way}].push_back(devices_[i].name);
    }
    std::vector<std::string> sentences;
    sentences.reserve(nics.size() + gpus.size());
    for (const auto& [rates, names] : nics) {
      sentences.push_back(sentence(names, "a network of", rates, "the way to the GPUs"));
    }
    for (const auto& [rates, names] : gpus) {
      sentences.push_back(sentence(names, "PCIe of", rates, "the way to the CPU"));
    }
    return sentences;
  }

 private:
  /// What its cables carry, or its ports where they carry less or there are none.
  double port_rate(DeviceId nic) const {
    double cables = 0;
    for (const LinkId id : topology_.links_from(first_ + nic)) {
      const Link link = topology_.link(id);
      if (link.kind == LinkKind::network) cables += link.bandwidth.value;
    }
    const double ports = devices_[nic].port_rate.value;
    return cables > 0 && ports > 0 ? std::min(cables, ports) : std::max(cables, ports);
  }

  /// Of a GPU; 0 where it has NVLink, which carries what GPUs send each other.
  double pcie_rate(DeviceId gpu) const {
    double rate = 0;
    for (const LinkId id : topology_.links_from(first_ + gpu)) {
      const Link link = topology_.link(id);
      if (link.kind == LinkKind::nvlink) return 0;
      if (link.kind == LinkKind::pcie) rate = std::max(rate, link.bandwidth.value);
    }
    return rate;
  }

  /// What the widest way inside the node to any device of a kind carries; 0 where there is none.
  double widest_way(DeviceId from, DeviceKind to) const {
    std::vector<double> widest(devices_.size());
    std::vector<DeviceId> pending{from};
    widest[from] = unlimited.value;
    double best = 0;
    while (!pending.empty()) {
      const DeviceId here = pending.back();
      pending.pop_back();
      for (const LinkId id : topology_.links_from(first_ + here)) {
        const Link link = topology_.link(id);
        if (link.kind == LinkKind::network || link.to - first_ >= devices_.size()) continue;
        const DeviceId next = link.to - first_;
        const double width = std::min(widest[here], link.bandwidth.value);
        if (width <= widest[next]) continue;
        widest[next] = width;
        if (devices_[next].kind == to) best = std::max(best, width);
        if (devices_[next].kind != DeviceKind::gpu) pending.push_back(next);
      }
    }
    return best;
  }

  static std::string sentence(const std::vector<std::string>& names, std::string_view what,
                              const std::pair<double, double>& rates, std::string_view way) {
    constexpr double gigabits = 8e-9;
    const std::string last = names.size() == 1 ? "" : fmt::format(" to {}", names.back());
    return fmt::format(
        "{}{} {} {} {:.0f} Gb/s, but {} carries {:.0f} Gb/s: the PCIe slot limits {}.",
        names.front(), last, names.size() == 1 ? "has" : "have", what, gigabits * rates.first, way,
        gigabits * rates.second, names.size() == 1 ? "it" : "them");
  }

  const Topology& topology_;
  DeviceId first_;
  const std::vector<GraphDevice>& devices_;
};

}  // namespace

std::vector<std::string> slot_limits(const Topology& topology, std::span<const std::uint32_t> nodes,
                                     bool with_nics) {
  std::vector<std::string> sentences;
  const IndexedGraph* last = nullptr;
  for (const std::uint32_t node : nodes) {
    const IndexedGraph* const graph = topology.node(node).graph;
    if (graph == std::exchange(last, graph)) continue;
    for (std::string& each : NodeWays(topology, node).limits(with_nics)) {
      const bool known = std::find(sentences.begin(), sentences.end(), each) != sentences.end();
      if (!known) sentences.push_back(std::move(each));
    }
  }
  return sentences;
}

}  // namespace collsim
