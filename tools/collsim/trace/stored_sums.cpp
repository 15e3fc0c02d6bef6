#include "tools/collsim/trace/stored_sums.h"

#include <algorithm>
#include <array>
#include <map>

namespace collsim {

namespace {

Contributions everybody(Rank ranks) {
  constexpr Rank bits = 64;
  return {ranks == bits ? ~std::uint64_t{0} : (std::uint64_t{1} << ranks) - 1};
}

Contributions contributions_of(const Holding& holding, Rank ranks) {
  switch (holding.kind) {
    case Holding::Kind::one:
      return {std::uint64_t{1} << holding.origin};
    case Holding::Kind::all:
      return everybody(ranks);
    default:
      return {};
  }
}

/// Chunks of a collective's blocks follow each other, as many for each.
std::uint32_t block_of(const Plan& plan, const Schedule& schedule, std::uint32_t chunk) {
  const std::uint64_t all = blocks(plan.collective, plan.ranks());
  return static_cast<std::uint32_t>(chunk * all / schedule.chunks());
}

/// Follows what is in buffers and messages, slice by slice in the order in which they begin.
class Replay {
 public:
  explicit Replay(const CallTrace& trace) : trace_(trace) {
    for (std::size_t i = 0; i < trace.messages.size(); ++i) {
      sent_by_[trace.messages[i].begun].push_back(i);
      received_by_[trace.messages[i].received].push_back(i);
      last_piece_[trace.messages[i].begun] = trace.messages[i].sent;
      last_piece_[trace.messages[i].received] = trace.messages[i].taken;
    }
    carried_.resize(trace.messages.size());
  }

  std::vector<StoredSum> run() {
    for (RecordId id = 0; id < trace_.timeline.records.size(); ++id) {
      // Records that begin a slice; every slice sends or receives.
      if (last_piece_.contains(id)) run_slice(id);
    }
    return std::move(stored_);
  }

 private:
  /// Data of its own: what one channel, loop and slice have of a chunk at a participant.
  using Place = std::array<std::uint32_t, 5>;

  void run_slice(RecordId id) {
    const TimelineRecord& record = trace_.timeline.records[id];
    const Primitive primitive = primitive_of(trace_, record);
    std::vector<Contributions> sums(primitive.chunk_count);
    for (const std::size_t message : received_by_[id]) {
      const std::vector<Contributions>& came = carried_[message];
      for (std::size_t i = 0; i < std::min(came.size(), sums.size()); ++i) {
        sums[i].bits |= came[i].bits;
      }
    }
    for (std::uint32_t i = 0; i < primitive.chunk_count; ++i) {
      const std::uint32_t chunk = primitive.first_chunk + i;
      if (reads_own(primitive.kind)) sums[i].bits |= own(record, chunk).bits;
      if (!stores(primitive.kind)) continue;
      own(record, chunk) = sums[i];
      stored_.push_back({last_piece_[id], chunk, sums[i]});
    }
    for (const std::size_t message : sent_by_[id]) carried_[message] = sums;
  }

  Contributions& own(const TimelineRecord& record, std::uint32_t chunk) {
    const Place place{record.channel, record.rank, record.loop, record.slice, chunk};
    const auto found = own_.find(place);
    if (found != own_.end()) return found->second;
    const Plan& plan = trace_.call.plan();
    const Schedule& schedule = plan.schedule(record.channel);
    const bool has_data = !schedule.is_agent(record.rank);
    return own_[place] =
               has_data ? sum_before(plan, schedule, record.rank, chunk) : Contributions{};
  }

  const CallTrace& trace_;
  std::map<RecordId, std::vector<std::size_t>> sent_by_;      // messages, by the first piece
  std::map<RecordId, std::vector<std::size_t>> received_by_;  // likewise
  std::map<RecordId, RecordId> last_piece_;                   // by the first
  std::vector<std::vector<Contributions>> carried_;           // by message: of each chunk
  std::map<Place, Contributions> own_;
  std::vector<StoredSum> stored_;
};

}  // namespace

std::vector<StoredSum> stored_sums(const CallTrace& trace) {
  if (trace.call.plan().ranks() > max_replayed_ranks) return {};
  return Replay(trace).run();
}

Contributions sum_before(const Plan& plan, const Schedule& schedule, Rank rank,
                         std::uint32_t chunk) {
  const Holding holding =
      held_before(plan.collective, plan.ranks(), plan.root, rank, block_of(plan, schedule, chunk));
  return contributions_of(holding, plan.ranks());
}

Contributions sum_after(const Plan& plan, const Schedule& schedule, Rank rank,
                        std::uint32_t chunk) {
  const Holding holding =
      held_after(plan.collective, plan.ranks(), plan.root, rank, block_of(plan, schedule, chunk));
  return contributions_of(holding, plan.ranks());
}

}  // namespace collsim
