#include "sim/execution/gpu_cache.h"

#include <cassert>
#include <cmath>

namespace collsim {

namespace {

/// How many of a primitive's bytes a rank reads of its own buffers, or writes there.
double touches(PrimitiveKind kind) {
  const bool reads = reads_own(kind);
  return (reads ? 1.0 : 0.0) + (stores(kind) ? 1.0 : 0.0);
}

/// How many chunks a rank reads of its own buffers, or writes there, in a loop of a channel.
double chunks_touched(const Schedule& schedule, Rank rank) {
  double chunks = 0;
  for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
    for (const Primitive& primitive : schedule.program(rank, lane)) {
      chunks += touches(primitive.kind) * primitive.chunk_count;
    }
  }
  return chunks;
}

}  // namespace

double kept_share(double bytes, Bytes cache) {
  return std::exp(-bytes / static_cast<double>(cache.count));
}

double cached_share(double footprint, Bytes cache) {
  assert(cache.count > 0);
  const double fills = footprint / static_cast<double>(cache.count);
  if (fills <= 1) return 1;
  // The missed share m solves m = 1 - exp(-fills m), above log(fills) / fills.
  double low = std::log(fills) / fills;
  double high = 1;
  constexpr int halvings = 40;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (middle < -std::expm1(-fills * middle) ? low : high) = middle;
  }
  return 1 - high;
}

double own_footprint(const Plan& plan, const Binding& binding, Rank rank) {
  if (binding.channels() == 0) return 0;
  // Programs are long, and most channels share one schedule.
  std::vector<std::uint32_t> channels(plan.schedules.size(), 0);
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    ++channels[plan.schedule_of_channel[channel]];
  }
  const double of_channel = static_cast<double>(binding.size().count) / binding.channels();
  double bytes = 0;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (channels[i] == 0) continue;
    const Schedule& schedule = plan.schedules[i];
    bytes += channels[i] * of_channel / schedule.chunks() * chunks_touched(schedule, rank);
  }
  return bytes;
}

std::vector<double> cold_shares(const Plan& plan, const Binding& binding, Bytes cache) {
  const Schedule& first = plan.schedules.front();
  std::vector<double> shares(first.ranks(), 0);
  if (cache.count == 0) return shares;
  for (Rank rank = 0; rank < first.ranks(); ++rank) {
    shares[rank] = 1 - cached_share(own_footprint(plan, binding, rank), cache);
  }
  return shares;
}

}  // namespace collsim
