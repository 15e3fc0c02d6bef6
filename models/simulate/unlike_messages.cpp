#include "models/simulate/unlike_messages.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "models/call/prediction.h"
#include "sim/execution/thread_block_cost.h"

namespace collsim {

namespace {

/// More plans at once, and more bytes, would take seconds.
constexpr std::size_t max_sizes = 64;
constexpr Rank max_ranks = 32;
constexpr double max_bytes = 32e9;

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

bool are_few(const MessageSizes& sizes) {
  const std::set<Bytes> unlike(sizes.sizes.begin(), sizes.sizes.end());
  const Bytes all = std::accumulate(sizes.sizes.begin(), sizes.sizes.end(), Bytes{});
  return sizes.ranks <= max_ranks && static_cast<double>(all.count) <= max_bytes &&
         unlike.size() <= max_sizes;
}

Seconds time_of_messages(const CallCompiler& exchange, const MessageSizes& sizes) {
  std::vector<Bytes> sent = sizes.sizes;
  for (Rank rank = 0; rank < sizes.ranks; ++rank) sent[rank * (sizes.ranks + std::size_t{1})] = {};
  const std::set<Bytes> unlike(sent.begin(), sent.end());
  std::vector<CompiledCall> calls;
  calls.reserve(unlike.size());
  for (const Bytes size : unlike) {
    if (size.count == 0) continue;
    calls.push_back(exchange.plan_messages(
        sizes.ranks * size, [&](Rank from, Rank to) { return sizes.of(from, to) == size; }));
  }
  return std::max(time_of_own_copy(exchange, sizes), longest_at_once(calls));
}

Seconds time_of_broadcasts(std::span<const CallCompiler> broadcasts, std::span<const Bytes> sizes) {
  const Bytes all = std::accumulate(sizes.begin(), sizes.end(), Bytes{});
  std::vector<CompiledCall> calls;
  for (std::size_t root = 0; root < sizes.size(); ++root) {
    if (sizes[root].count == 0) continue;
    const NcclDecision whole = broadcasts[root].decide(all);
    const double share = static_cast<double>(sizes[root].count) / static_cast<double>(all.count);
    Candidate candidate = *whole.candidate;
    const auto channels = static_cast<std::uint32_t>(std::lround(share * whole.channels));
    candidate.launch = LaunchSize{std::max(channels, 1U), whole.call.threads};
    calls.push_back(broadcasts[root].plan(sizes[root], candidate));
  }
  return longest_at_once(calls);
}

}  // namespace collsim
