#include "tools/collsim/hang/job_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/base/input_error.h"
#include "sim/base/number.h"

namespace collsim {

namespace {

using GroupIds = std::map<std::string, std::int64_t>;

constexpr std::string_view coalesced = "coalesced";

/// An entry of a rank in one communicator.
struct MemberEntry {
  const FlightEntry* entry = nullptr;
  const FlightEntry* end = nullptr;  ///< of its run: says whether it has completed
  std::size_t run = 0;               ///< place in the record of the first entry of its run
  std::size_t part = 0;              ///< of its run, among collectives
};

/// What one rank has done in one communicator.
struct MemberCalls {
  std::size_t record = 0;
  std::vector<MemberEntry> collectives;
  std::vector<MemberEntry> exchanges;
  bool has_whole_history = false;
};

bool shares_run(const FlightEntry& a, const FlightEntry& b) {
  return a.collective_sequence == b.collective_sequence &&
         a.exchange_sequence == b.exchange_sequence;
}

/// A rank's own numbers of its groups, as its entries say them.
GroupIds ids_of_entries(const FlightRecord& record) {
  GroupIds ids;
  for (const FlightEntry& entry : record.entries) {
    if (entry.group_id >= 0) ids[entry.group] = entry.group_id;
  }
  return ids;
}

/// A rank numbers its groups in the order in which they were made, and so does PyTorch name them.
GroupIds group_ids(const FlightRecord& record) {
  GroupIds known = ids_of_entries(record);
  if (record.status.size() != record.groups.size()) return known;
  std::map<std::int64_t, std::string> by_number;
  for (const auto& [name, group] : record.groups) {
    const auto number = parse_number<std::int64_t>(name);
    if (!number) return known;
    by_number[*number] = name;
  }
  if (by_number.size() != record.status.size()) return known;
  GroupIds ids;
  auto status = record.status.begin();
  for (const auto& [number, name] : by_number) ids[name] = (status++)->first;
  const bool agrees = std::all_of(known.begin(), known.end(), [&](const auto& each) {
    const auto found = ids.find(each.first);
    return found != ids.end() && found->second == each.second;
  });
  return agrees ? ids : known;
}

/// When a call was issued, and when it ended, where it has.
class CallTimes {
 public:
  void add(const MemberEntry& each) {
    const FlightEntry& entry = *each.entry;
    first_ns_ = std::min(first_ns_, entry.created_ns);
    last_ns_ = std::max(last_ns_, entry.created_ns);
    timeout_ = std::min(timeout_, timeout_of(entry));
    if (!each.end->is_completed) return;
    has_ended_ = true;
    is_known_ = is_known_ && each.end->completed_ns && !each.end->is_retired && first_ns_ > 0;
    ended_ns_ = std::min(ended_ns_, each.end->completed_ns.value_or(0));
  }

  /// The watchdog's abort leaves a call as completed. It shows where nobody completes it within its
  /// timeout, and that is not because of a rank that came late, or that never came.
  bool show_abort(bool all_issued) const {
    if (!has_ended_ || !is_known_ || between(first_ns_, ended_ns_) < timeout_) return false;
    return !all_issued || between(last_ns_, ended_ns_) > between(first_ns_, last_ns_);
  }

 private:
  bool has_ended_ = false;
  bool is_known_ = true;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t ended_ns_ = std::numeric_limits<std::int64_t>::max();
  Seconds timeout_{std::numeric_limits<double>::infinity()};
};

class JobAssembly {
 public:
  JobAssembly(std::vector<FlightRecord> records, const std::vector<std::uint32_t>& unread) {
    job_.records = std::move(records);
    job_.undumped = unread;
    std::sort(job_.records.begin(), job_.records.end(),
              [](const FlightRecord& a, const FlightRecord& b) { return a.rank < b.rank; });
    refuse_doubles();
  }

  Job assemble() {
    for (const FlightRecord& record : job_.records) dumped_.insert(record.rank);
    find_communicators();
    for (std::size_t i = 0; i < job_.communicators.size(); ++i) {
      add_states(i);
      add_collectives(i);
      add_exchanges(i);
    }
    return std::move(job_);
  }

 private:
  void refuse_doubles() const {
    for (std::size_t i = 1; i < job_.records.size(); ++i) {
      const FlightRecord& record = job_.records[i];
      if (record.rank != job_.records[i - 1].rank) continue;
      throw InputError(
          SourcePosition{record.file, 0, 0},
          fmt::format("a second dump of rank {}, beside {}", record.rank, job_.records[i - 1].file),
          "one dump of each rank, all of one job");
    }
  }

