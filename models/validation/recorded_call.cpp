#include "models/validation/recorded_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "models/call/rank_gpus.h"

namespace collsim {

namespace {

/// What a row had set, without the files that it names: they are of the machine that made it, and
/// whoever wrote a log must not choose what is opened here.
std::map<std::string, std::string> without_paths(std::map<std::string, std::string> variables) {
  for (const char* const name : {"NCCL_TOPO_FILE", "NCCL_GRAPH_FILE"}) {
    if (const auto found = variables.find(name); found != variables.end()) found->second.clear();
  }
  return variables;
}

}  // namespace

RecordedCall call_of(const RecordedRow& row) {
  constexpr std::uint32_t iterations_of_benchmarks = 20;  // nccl-tests' -n
  // Elsewhere ranks hardly part, so that one call tells as much.
  const bool ranks_part = has_root(*row.collective) || (row.nodes > 1 && !row.topology.empty());
  const std::uint32_t calls = ranks_part ? row.iterations.value_or(iterations_of_benchmarks) : 0;
  const bool copies =
      *row.collective == Collective::all_gather || *row.collective == Collective::broadcast;
  return {*row.collective,
          without_paths(row.variables),
          row.nodes,
          row.ranks,
          row.root,
          calls,
          row.gpus_per_process,
          copies && row.in_place,
          row.mode == CallMode::graph};
}

CallSpec spec_of(const RecordedCall& call, const Topology& topology, const Calibration& cost,
                 NcclVersion version) {
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  run.nccl_version = version;
  run.variables = call.variables;
  run.in_place = call.in_place;
  run.graph = call.graph;
  if (call.calls > 0) run.calls = call.calls;
  return {&topology,
          cost_of(call, cost, version),
          call.collective,
          run,
          first_gpus(topology, call.ranks, call.ranks / call.nodes),
          call.root};
}

namespace {

/// One process with 8 to 12 GPUs issued calls of 1 to 16 channels with releases up to 2.18: 0.13 to
/// 0.31 us a channel and GPU on five hosts, 0.06 to 0.08 with later ones on three
/// (recordings/published).
double issue_of_old_releases(NcclVersion version) {
  return version < NcclVersion{2, 19} ? 3 : 1;
}

}  // namespace

Calibration cost_of(const RecordedCall& call, const Calibration& cost, NcclVersion version) {
  Calibration own = cost;
  own.issue.value *= call.gpus_per_process;
  own.issue_per_channel.value *= issue_of_old_releases(version) * call.gpus_per_process;
  own.issue_per_operation.value *= call.gpus_per_process;
  return own;
}

namespace {

/// Of the ranks, the share that cannot be done before the call's bounds. A broadcast's root may
/// have handed over everything before, and its whole node may have what others still wait for; of
/// other collectives with a root it may be one rank alone that waits (recordings/h200x4/tcp.yaml,
/// broadcast of 16 MiB on 2x1: the mean is 14.7 ms, the slowest rank takes 27.1).
double share_that_waits(const RecordedCall& call) {
  if (!has_root(call.collective)) return 1;
  const double ranks = call.ranks;
  if (call.collective != Collective::broadcast) return 1 / ranks;
  return (ranks - (call.nodes > 1 ? ranks / call.nodes : 1)) / ranks;
}

/// Whether two GPUs of the first node have NVLinks to each other, and not to a switch.
bool joins_gpus_directly(const Topology& topology) {
  const Graph& graph = topology.node(0).graph->graph();
  return std::any_of(graph.links.begin(), graph.links.end(), [&](const GraphLink& link) {
    return link.kind == LinkKind::nvlink && graph.devices[link.from].kind == DeviceKind::gpu &&
           graph.devices[link.to].kind == DeviceKind::gpu;
  });
}

/// Which GPUs of its hosts a call may have run on, of which a log says but how many. It matters
/// where NVLinks join some pairs only; elsewhere the first ones stand for all.
std::vector<std::vector<DeviceId>> possible_gpus(const RecordedCall& call,
                                                 const Topology& topology) {
  const std::uint32_t per_node = call.ranks / call.nodes;
  const std::size_t of_node = topology.node(0).graph->gpus().size();
  constexpr std::size_t max_of_node = 8;  // of machines with such pairs
  if (!joins_gpus_directly(topology) || of_node > max_of_node || per_node >= of_node) {
    return {first_gpus(topology, call.ranks, per_node)};
  }
  std::vector<std::vector<DeviceId>> choices;
  std::vector<bool> taken(of_node);
  std::fill_n(taken.begin(), per_node, true);
  do {
    choices.emplace_back();
    for (std::uint32_t node = 0; node < call.nodes; ++node) {
      const NodePart part = topology.node(node);
      const auto& gpus = part.graph->gpus();
      for (std::size_t place = 0; place < std::min(of_node, gpus.size()); ++place) {
        if (taken[place]) choices.back().push_back(part.first_device + gpus[place]);
      }
    }
    if (choices.back().size() != call.ranks) choices.pop_back();  // a node that has fewer
  } while (std::prev_permutation(taken.begin(), taken.end()));
  if (choices.empty()) choices.push_back(first_gpus(topology, call.ranks, per_node));
  return choices;
}

}  // namespace

RecordedBounds::RecordedBounds(const RecordedCall& call, const Topology& topology)
    : share_that_waits_(share_that_waits(call)) {
  for (const std::vector<DeviceId>& gpus : possible_gpus(call, topology)) {
    bounds_.emplace_back(topology, gpus, call.collective, call.root, std::max(call.calls, 1U));
  }
}

Seconds RecordedBounds::of(Bytes size) const {
  Seconds least = Seconds{std::numeric_limits<double>::infinity()};
  for (const MachineBounds& bounds : bounds_) least = std::min(least, bounds.of(size).largest());
  return share_that_waits_ * least;
}

Hosts::Hosts(const Topology& topology)
    : gpus_(topology.node_count()), all_(topology.gpus().size()) {
  for (const DeviceId gpu : topology.gpus()) {
    ++gpus_[static_cast<std::size_t>(topology.node_of(gpu))];
  }
}

bool Hosts::hold(const RecordedRow& row) const {
  const auto last = gpus_.begin() + static_cast<std::ptrdiff_t>(row.nodes);
  return row.nodes <= gpus_.size() &&
         *std::min_element(gpus_.begin(), last) >= row.ranks / row.nodes;
}

RecordedRow Hosts::with_defaults(RecordedRow row) const {
  if (row.ranks == all_ && row.ranks % row.nodes != 0) {
    row.nodes = static_cast<std::uint32_t>(gpus_.size());
  }
  return row;
}

bool excluded(const RecordedRow& row, const ValidationOptions& options) {
  return (options.collective && row.collective != options.collective) ||
         (options.ranks && row.ranks != *options.ranks) || !row.id.starts_with(options.id) ||
         (options.in_place && row.in_place != *options.in_place) ||
         (options.largest && row.size > *options.largest);
}

std::string why_left_out(const RecordedRow& row, const Hosts& hosts,
                         const ValidationOptions& options) {
  if (!row.collective) {
    return row.collective_name.empty()
               ? "which collective it is cannot be told (-c)"
               : fmt::format("'{}' is no collective of ours", row.collective_name);
  }
  if (options.mode && row.mode != *options.mode) {
    return row.mode == CallMode::graph ? "in a CUDA graph (--mode graph)" : "not in a CUDA graph";
  }
  if (row.wrong) return "its results were wrong";
  if (row.registered) return "its buffers were registered as symmetric windows";
  if (row.user_registered) return "its buffers were registered by ncclCommRegister";
  if (row.time.value <= 0 || row.size.count <= 0) return "no time or no bytes";
  if (row.ranks == 0) return "how many ranks it had is not known (-n)";
  const std::uint32_t per_node = row.ranks / row.nodes;
  if (per_node * row.nodes != row.ranks) return "hosts of different numbers of ranks";
  if (!hosts.hold(row)) {
    return fmt::format("{} host{} of {} GPU{}, which the machine has not", row.nodes,
                       row.nodes == 1 ? "" : "s", per_node, per_node == 1 ? "" : "s");
  }
  if (row.root >= row.ranks) return "a root that is no rank";
  return {};
}

}  // namespace collsim
