#include "models/call/far_above.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/cost/slice_cost.h"
#include "sim/cost/warps.h"

namespace collsim {

namespace {

/// The dearest hop of a protocol, with the threads of proxies where there are any.
Seconds dearest_hop(const Calibration& cost, Protocol protocol) {
  Seconds dearest;
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    const auto link = static_cast<LinkKind>(kind);
    dearest = std::max(dearest, serial_of_hop(cost.of(protocol, link), link));
  }
  return dearest + cost.proxy.send + cost.proxy.receive + 2 * cost.proxy.rendezvous;
}

/// The latency between the ranks that are farthest apart, which not every collective must cross.
Seconds farthest_way(const CallCompiler& compiler) {
  if (compiler.spec().collective == Collective::all_reduce)
    return compiler.bounds(Bytes{1}).latency;
  const MachineBounds bounds(compiler.topology(), compiler.spec().gpus, Collective::all_reduce);
  return bounds.of(Bytes{1}).latency;
}

/// What one thread block takes for so many bytes: at its rates, or in rounds of all warps.
double seconds_of_thread_block(const Calibration& cost, Protocol protocol, double bytes) {
  constexpr MemoryOps all{1, 1, 1, 1};
  const ProtocolConstants own = cost.of(protocol);
  if (!own.flags_lines()) {
    return own.wire_factor * bytes / block_rate(own, {1, 0, 0, 1}).value;
  }
  const auto round = static_cast<double>(full_warps(protocol) * own.warp_granule.count);
  return bytes / round * (round_wait(own, all) + round_work(own, all, true)).value;
}

/// What a call takes before its first byte.
Seconds time_to_begin(const CallCompiler& compiler, const Prediction& prediction) {
  const Calibration& cost = compiler.cost();
  const Collective collective = compiler.spec().collective;
  return cost.startup(prediction.protocol, collective, prediction.channels,
                      full_warps(prediction.protocol)) +
         cost.issue_of(collective, compiler.ranks(), prediction.channels);
}

/// The plain course where a hop crosses the latencies of the call's own bound, or `way` if that is
/// more.
Seconds course_along(const CallCompiler& compiler, const Prediction& prediction, Bytes message,
                     Seconds way) {
  const Calibration& cost = compiler.cost();
  const double ranks = compiler.ranks();
  // Of fewer elements for each rank, that they are whole counts for more than how many they are.
  constexpr std::int64_t few = 64;
  const Bytes element = size_of(compiler.spec().run.reduction.type);
  const Bounds bounds =
      compiler.bounds(prediction.size + few * (std::int64_t{compiler.ranks()} * element));
  const double times = compiler.is_nccl() ? 1 : ranks;
  const auto bytes = static_cast<double>(prediction.size.count);
  const double messages =
      message.count > 0 ? std::ceil(bytes / static_cast<double>(message.count)) : 1;
  const Seconds hop = std::max(bounds.latency, way) + dearest_hop(cost, prediction.protocol);
  return time_to_begin(compiler, prediction) + times * bounds.bandwidth +
         Seconds{times * seconds_of_thread_block(cost, prediction.protocol, bytes)} +
         (2 * ranks + 2 * messages) * hop;
}

}  // namespace

Seconds plain_course(const CallCompiler& compiler, const Prediction& prediction, Bytes message) {
  return course_along(compiler, prediction, message, farthest_way(compiler));
}

void check_not_far_above(const CallCompiler& compiler, const Prediction& prediction,
                         Bytes message) {
  // Parts of the plain course. The machine's latencies, and then its farthest way, are found only
  // for a call far above the parts before.
  const Seconds least = time_to_begin(compiler, prediction) + prediction.bounds.bandwidth;
  if (prediction.time <= far_above * least || !compiler.spec().faults.empty()) return;
  const Seconds near = course_along(compiler, prediction, message, Seconds{});
  if (prediction.time <= far_above * near) return;
  const Seconds most = far_above * plain_course(compiler, prediction, message);
  if (prediction.time <= most) return;
  throw std::logic_error(fmt::format(
      "{} of {} on {} ranks came out as {:.6g} us, above {} times its plain course, {:.6g} us",
      prediction.algorithm, to_string(prediction.size), compiler.ranks(),
      in_microseconds(prediction.time), far_above, in_microseconds(most)));
}

}  // namespace collsim
