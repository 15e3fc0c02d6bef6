#include "sim/algorithms/schedule_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

namespace collsim {

namespace {

std::uint32_t chunks_of_block(const TransferList& list) {
  return std::max<std::uint32_t>(1, list.chunks / blocks(list.collective, list.ranks));
}

/// How often every rank has one contribution to one chunk.
using Counts = std::vector<std::uint32_t>;

/// Doubling in every step would leave 32 bits; more than a few are wrong whatever their number.
std::uint32_t sum_of(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t enough = 1U << 30;
  return std::min(a + b, enough);
}

/// What one message did to one contribution at its receiver.
struct Passage {
  std::uint32_t step = 0;
  const WrittenTransfer* transfer = nullptr;
  std::uint32_t had = 0;
  std::uint32_t came = 0;
  std::uint32_t has = 0;
};

/// The way of one contribution to one chunk through a schedule.
class ContributionTrack {
 public:
  ContributionTrack(const TransferList& list, std::uint32_t chunk, Rank origin)
      : chunk_(chunk), counts_(list.ranks) {
    for (Rank rank = 0; rank < list.ranks; ++rank) {
      const Holding held =
          held_before(list.collective, list.ranks, list.root, rank, chunk / chunks_of_block(list));
      if (held.kind == Holding::Kind::one && held.origin == origin) counts_[rank] = 1;
    }
    for (std::size_t s = 0; s < list.steps.size(); ++s) {
      play(list.steps[s], static_cast<std::uint32_t>(s + 1));
    }
  }

  const Counts& counts() const { return counts_; }
  const std::vector<Passage>& passages() const { return passages_; }

 private:
  bool has_chunk(const WrittenTransfer& transfer) const {
    return transfer.chunks.first <= chunk_ &&
           chunk_ - transfer.chunks.first < transfer.chunks.count;
  }
  void play(const WrittenStep& step, std::uint32_t number) {
    const std::size_t first = passages_.size();
    for (const WrittenTransfer& each : step.transfers) {
      if (has_chunk(each)) passages_.push_back({number, &each, 0, counts_[each.from], 0});
    }
    for (std::size_t i = first; i < passages_.size(); ++i) {
      Passage& passage = passages_[i];
      std::uint32_t& count = counts_[passage.transfer->to];
      passage.had = count;
      count = passage.transfer->reduce ? sum_of(count, passage.came) : passage.came;
      passage.has = count;
    }
  }

