#include "models/machine/odd_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/units.h"

namespace collsim {

namespace {

using DeviceIndex = std::uint32_t;

/// The value that most have, the greater one of two that are as common.
template <typename Value>
Value max_common(const std::vector<Value>& values) {
  std::map<Value, std::size_t> counts;
  for (const Value& value : values) ++counts[value];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// "gpu2, gpu5", cut after a few.
std::string names_of(const Graph& node, const std::vector<DeviceIndex>& devices) {
  constexpr std::size_t few = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(devices.size(), few); ++i) {
    if (i > 0) names += ", ";
    names += node.devices[devices[i]].name;
  }
  if (devices.size() > few) names += fmt::format(" and {} more", devices.size() - few);
  return names;
}

/// NVLinks of every GPU, but for those to its CPU.
class NvlinkCounts {
 public:
  explicit NvlinkCounts(const Graph& node) : node_(node) {
    for (DeviceIndex i = 0; i < node.devices.size(); ++i) {
      if (node.devices[i].kind == DeviceKind::gpu) counts_[i] = 0;
    }
    for (const GraphLink& link : node.links) {
      if (link.kind == LinkKind::nvlink) add(link);
    }
  }

  /// On an NVSwitch all GPUs have as many; of direct links, as of bridges between cards, a few GPUs
  /// without any are odd, and many are not.
  std::vector<std::string> oddities() const {
    std::vector<std::uint32_t> linked;
    for (const auto& [gpu, count] : counts_) {
      if (count > 0) linked.push_back(count);
    }
    if (linked.empty()) return {};
    const std::uint32_t most = max_common(linked);
    std::map<std::uint32_t, std::vector<DeviceIndex>> odd;  // by their NVLinks
    for (const auto& [gpu, count] : counts_) {
      if (count == 0 || (switched_ && count < most)) odd[count].push_back(gpu);
    }
    if (!switched_ && 2 * (counts_.size() - linked.size()) >= counts_.size()) return {};
    const auto same = static_cast<std::size_t>(std::count(linked.begin(), linked.end(), most));
    std::vector<std::string> sentences;
    sentences.reserve(odd.size());
    for (const auto& [count, gpus] : odd) {
      sentences.push_back(sentence(count, gpus, same == linked.size() || switched_, same, most));
    }
    return sentences;
  }

 private:
  void add(const GraphLink& link) {
    const DeviceKind from = node_.devices[link.from].kind;
    const DeviceKind to = node_.devices[link.to].kind;
    if (from == DeviceKind::cpu || to == DeviceKind::cpu) return;
    switched_ = switched_ || from == DeviceKind::nvswitch || to == DeviceKind::nvswitch;
    for (const DeviceIndex end : {link.from, link.to}) {
      const auto gpu = counts_.find(end);
      if (gpu != counts_.end()) gpu->second += link.count;
    }
  }

  std::string sentence(std::uint32_t count, const std::vector<DeviceIndex>& gpus, bool alike,
                       std::size_t same, std::uint32_t most) const {
    const std::string has = gpus.size() == 1 ? "has" : "have";
    const std::string own =
        count == 0 ? "no NVLink" : fmt::format("{} NVLink{}", count, count == 1 ? "" : "s");
    const std::size_t others = counts_.size() - gpus.size();
    const std::string theirs = alike ? fmt::format("{}{} {} {}", others == same ? "the other " : "",
                                                   same, same == 1 ? "has" : "have", most)
                                     : fmt::format("the other {} have some", others);
    return fmt::format("{} {} {}, {}.", names_of(node_, gpus), has, own, theirs);
  }

  const Graph& node_;
  std::map<DeviceIndex, std::uint32_t> counts_;
  bool switched_ = false;
};

/// The way of PCIe from every device to its CPU; where there is none, to the first switch.
class PcieTree {
 public:
  explicit PcieTree(const Graph& node) : node_(node) {
    for (const DeviceKind top : {DeviceKind::cpu, DeviceKind::pcie_switch}) {
      for (DeviceIndex i = 0; i < node.devices.size(); ++i) {
        if (node.devices[i].kind == top && !depth_.contains(i)) walk_from(i);
      }
    }
  }

  std::vector<std::string> oddities() const {
    std::vector<std::string> sentences;
    std::map<std::string, std::vector<DeviceIndex>> alike;
    for (const auto& [device, link] : up_) alike[kind_of(device)].push_back(device);
    for (const auto& [kind, devices] : alike) add_narrow(devices, sentences);
    add_bottlenecks(sentences);
    return sentences;
  }

