#include "tools/collsim/diagnose/used_links.h"

#include <algorithm>
#include <set>

namespace collsim {

namespace {

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

}  // namespace

UsedLinks used_links(const CallCompiler& compiler, const std::vector<Bytes>& sizes) {
  const Topology& topology = compiler.topology();
  std::set<LinkId> ids;
  LayoutMemo memo;
  for (const Bytes size : sizes) {
    const CompiledCall call = compiler.plan(size, &memo);
    for (const ResourceOrigin& origin : call.wiring().origins) {
      if (!origin.shared) ids.insert(std::min(origin.id, topology.link(origin.id).reverse));
    }
  }
  UsedLinks used;
  for (const LinkId id : ids) add(topology, id, used);
  return used;
}

DeviceId end_in_node(const Topology& topology, LinkId link) {
  const Link ends = topology.link(link);
  if (is_end(topology, ends.to)) return ends.to;
  return topology.node_of(ends.from) >= 0 ? ends.from : ends.to;
}

}  // namespace collsim
