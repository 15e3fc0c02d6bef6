#include "tools/collsim/topo/pcie_tree.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "sim/topologies/name_run.h"

namespace collsim::command {

namespace {

/// Devices with equal branches.
struct Branch {
  NameRun name;
  std::string link;  ///< the link upwards
  std::vector<Branch> below;
};

/// Whether `next` continues the names of `branch` and of all devices below it.
bool continues(const Branch& branch, const Branch& next) {
  if (branch.link != next.link || branch.name.stem != next.name.stem || next.name.first < 0 ||
      branch.name.last + 1 != next.name.first || branch.below.size() != next.below.size()) {
    return false;
  }
  for (std::size_t i = 0; i < branch.below.size(); ++i) {
    if (!continues(branch.below[i], next.below[i])) return false;
  }
  return true;
}

void append(Branch& branch, const Branch& next) {
  branch.name.last = next.name.last;
  for (std::size_t i = 0; i < branch.below.size(); ++i) append(branch.below[i], next.below[i]);
}

Branch branch_of(const Topology& topology, DeviceId device, std::set<DeviceId>& seen) {
  const std::string name = topology.device_name(device);
  Branch branch{run_of(std::string_view(name).substr(name.find('/') + 1)), {}, {}};
  for (const LinkId id : topology.links_from(device)) {
    const Link link = topology.link(id);
    const DeviceKind kind = topology.device(link.to).kind;
    if (link.kind != LinkKind::pcie || kind == DeviceKind::cpu) continue;
    // GPUs and NICs with a PCIe link to each other do not form a tree.
    if (topology.device(device).kind == DeviceKind::gpu) continue;
    if (!seen.insert(link.to).second) continue;
    Branch next = branch_of(topology, link.to, seen);
    next.link = to_string(link.bandwidth);
    if (!branch.below.empty() && continues(branch.below.back(), next)) {
      append(branch.below.back(), next);
    } else {
      branch.below.push_back(std::move(next));
    }
  }
  return branch;
}

void print(const std::vector<Branch>& branches, const std::string& indent, std::string& text) {
  constexpr std::size_t width = 24;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const bool last = i + 1 == branches.size();
    const std::string name = branches[i].name.text();
    const std::size_t used = indent.size() + 3 + name.size();
    text += fmt::format("{}{} {}{:>{}}\n", indent, last ? "`-" : "|-", name, branches[i].link,
                        used + 2 < width ? width - used + 8 : 10);
    print(branches[i].below, indent + (last ? "   " : "|  "), text);
  }
}

}  // namespace

std::string pcie_tree_text(const Topology& topology, const std::vector<DeviceId>& devices) {
  std::string text;
  std::set<DeviceId> seen;
  for (const DeviceId device : devices) {
    if (topology.device(device).kind != DeviceKind::cpu) continue;
    const Branch branch = branch_of(topology, device, seen);
    if (branch.below.empty()) continue;
    text += fmt::format("  {}\n", branch.name.text());
    print(branch.below, "  ", text);
  }
  return text;
}

}  // namespace collsim::command