 private:
  void walk_from(DeviceIndex top) {
    std::deque<DeviceIndex> pending{top};
    depth_[top] = 0;
    while (!pending.empty()) {
      const DeviceIndex here = pending.front();
      pending.pop_front();
      for (const GraphLink& link : node_.links) {
        if (link.kind != LinkKind::pcie || (link.from != here && link.to != here)) continue;
        const DeviceIndex there = link.from == here ? link.to : link.from;
        if (!depth_.try_emplace(there, depth_[here] + 1).second) continue;
        up_.emplace(there, &link);
        below_[here].push_back(there);
        pending.push_back(there);
      }
    }
  }

  double rate(DeviceIndex device) const {
    return in_gigabytes_per_second(up_.at(device)->bandwidth);
  }

  /// What is alike has PCIe alike: GPUs of a model, NICs of a rate, and switches on a level with as
  /// many GPUs below.
  std::string kind_of(DeviceIndex device) const {
    const GraphDevice& each = node_.devices[device];
    if (each.kind == DeviceKind::gpu) return "gpu " + each.model;
    if (each.kind == DeviceKind::nic) {
      return fmt::format("nic {} {}", each.port_rate.value, each.gpudirect);
    }
    const auto below = below_.find(device);
    std::size_t gpus = 0;
    if (below != below_.end()) {
      for (const DeviceIndex end : below->second) {
        gpus += node_.devices[end].kind == DeviceKind::gpu ? 1U : 0U;
      }
    }
    return fmt::format("switch {} {}", depth_.at(device), gpus);
  }

  /// Of three or more, since of two nobody knows which one is right.
  void add_narrow(const std::vector<DeviceIndex>& devices,
                  std::vector<std::string>& sentences) const {
    constexpr std::size_t enough = 3;
    if (devices.size() < enough) return;
    std::vector<double> rates;
    rates.reserve(devices.size());
    for (const DeviceIndex device : devices) rates.push_back(rate(device));
    const double usual = max_common(rates);
    std::map<double, std::vector<DeviceIndex>> narrow;
    for (const DeviceIndex device : devices) {
      if (rate(device) < almost * usual) narrow[rate(device)].push_back(device);
    }
    const auto same = static_cast<std::size_t>(std::count(rates.begin(), rates.end(), usual));
    for (const auto& [own, odd] : narrow) {
      if (2 * odd.size() >= devices.size()) continue;
      sentences.push_back(
          fmt::format("{} {} PCIe of {:.1f} GB/s, {} others of their kind have {:.1f}.",
                      names_of(node_, odd), odd.size() == 1 ? "has" : "have", own, same, usual));
    }
  }

  /// A slot of an old generation has all 16 lanes.
  static bool is_full_slot(double rate) {
    constexpr std::array slots{15.75, 31.5, 63.0};  // GB/s of gen3 to gen5 (PCI-SIG)
    return std::any_of(slots.begin(), slots.end(),
                       [&](double slot) { return std::abs(rate - slot) < 0.01 * slot; });
  }

  /// The widest device right below a switch whose own link is narrower, by more than an old slot
  /// would make it.
  std::optional<DeviceIndex> held_back_by(DeviceIndex device) const {
    const auto below = below_.find(device);
    if (below == below_.end() || is_full_slot(rate(device))) return std::nullopt;
    const DeviceIndex widest =
        *std::max_element(below->second.begin(), below->second.end(),
                          [&](DeviceIndex a, DeviceIndex b) { return rate(a) < rate(b); });
    if (rate(device) >= almost * rate(widest)) return std::nullopt;
    return widest;
  }

  void add_bottlenecks(std::vector<std::string>& sentences) const {
    std::map<std::pair<double, double>, std::vector<DeviceIndex>> alike;  // by rates up and below
    std::map<DeviceIndex, DeviceIndex> widest;
    for (const auto& [device, link] : up_) {
      const auto below = held_back_by(device);
      if (!below) continue;
      alike[{rate(device), rate(*below)}].push_back(device);
      widest[device] = *below;
    }
    for (const auto& [rates, devices] : alike) {
      const bool one = devices.size() == 1;
      sentences.push_back(fmt::format(
          "{} {} PCIe of {:.1f} GB/s towards {} CPU, {} below {:.1f}.", names_of(node_, devices),
          one ? "has" : "have", rates.first, one ? "its" : "their",
          node_.devices[widest.at(devices.front())].name, rates.second));
    }
  }

  static constexpr double almost = 0.9;
  const Graph& node_;
  std::map<DeviceIndex, std::size_t> depth_;
  std::map<DeviceIndex, const GraphLink*> up_;
  std::map<DeviceIndex, std::vector<DeviceIndex>> below_;
};

}  // namespace

std::vector<std::string> odd_links(const Graph& node) {
  std::vector<std::string> sentences = NvlinkCounts(node).oddities();
  std::vector<std::string> of_pcie = PcieTree(node).oddities();
  std::move(of_pcie.begin(), of_pcie.end(), std::back_inserter(sentences));
  return sentences;
}

}  // namespace collsim
