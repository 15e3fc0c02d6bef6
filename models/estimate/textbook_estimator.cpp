#include "models/estimate/textbook_estimator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "models/call/memory_need.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/node_grid.h"
#include "models/estimate/small_cluster.h"
#include "sim/base/division.h"
#include "sim/topologies/like_nodes.h"

namespace collsim {

namespace {

/// So many ranks are simulated: a size takes some milliseconds. Nodes of many GPUs are more, since
/// fewer nodes than these say little of how a time grows.
constexpr Rank max_simulated_ranks = 64;
constexpr Rank min_nodes = 4;
constexpr Rank min_nodes_of_halves = 8;  // three clusters, the last of two nodes

/// Bytes. A whole that needs no more is laid out in some milliseconds.
constexpr double max_memory_of_whole = 48e6;

/// The faults of an instant as if they held for ever: ranks are no later than others, and jitter is
/// its mean. Traffic has not left a dead link of which nobody has heard, and never does.
MachineFaults faults_held_at(MachineFaults faults, Seconds at) {
  std::erase_if(faults.links, [&](const LinkFault& fault) {
    return at < fault.from || (fault.until && *fault.until <= at);
  });
  for (LinkFault& fault : faults.links) {
    const bool unnoticed = fault.dead && fault.from.value > 0 && at < fault.from + fault.detection;
    fault.from = Seconds{unnoticed ? std::numeric_limits<double>::min() : 0};
    if (unnoticed) fault.detection = Seconds{std::numeric_limits<double>::max()};
    fault.until.reset();
    fault.latency += 0.5 * fault.jitter;
    fault.jitter = {};
  }
  for (RankFault& fault : faults.ranks) fault.late = {};
  for (HostFault& fault : faults.hosts) fault.late = {};
  return faults;
}

/// A call of more messages is continued from a part of it, of at least so many loops, and half of
/// that part. One that has too few loops may send as many as the second bound; what sends more goes
/// by its plan alone.
constexpr double max_messages = 20'000;  // some 50 ms
constexpr double max_messages_of_few_loops = 1e6;
constexpr double min_loops = 8;

/// By simulation of all its messages, or of enough to know how long further loops take.
Prediction simulated(const CallCompiler& compiler, Bytes size) {
  const CompiledCall call = compiler.plan(size);
  const double messages = simulated_effort(call).steady;
  const bool lasts = instants_of(compiler.spec().faults).size() == 1;
  if (messages <= max_messages || !lasts) return simulate(call);
  const double share = std::max(max_messages / messages, min_loops / call.partition.loops(0));
  if (share > 0.5) {
    const bool is_short = messages <= max_messages_of_few_loops || !compiler.spec().faults.empty();
    return is_short ? simulate(call) : estimate_by_plan(call);
  }
  const Bytes part{static_cast<std::int64_t>(share * static_cast<double>(size.count))};
  const Bytes half{part.count / 2};
  Prediction prediction = outline(call);
  const Seconds time = simulate(compiler.plan(part)).time;
  const double steps =
      static_cast<double>((size - part).count) / static_cast<double>((part - half).count);
  prediction.time = time + steps * (time - simulate(compiler.plan(half)).time);
  return prediction;
}

/// The call on the nodes of which the same GPUs take part as of most: of nodes of eight whose last
/// has four, without that one. Nothing where all nodes are so.
std::optional<CallSpec> on_like_nodes(const CallSpec& whole) {
  const std::vector<LikeNodes> kinds = nodes_by_places(*whole.topology, whole.gpus).kinds;
  if (kinds.size() == 1) return std::nullopt;
  const auto most = std::max_element(
      kinds.begin(), kinds.end(),
      [](const LikeNodes& a, const LikeNodes& b) { return a.gpus.size() < b.gpus.size(); });
  return call_of_ranks(whole, ranks_on(whole, most->gpus));
}

/// Those GPUs of the whole that are not among the part's.
std::vector<DeviceId> gpus_beside(const CallCompiler& whole, const CallCompiler& part) {
  const std::set<DeviceId> taken(part.spec().gpus.begin(), part.spec().gpus.end());
  std::vector<DeviceId> others = whole.spec().gpus;
  std::erase_if(others, [&](DeviceId gpu) { return taken.contains(gpu); });
  return others;
}

/// All devices and cables of nodes alike: a hop of some is a hop of all.
bool has_like_nodes(const CallCompiler& compiler) {
  const std::vector<std::uint32_t> firsts = first_like_nodes(compiler.topology());
  const std::vector<std::uint32_t>& nodes = compiler.placement().node_of_rank;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](std::uint32_t node) { return firsts[node] == firsts[nodes.front()]; });
}

}  // namespace

