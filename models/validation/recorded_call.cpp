#include "models/validation/recorded_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace collsim {

RecordedCall call_of(const RecordedRow& row) {
  constexpr std::uint32_t iterations_of_benchmarks = 20;  // nccl-tests' -n
  const std::uint32_t calls =
      has_root(*row.collective) ? row.iterations.value_or(iterations_of_benchmarks) : 0;
  return {*row.collective, row.variables, row.nodes, row.ranks, row.root, calls};
}

Predictor make_predictor(const RecordedCall& call, const Topology& topology,
                         const TransferCost& cost, NcclVersion version) {
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  run.nccl_version = version;
  run.variables = call.variables;
  if (call.calls > 0) run.calls = call.calls;
  return {topology, cost, call.collective, run, call.ranks, call.root, call.ranks / call.nodes};
}

Hosts::Hosts(const Topology& topology) : gpus_(topology.node_count()) {
  for (const DeviceId gpu : topology.gpus()) {
    ++gpus_[static_cast<std::size_t>(topology.device(gpu).node)];
  }
  for (const Link& link : topology.links()) {
    if (link.kind == LinkKind::network) rate_ = std::min(rate_.value_or(unlimited), link.bandwidth);
  }
}

bool Hosts::hold(std::uint32_t nodes, std::uint32_t per_node) const {
  return nodes <= gpus_.size() &&
         *std::min_element(gpus_.begin(), gpus_.begin() + static_cast<std::ptrdiff_t>(nodes)) >=
             per_node;
}

bool excluded(const RecordedRow& row, const ValidationOptions& options) {
  return (options.collective && row.collective != options.collective) ||
         !row.id.starts_with(options.id) || (options.in_place && row.in_place != *options.in_place);
}

std::string why_left_out(const RecordedRow& row, const Hosts& hosts,
                         const ValidationOptions& options) {
  if (!row.collective) {
    return row.collective_name.empty()
               ? "which collective it is cannot be told"
               : fmt::format("'{}' is no collective of ours", row.collective_name);
  }
  if (options.mode && row.mode != *options.mode) {
    return row.mode == CallMode::graph ? "in a CUDA graph, whose launch is not modelled"
                                       : "not in a CUDA graph";
  }
  if (row.wrong) return "its results were wrong";
  if (row.time.value <= 0 || row.size.count <= 0) return "no time or no bytes";
  if (row.ranks == 0) return "how many ranks it had is not known";
  const std::uint32_t per_node = row.ranks / row.nodes;
  if (per_node * row.nodes != row.ranks) return "hosts of different numbers of ranks";
  if (!hosts.hold(row.nodes, per_node)) {
    return fmt::format("{} host{} of {} GPU{}, which the machine has not", row.nodes,
                       row.nodes == 1 ? "" : "s", per_node, per_node == 1 ? "" : "s");
  }
  if (row.root >= row.ranks) return "a root that is no rank";
  if (!row.hosts_alike) return "hosts whose links are not alike";
  constexpr double tolerance = 0.02;
  if (row.host_rate && hosts.rate() &&
      std::abs(hosts.rate()->value / row.host_rate->value - 1) > tolerance) {
    return fmt::format("hosts on links of {}; the machine's have {}", to_string(*row.host_rate),
                       to_string(*hosts.rate()));
  }
  return {};
}

}  // namespace collsim