  std::size_t communicator_of(const FlightGroup& group) {
    const auto key = std::pair(group.name, group.ranks);
    const auto [found, is_new] = by_key_.emplace(key, job_.communicators.size());
    if (is_new) {
      job_.communicators.push_back({group.name, group.description, group.ranks, {}, {}});
      members_.emplace_back();
    }
    return found->second;
  }

  void find_communicators() {
    std::set<std::uint32_t> undumped = unread_ranks();
    for (std::size_t i = 0; i < job_.records.size(); ++i) join_communicators(i);
    for (JobCommunicator& communicator : job_.communicators) {
      if (communicator.ranks.empty()) {
        for (const std::size_t member : communicator.members) {
          communicator.ranks.push_back(job_.records[member].rank);
        }
      }
      for (const std::uint32_t rank : communicator.ranks) {
        if (!dumped_.contains(rank)) communicator.undumped.push_back(rank);
      }
      std::sort(communicator.undumped.begin(), communicator.undumped.end());
      undumped.insert(communicator.undumped.begin(), communicator.undumped.end());
    }
    job_.undumped.assign(undumped.begin(), undumped.end());
  }

  /// Ranks whose dumps could not be read. Where dumps say which ranks there are, they say it all.
  std::set<std::uint32_t> unread_ranks() const {
    std::set<std::uint32_t> ranks(job_.undumped.begin(), job_.undumped.end());
    for (const FlightRecord& record : job_.records) {
      ranks.erase(record.rank);
      const bool says_ranks =
          std::any_of(record.groups.begin(), record.groups.end(),
                      [](const auto& each) { return !each.second.ranks.empty(); });
      if (says_ranks) return {};
    }
    return ranks;
  }

  /// Makes a rank a member of its communicators, and sorts its entries among them.
  void join_communicators(std::size_t index) {
    const FlightRecord& record = job_.records[index];
    std::map<std::string, std::size_t> places;
    const auto join = [&](const FlightGroup& group) {
      const std::size_t communicator = communicator_of(group);
      job_.communicators[communicator].members.push_back(index);
      members_[communicator].push_back({index, {}, {}, has_whole_history(record)});
      places[group.name] = communicator;
    };
    for (const auto& [name, group] : record.groups) join(group);
    std::map<std::size_t, std::vector<MemberEntry>> sorted;
    for (std::size_t i = 0; i < record.entries.size(); ++i) {
      const FlightEntry& entry = record.entries[i];
      if (!places.contains(entry.group)) join({entry.group, entry.group_description, {}});
      sorted[places[entry.group]].push_back({&entry, &entry, i, 0});
    }
    for (auto& [communicator, entries] : sorted) {
      join_runs(entries, members_[communicator].back());
    }
  }

  static bool has_whole_history(const FlightRecord& record) {
    if (record.entries.empty()) return record.status.empty();
    return record.entries.front().record == 0 &&
           record.entries.back().record + 1 == static_cast<std::int64_t>(record.entries.size());
  }