TextbookEstimator::TextbookEstimator(const CallCompiler& compiler, Seconds at)
    : compiler_(compiler) {
  if (compiler.is_nccl() || compiler.ranks() <= max_simulated_ranks) return;
  growth_ = growth_of(compiler.spec().collective, compiler.spec().run.algorithm);
  if (growth_ != Growth::none) make_clusters(at);
}

/// Nodes are halved, rounded up: a tree loses a level each time, and ranks that are no power of two
/// stay none. Nodes unlike the others are in every cluster, since channels go otherwise where there
/// is one.
void TextbookEstimator::make_clusters(Seconds at) {
  const std::vector<DeviceId>& all = compiler_.spec().gpus;
  if (grouped_by_node(compiler_.topology(), all) != all) return;
  held_ = compiler_.with_faults(faults_held_at(compiler_.spec().faults, at));
  auto some = on_like_nodes(held_->spec());
  std::optional<CallCompiler> part;
  if (some) part.emplace(std::move(*some));
  const CallCompiler& like = part ? *part : *held_;
  const auto grid = grid_of(like);
  if (!grid) return;
  const std::vector<DeviceId> odd = part ? gpus_beside(*held_, like) : std::vector<DeviceId>();
  if (odd.size() > max_simulated_ranks) return;
  const bool in_halves = growth_ == Growth::half_per_doubling;
  const Rank least = in_halves ? min_nodes_of_halves : min_nodes;
  const Rank odd_nodes = compiler_.placement().nodes() - grid->nodes;
  Rank nodes = grid->nodes + odd_nodes;
  while (nodes * grid->per_node > max_simulated_ranks && divide_up(nodes, 2U) >= least) {
    nodes = divide_up(nodes, 2U);
    ++halvings_;
  }
  if (halvings_ == 0) return;
  for (int i = 0; i < (in_halves ? 3 : 2); ++i, nodes = divide_up(nodes, 2U)) {
    auto spec =
        small_cluster(like, (nodes - std::min(nodes, odd_nodes)) * grid->per_node, Likeness::near);
    if (!spec) return clusters_.clear();
    if (!odd.empty()) {
      std::vector<DeviceId> gpus = std::move(spec->gpus);
      gpus.insert(gpus.end(), odd.begin(), odd.end());
      spec = call_of_ranks(held_->spec(), ranks_on(held_->spec(), gpus));
    }
    clusters_.emplace_back(std::move(*spec));
  }
}

Prediction TextbookEstimator::estimate(Bytes size) {
  if (const auto known = known_.find(size); known != known_.end()) return known->second;
  auto prediction = closed_form(size);
  if (!prediction) {
    prediction = is_whole() ? simulated(compiler_, size) : from_clusters(size);
    if (!prediction->method) {
      *prediction = of_whole(*prediction, size, prediction->time, EstimateMethod::simulation);
    }
  }
  return known_.emplace(size, std::move(*prediction)).first->second;
}

Bytes TextbookEstimator::size_of_part(const CallCompiler& cluster, Bytes size) const {
  return growth_ == Growth::share_per_rank ? size_for(cluster, size, compiler_.ranks()) : size;
}

