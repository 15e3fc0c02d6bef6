#include "tools/collsim/request/algorithm_plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/algorithms/written_schedule.h"
#include "sim/base/input_error.h"
#include "sim/nccl/nccl_plan.h"

namespace collsim::command {

namespace {

constexpr std::array nccl_plans{NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree,
                                NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain,
                                NcclAlgorithm::pat};

std::optional<NcclAlgorithm> find_nccl_plan(const std::string& name) {
  const auto* found = std::find_if(nccl_plans.begin(), nccl_plans.end(),
                                   [&](NcclAlgorithm each) { return to_string(each) == name; });
  return found == nccl_plans.end() ? std::nullopt : std::optional(*found);
}

bool is_equally_full(const Placement& placement) {
  const auto nodes = placement.ranks_by_node();
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](const auto& node) { return node.size() == nodes.front().size(); });
}

NcclChannels plain_channels(const Placement& placement, std::uint32_t count) {
  NcclChannel channel;
  channel.ring.resize(placement.ranks());
  std::iota(channel.ring.begin(), channel.ring.end(), Rank{0});
  channel.chains = placement.ranks_by_node();
  NcclChannels channels;
  channels.channels.assign(count, channel);
  channels.nvls.nodes = channel.chains;
  channels.nvls.heads.resize(channel.chains.front().size());
  std::iota(channels.nvls.heads.begin(), channels.nvls.heads.end(), 0U);
  channels.collnet = channels.nvls;
  return channels;
}

}  // namespace

std::optional<std::string> why_no_named_plan(Collective collective, const std::string& name,
                                             const Placement& placement) {
  const auto algorithm = find_nccl_plan(name);
  if (!algorithm) return why_unsupported(collective, name, placement);
  if (auto reason = why_no_nccl_plan(collective, *algorithm)) return reason;
  if (is_equally_full(placement)) return std::nullopt;
  return name + " with different numbers of ranks per node; the same number of ranks on every node";
}

Plan named_plan(Collective collective, const std::string& name, const Placement& placement,
                std::uint32_t channels, Rank root) {
  const auto algorithm = find_nccl_plan(name);
  if (!algorithm) return make_plan(collective, name, placement, channels, root);
  if (const auto reason = why_no_named_plan(collective, name, placement)) {
    const std::size_t semicolon = reason->find("; ");
    throw InputError(reason->substr(0, semicolon), reason->substr(semicolon + 2));
  }
  return make_nccl_plan(collective, *algorithm, plain_channels(placement, channels), channels,
                        root);
}

std::optional<ScheduleFault> written_fault(const Plan& plan, const Placement& placement) {
  if (!names_schedule_file(plan.algorithm) || plan.ranks() > max_replayed_ranks) {
    return std::nullopt;
  }
  const auto schedule = read_schedule_file(plan.algorithm);
  return find_fault(transfers_of(*schedule, plan.ranks(), ranks_per_node(placement), plan.root),
                    plan);
}

}  // namespace collsim::command