  /// Calls that were issued as one end in an entry of their own, which alone says whether they have
  /// completed.
  static void join_runs(std::vector<MemberEntry>& entries, MemberCalls& member) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > begin && !shares_run(*entries[begin].entry, *entries[i].entry)) begin = i;
      MemberEntry& each = entries[i];
      const bool ends_run = i > begin && each.entry->shape.operation == coalesced;
      each.part = i - begin;
      each.run = entries[begin].run;
      if (!ends_run) continue;
      for (std::size_t k = begin; k < i; ++k) entries[k].end = each.entry;
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const MemberEntry& each = entries[i];
      if (each.part > 0 && each.entry->shape.operation == coalesced) continue;
      (each.entry->sender ? member.exchanges : member.collectives).push_back(each);
    }
  }

  bool has_exchanges(std::size_t communicator) const {
    const auto is_exchange = [](const MemberEntry& each) {
      return each.entry->is_exchange || each.entry->exchange_sequence > 0;
    };
    const std::vector<MemberCalls>& members = members_[communicator];
    return std::any_of(members.begin(), members.end(), [&](const MemberCalls& member) {
      return !member.exchanges.empty() ||
             std::any_of(member.collectives.begin(), member.collectives.end(), is_exchange);
    });
  }

  void add_states(std::size_t communicator) {
    // The status of a communicator with both counts collectives and exchanges as one.
    const bool counts_collectives = !has_exchanges(communicator);
    std::vector<MemberState> states;
    for (const MemberCalls& member : members_[communicator]) {
      MemberState state{};
      for (const MemberEntry& each : member.exchanges) {
        state.issued = std::max(state.issued, each.entry->collective_sequence);
      }
      for (const MemberEntry& each : member.collectives) {
        const std::int64_t sequence = each.entry->collective_sequence;
        state.issued = std::max(state.issued, sequence);
        if (each.end->is_completed) state.completed = std::max(state.completed, sequence);
      }
      if (counts_collectives) add_status(communicator, job_.records[member.record], state);
      states.push_back(state);
    }
    job_.states.push_back(std::move(states));
  }

  void add_status(std::size_t communicator, const FlightRecord& record, MemberState& state) {
    if (ids_.size() <= record_index(record)) ids_.resize(job_.records.size());
    std::optional<GroupIds>& ids = ids_[record_index(record)];
    if (!ids) ids = group_ids(record);
    const auto id = ids->find(job_.communicators[communicator].name);
    if (id == ids->end()) return;
    const auto status = record.status.find(id->second);
    if (status == record.status.end()) return;
    state.issued = std::max(state.issued, status->second.enqueued);
    state.completed = std::max(state.completed, status->second.completed);
  }

  std::size_t record_index(const FlightRecord& record) const {
    return static_cast<std::size_t>(&record - job_.records.data());
  }

  void add_collectives(std::size_t communicator) {
    using Key = std::pair<std::int64_t, std::size_t>;
    std::map<Key, std::map<std::size_t, MemberEntry>> calls;  // by place among the members
    const std::vector<MemberCalls>& members = members_[communicator];
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (const MemberEntry& each : members[i].collectives) {
        calls[{each.entry->collective_sequence, each.part}][i] = each;
      }
    }
    bool is_aborted = false;
    for (const auto& [key, entries] : calls) {
      is_aborted = is_aborted || was_aborted(communicator, key.first, entries);
      if (is_aborted) set_back(job_.states[communicator], key.first - 1);
      JobCall call{communicator, false, key.first, key.second, 0, 0, {}, {}};
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto found = entries.find(i);
        call.participants.push_back(
            found == entries.end()
                ? without_entry(members[i], job_.states[communicator][i], key.first)
                : with_entry(members[i].record, found->second, is_aborted,
                             job_.states[communicator][i].completed >= key.first));
      }
      job_.calls.push_back(std::move(call));
    }
  }

  /// Whether the watchdog aborted a collective. If dumps of it are missing, nobody knows.
  bool was_aborted(std::size_t communicator, std::int64_t sequence,
                   const std::map<std::size_t, MemberEntry>& entries) const {
    if (!job_.communicators[communicator].undumped.empty()) return false;
    const std::vector<MemberState>& states = job_.states[communicator];
    CallTimes times;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto found = entries.find(i);
      if (found != entries.end()) {
        times.add(found->second);
      } else if (sequence <= states[i].issued) {
        return false;  // its dump has forgotten the call
      }
    }
    return times.show_abort(entries.size() == states.size());
  }

  /// What an aborted call of a communicator leaves as completed.
  static void set_back(std::vector<MemberState>& states, std::int64_t last) {
    for (MemberState& state : states) state.completed = std::min(state.completed, last);
  }

  /// Collectives of a communicator complete in order, and none does after one that was aborted.
  static Participation with_entry(std::size_t record, const MemberEntry& each, bool is_aborted,
                                  bool later_has_completed) {
    const bool is_completed = (each.end->is_completed && !is_aborted) || later_has_completed;
    return {record, is_completed ? Progress::completed : Progress::pending, each.entry, each.run};
  }

  /// A call that a dump does not hold was issued and forgotten, or was never issued.
  static Participation without_entry(const MemberCalls& member, const MemberState& state,
                                     std::int64_t sequence) {
    const bool is_gap = member.has_whole_history && !member.collectives.empty();
    const bool was_issued = sequence <= state.issued && !is_gap;
    return {member.record, was_issued ? Progress::completed : Progress::absent, nullptr, 0};
  }

  void add_exchanges(std::size_t communicator) {
    using Pair = std::pair<std::uint32_t, std::uint32_t>;
    struct Sides {
      std::vector<MemberEntry> sends;
      std::vector<MemberEntry> receives;
    };
    std::map<Pair, Sides> pairs;
    std::map<std::uint32_t, const MemberCalls*> by_rank;
    const JobCommunicator& each_communicator = job_.communicators[communicator];
    const auto job_rank = [&](std::uint32_t place) {
      const auto& ranks = each_communicator.ranks;
      return place < ranks.size() ? ranks[place] : place;
    };
    for (const MemberCalls& member : members_[communicator]) {
      by_rank[job_.records[member.record].rank] = &member;
      for (const MemberEntry& each : member.exchanges) {
        Sides& sides = pairs[{job_rank(*each.entry->sender), job_rank(*each.entry->receiver)}];
        const bool sends = each.entry->shape.operation == "send";
        (sends ? sides.sends : sides.receives).push_back(each);
      }
    }
    for (auto& [pair, sides] : pairs) {
      const auto sender = by_rank.find(pair.first);
      const auto receiver = by_rank.find(pair.second);
      const MemberCalls* const from = sender == by_rank.end() ? nullptr : sender->second;
      const MemberCalls* const to = receiver == by_rank.end() ? nullptr : receiver->second;
      add_pair({communicator, true, 0, 0, pair.first, pair.second, {}, {}}, from, sides.sends, to,
               sides.receives);
    }
  }

  /// The k-th send of a pair meets the k-th receive. If one of the dumps has forgotten some, those
  /// that have not completed are counted, from the oldest on.
  void add_pair(const JobCall& like, const MemberCalls* from, std::vector<MemberEntry>& sends,
                const MemberCalls* to, std::vector<MemberEntry>& receives) {
    const bool all_known =
        from != nullptr && to != nullptr && from->has_whole_history && to->has_whole_history;
    if (!all_known) {
      const auto is_done = [](const MemberEntry& each) { return each.end->is_completed; };
      std::erase_if(sends, is_done);
      std::erase_if(receives, is_done);
    }
    bool is_aborted = false;
    for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
      JobCall call = like;
      call.sequence = static_cast<std::int64_t>(i) + 1;
      CallTimes times;
      if (i < sends.size()) times.add(sends[i]);
      if (i < receives.size()) times.add(receives[i]);
      const bool have_both = i < std::min(sends.size(), receives.size());
      is_aborted = is_aborted || (all_known && times.show_abort(have_both));
      add_side(call, from, sends, is_aborted, like.sender);
      add_side(call, to, receives, is_aborted, like.receiver);
      std::sort(call.participants.begin(), call.participants.end(),
                [](const Participation& a, const Participation& b) { return a.record < b.record; });
      job_.calls.push_back(std::move(call));
    }
  }

  void add_side(JobCall& call, const MemberCalls* member, const std::vector<MemberEntry>& entries,
                bool is_aborted, std::uint32_t rank) const {
    const auto index = static_cast<std::size_t>(call.sequence - 1);
    if (member == nullptr && !dumped_.contains(rank)) {
      call.undumped.push_back(rank);
    } else if (member == nullptr) {  // it does not know the communicator
      call.participants.push_back({record_of(rank), Progress::absent, nullptr, 0});
    } else if (index < entries.size()) {
      call.participants.push_back(with_entry(member->record, entries[index], is_aborted, false));
    } else {
      call.participants.push_back({member->record, Progress::absent, nullptr, 0});
    }
  }

  std::size_t record_of(std::uint32_t rank) const {
    const auto found = std::lower_bound(
        job_.records.begin(), job_.records.end(), rank,
        [](const FlightRecord& record, std::uint32_t wanted) { return record.rank < wanted; });
    return static_cast<std::size_t>(found - job_.records.begin());
  }

  Job job_;
  std::set<std::uint32_t> dumped_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::size_t> by_key_;
  std::vector<std::vector<MemberCalls>> members_;  ///< by communicator
  std::vector<std::optional<GroupIds>> ids_;
};

}  // namespace

const std::vector<std::uint32_t>& undumped_of(const Job& job, const JobCall& call) {
  return call.is_exchange ? call.undumped : job.communicators[call.communicator].undumped;
}

Job assemble_job(std::vector<FlightRecord> records, const std::vector<std::uint32_t>& unread) {
  return JobAssembly(std::move(records), unread).assemble();
}

}  // namespace collsim