/// What claims to be exact must keep the bound; what is near is clamped to it.
Prediction TextbookEstimator::of_whole(Prediction part, Bytes size, Seconds time,
                                       EstimateMethod method) const {
  part.size = size;
  if (!is_whole()) part.channels = compiler_.textbook_binding(size).channels();
  part.time = std::max(time, compiler_.cost().issue_of(compiler_.spec().collective,
                                                       compiler_.ranks(), part.channels));
  part.mean_over_ranks = {};
  part.bounds = compiler_.bounds(size);
  part.floor = {};
  part.method = method;
  part.transfers = 0;
  part.extent = Extent::whole;
  part.classes = 0;
  part.trust = trust_by(method, part.trust);
  if (method != EstimateMethod::closed_form) {
    clamp_to(part, part.bounds.largest());
    return part;
  }
  check_not_below(part.time, part.bounds.largest(),
                  fmt::format("the closed form of {} for {} on {} ranks", part.algorithm,
                              to_string(size), compiler_.ranks()));
  return part;
}

/// Of a healthy machine; a small cluster's hops are the whole's where all nodes are alike.
std::optional<Prediction> TextbookEstimator::closed_form(Bytes size) {
  const DataPartition partition = compiler_.textbook_binding(size);
  const Protocol protocol = compiler_.spec().run.protocol.value_or(Protocol::simple);
  if (!compiler_.spec().faults.empty() || compiler_.ranks() < 2 || partition.loops(0) == 0 ||
      !may_have_closed_form(compiler_.cost(), protocol) ||
      (!is_whole() && !has_like_nodes(compiler_))) {
    return std::nullopt;
  }
  const CallCompiler& laid = is_whole() ? compiler_ : clusters_.front();
  const CompiledCall call = laid.plan(is_whole() ? size : size_of_part(laid, size));
  const auto closed = closed_estimate(call.plan(), call.wiring(), compiler_.placement(), partition,
                                      compiler_.textbook_chunks(), compiler_.cost().of(protocol));
  if (!closed) return std::nullopt;
  Prediction prediction = outline(call);
  const Seconds launch = compiler_.cost().startup(protocol, compiler_.spec().collective,
                                                  partition.channels(), call.warps);
  if (launch.value == 0) prediction.form = closed->form;  // its terms know no launch
  return of_whole(std::move(prediction), size, launch + closed->time, closed->method);
}

/// What the whole takes longer than the largest of clusters that have half as many nodes each. A
/// doubling adds what the one before added, or, where that is in part halved each time, the part
/// that stays and half of the rest.
Seconds TextbookEstimator::added_by_whole(const std::vector<Seconds>& times) const {
  const Seconds added = times[0] - times[1];
  const double doublings = halvings_;
  if (growth_ == Growth::all_per_doubling) return doublings * added;
  if (growth_ == Growth::half_per_doubling) {
    const Seconds halved = std::max(times[1] - times[2] - added, Seconds{});
    return doublings * (added - halved) + (1 - std::exp2(-doublings)) * halved;
  }
  const double ranks = clusters_[0].ranks();
  return (compiler_.ranks() - ranks) / (ranks - clusters_[1].ranks()) * added;
}

/// Which cables messages share is seen on the whole alone: where it is soon laid out, its busiest
/// resource is a limit.
Prediction TextbookEstimator::from_clusters(Bytes size) {
  std::vector<Prediction> parts;
  std::vector<Seconds> times;
  for (const CallCompiler& cluster : clusters_) {
    parts.push_back(simulated(cluster, size_of_part(cluster, size)));
    times.push_back(parts.back().time);
  }
  Seconds time = times[0] + std::max(added_by_whole(times), Seconds{});
  if (memory_needed(compiler_, size) <= max_memory_of_whole) {
    time = std::max(time, outline(held_->plan(size)).floor.busiest_resource());
  }
  return of_whole(std::move(parts[0]), size, time, EstimateMethod::simulation);
}

}  // namespace collsim
