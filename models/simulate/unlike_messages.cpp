#include "models/simulate/unlike_messages.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <set>

#include "models/call/prediction.h"
#include "sim/execution/thread_block_cost.h"

namespace collsim {

namespace {

/// More plans at once would take seconds.
constexpr std::size_t max_sizes = 64;
/// So would more bytes; they take in proportion what the second half of so many takes.
constexpr double max_bytes = 8e9;

template <typename TimeOf>
Seconds continued(double bytes, const TimeOf& time_of_part) {
  if (bytes <= max_bytes) return time_of_part(1.0);
  const double part = max_bytes / bytes;
  const Seconds whole = time_of_part(part);
  return whole + 2 * (1 / part - 1) * (whole - time_of_part(part / 2));
}

/// Of whole elements of four bytes, which all types of the calibrations have.
Bytes part_of(Bytes size, double part) {
  constexpr std::int64_t element = 4;
  if (part >= 1) return size;
  return {element * static_cast<std::int64_t>(static_cast<double>(size.count) * part / element)};
}

Seconds longest_at_once(const std::vector<CompiledCall>& calls) {
  const std::vector<Seconds> times = simulate_at_once(calls);
  return times.empty() ? Seconds{} : *std::max_element(times.begin(), times.end());
}

/// Until the largest of what ranks have for themselves has been copied.
Seconds time_of_own_copy(const CallCompiler& exchange, const MessageSizes& sizes) {
  Bytes largest;
  for (Rank rank = 0; rank < sizes.ranks; ++rank) {
    largest = std::max(largest, sizes.of(rank, rank));
  }
  if (largest.count == 0) return {};
  const NcclDecision decision = exchange.decide(sizes.ranks * largest);
  const ProtocolConstants cost = exchange.cost().of(Protocol::simple);
  constexpr MemoryOps copy{.load = 1, .store = 1};
  const BytesPerSecond rate = decision.parts * block_rate(cost, copy);
  return exchange.cost().startup(Protocol::simple, Collective::all_to_all, decision.parts,
                                 decision.warps) +
         Seconds{static_cast<double>(largest.count) / rate.value};
}

}  // namespace

bool are_few_unlike(const MessageSizes& sizes) {
  const std::set<Bytes> unlike(sizes.sizes.begin(), sizes.sizes.end());
  return sizes.ranks <= max_message_ranks && unlike.size() > 1 && unlike.size() <= max_sizes;
}

Seconds time_of_messages(const CallCompiler& exchange, const MessageSizes& sizes) {
  std::set<Bytes> unlike;
  double all = 0;
  for (Rank from = 0; from < sizes.ranks; ++from) {
    for (Rank to = 0; to < sizes.ranks; ++to) {
      if (from == to || sizes.of(from, to).count == 0) continue;
      unlike.insert(sizes.of(from, to));
      all += static_cast<double>(sizes.of(from, to).count);
    }
  }
  const Seconds moved = continued(all, [&](double part) {
    std::vector<CompiledCall> calls;
    calls.reserve(unlike.size());
    for (const Bytes size : unlike) {
      calls.push_back(
          exchange.plan_messages(sizes.ranks * part_of(size, part),
                                 [&](Rank from, Rank to) { return sizes.of(from, to) == size; }));
    }
    return longest_at_once(calls);
  });
  return std::max(time_of_own_copy(exchange, sizes), moved);
}

Seconds time_of_broadcasts(std::span<const CallCompiler> broadcasts, std::span<const Bytes> sizes) {
  assert(broadcasts.size() == sizes.size());
  const Bytes all = std::accumulate(sizes.begin(), sizes.end(), Bytes{});
  const double moved = static_cast<double>(all.count) * static_cast<double>(sizes.size());
  return continued(moved, [&](double part) {
    std::vector<CompiledCall> calls;
    for (std::size_t root = 0; root < sizes.size(); ++root) {
      if (sizes[root].count == 0) continue;
      const NcclDecision whole = broadcasts[root].decide(all);
      const double share = static_cast<double>(sizes[root].count) / static_cast<double>(all.count);
      Candidate candidate = *whole.candidate;
      const auto channels = static_cast<std::uint32_t>(std::lround(share * whole.channels));
      candidate.launch = LaunchSize{std::max(channels, 1U), whole.call.threads};
      calls.push_back(broadcasts[root].plan(part_of(sizes[root], part), candidate));
    }
    return longest_at_once(calls);
  });
}

}  // namespace collsim