  std::uint32_t chunk_;
  Counts counts_;
  std::vector<Passage> passages_;
};

void set_place(ScheduleFault& fault, const Passage& passage) {
  fault.step = passage.step;
  fault.transfer = *passage.transfer;
}

std::string message_words(const ScheduleFault& fault) {
  return fmt::format("step {}, {} -> {}", fault.step, fault.transfer->from, fault.transfer->to);
}

std::string line_words(const ScheduleFault& fault) {
  if (!fault.transfer || fault.transfer->place.line == 0) return {};
  return fmt::format(" ({})", to_string(fault.transfer->place));
}

/// The message that first made two of one.
const Passage* find_doubling(const ContributionTrack& track) {
  for (const Passage& each : track.passages()) {
    if (each.transfer->reduce && each.had >= 1 && each.came >= 1) return &each;
  }
  return nullptr;
}

/// A copy that left a rank without the contribution that it had: at that rank if there is one, else
/// the last.
const Passage* find_overwriting(const ContributionTrack& track, Rank rank) {
  const Passage* found = nullptr;
  for (const Passage& each : track.passages()) {
    if (each.had == 0 || each.has != 0) continue;
    const bool better =
        found == nullptr || each.transfer->to == rank || found->transfer->to != rank;
    if (better) found = &each;
  }
  return found;
}

const Passage* last_to(const ContributionTrack& track, Rank rank) {
  const Passage* found = nullptr;
  for (const Passage& each : track.passages()) {
    if (each.transfer->to == rank) found = &each;
  }
  return found;
}

void explain_missing(const ContributionTrack& track, ScheduleFault& fault) {
  const std::string lacks = fmt::format("rank {} lacks rank {}'s contribution to chunk {}",
                                        fault.rank, fault.origin, fault.chunk);
  if (const Passage* const copy = find_overwriting(track, fault.rank)) {
    fault.kind = ScheduleFault::Kind::overwritten;
    set_place(fault, *copy);
    fault.text = fmt::format("{}: {}, copies over it at rank {}{}", lacks, message_words(fault),
                             fault.transfer->to, line_words(fault));
  } else if (const Passage* const last = last_to(track, fault.rank)) {
    fault.kind = ScheduleFault::Kind::not_in_message;
    set_place(fault, *last);
    fault.text = fmt::format("{}: the last message of it, {}, comes without{}", lacks,
                             message_words(fault), line_words(fault));
  } else {
    fault.kind = ScheduleFault::Kind::never_sent;
    fault.text = fmt::format("{}: no message brings that chunk to rank {}", lacks, fault.rank);
  }
}

void explain_surplus(const ContributionTrack& track, ScheduleFault& fault) {
  const Passage* const doubling = find_doubling(track);
  if (fault.count > 1 && doubling != nullptr) {
    fault.kind = ScheduleFault::Kind::doubled;
    set_place(fault, *doubling);
    fault.text = fmt::format(
        "rank {} has rank {}'s contribution to chunk {} {} times: {}, adds it to a sum that has "
        "it{}",
        fault.rank, fault.origin, fault.chunk, fault.count, message_words(fault),
        line_words(fault));
    return;
  }
  fault.kind = ScheduleFault::Kind::foreign;
  if (const Passage* const last = last_to(track, fault.rank)) set_place(fault, *last);
  fault.text = fmt::format(
      "rank {} has rank {}'s data in chunk {}, which it must not have: {}{}", fault.rank,
      fault.origin, fault.chunk,
      fault.transfer ? message_words(fault) + ", brings it" : "it never gets other data",
      line_words(fault));
}

/// Where the count of a contribution is not what is due at a rank.
std::optional<ScheduleFault> fault_of(const TransferList& list, std::uint32_t chunk, Rank origin) {
  const ContributionTrack track(list, chunk, origin);
  for (Rank rank = 0; rank < list.ranks; ++rank) {
    const Holding holding =
        held_after(list.collective, list.ranks, list.root, rank, chunk / chunks_of_block(list));
    if (holding.kind == Holding::Kind::anything) continue;
    const bool wanted = holding.kind == Holding::Kind::all || holding.origin == origin;
    const std::uint32_t due = wanted ? 1 : 0;
    const std::uint32_t count = track.counts()[rank];
    if (count == due) continue;
    ScheduleFault fault;
    fault.rank = rank;
    fault.chunk = chunk;
    fault.origin = origin;
    fault.count = count;
    fault.due = due;
    if (count < due) {
      explain_missing(track, fault);
    } else {
      explain_surplus(track, fault);
    }
    return fault;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ScheduleFault> find_fault(const TransferList& list) {
  for (std::uint32_t chunk = 0; chunk < list.chunks; ++chunk) {
    for (Rank origin = 0; origin < list.ranks; ++origin) {
      if (auto fault = fault_of(list, chunk, origin)) return fault;
    }
  }
  return std::nullopt;
}

std::optional<ScheduleFault> find_fault(const TransferList& written, const Plan& plan) {
  auto fault = find_fault(written);
  if (!fault) return std::nullopt;
  std::map<std::tuple<Rank, Rank, std::uint32_t, bool>, std::deque<SourcePosition>> places;
  for (const WrittenStep& step : written.steps) {
    for (const WrittenTransfer& each : step.transfers) {
      places[{each.from, each.to, each.chunks.first, each.reduce}].push_back(each.place);
    }
  }
  TransferList shown = transfers_of(plan);
  for (WrittenStep& step : shown.steps) {
    for (WrittenTransfer& each : step.transfers) {
      auto& own = places[{each.from, each.to, each.chunks.first, each.reduce}];
      if (own.empty()) continue;
      each.place = own.front();
      own.pop_front();
    }
  }
  // A message that waits while its chunk changes would be seen otherwise.
  auto as_shown = find_fault(shown);
  return as_shown ? as_shown : fault;
}

}  // namespace collsim
