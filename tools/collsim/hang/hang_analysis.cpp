#include "tools/collsim/hang/hang_analysis.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "sim/base/words.h"
#include "tools/collsim/hang/disagreement.h"
#include "tools/collsim/hang/waits.h"

namespace collsim {

namespace {

using Ranks = std::vector<std::uint32_t>;

Ranks sorted(Ranks ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

class HangSearch {
 public:
  HangSearch(const Job& job, const HangOptions& options)
      : job_(job), options_(options), waits_(find_waits(job)) {}

  HangAnalysis search() {
    for (const Disagreement& each : find_disagreements(job_)) add_disagreement(each);
    for (const WaitRoot& root : find_roots(waits_)) add_root(root);
    if (analysis_.findings.empty()) add_slow_calls();
    std::stable_partition(analysis_.findings.begin(), analysis_.findings.end(),
                          [](const HangFinding& each) { return is_hang(each.verdict); });
    if (!analysis_.findings.empty()) analysis_.verdict = analysis_.findings.front().verdict;
    return std::move(analysis_);
  }

 private:
  std::uint32_t rank_of(const Participation& part) const { return job_.records[part.record].rank; }

  Ranks ranks_of(const std::vector<std::size_t>& records) const {
    Ranks ranks;
    for (const std::size_t record : records) ranks.push_back(job_.records[record].rank);
    return sorted(ranks);
  }

  void add_disagreement(const Disagreement& each) {
    const JobCall& call = job_.calls[each.call];
    HangFinding finding{each.verdict, each.suspects, each.call, {}, {}, {}, {}, {}};
    for (const Agreeing& agreeing : each.groups) {
      HangGroup group{{}, each.call, nullptr, Progress::absent};
      for (const std::size_t index : agreeing) {
        const Participation& part = call.participants[index];
        group.ranks.push_back(rank_of(part));
        group.entry = part.entry;
        group.progress = part.progress;
      }
      if (!group.ranks.empty()) finding.groups.push_back(std::move(group));
    }
    finding.waiting = waiting_in(each.call);
    finding.undumped = undumped_of(job_, call);
    analysis_.findings.push_back(std::move(finding));
    disagreeing_.insert(each.call);
  }

  Ranks waiting_in(std::size_t call) const {
    Ranks ranks;
    for (std::size_t i = 0; i < job_.records.size(); ++i) {
      const auto& calls = waits_.calls[i];
      if (std::binary_search(calls.begin(), calls.end(), call)) {
        ranks.push_back(job_.records[i].rank);
      }
    }
    return sorted(ranks);
  }

  void add_root(const WaitRoot& root) {
    if (root.records.size() > 1) return add_cycle(root);
    const std::size_t record = root.records.front();
    if (waits_.calls[record].empty()) return add_cpu_side(root);
    add_stuck_call(root);
  }

  /// What every rank of a call did in it, those alike as one group.
  std::vector<HangGroup> groups_of(std::size_t call) const {
    std::array<HangGroup, 3> groups;
    for (const Participation& part : job_.calls[call].participants) {
      HangGroup& group = groups[static_cast<std::size_t>(part.progress)];
      group.call = call;
      group.progress = part.progress;
      group.ranks.push_back(rank_of(part));
      if (group.entry == nullptr) group.entry = part.entry;
    }
    std::vector<HangGroup> filled;
    for (HangGroup& group : groups) {
      if (!group.ranks.empty()) filled.push_back(std::move(group));
    }
    return filled;
  }

  HangFinding finding_of(HangVerdict verdict, const WaitRoot& root, std::size_t call) const {
    HangFinding finding{verdict, {}, call, groups_of(call), ranks_of(root.waiting), {}, {}, {}};
    finding.undumped = undumped_of(job_, job_.calls[call]);
    judge_wait(root, finding);
    return finding;
  }

  /// How long ranks have waited, and whether that is a hang: a dump is never older than its file.
  void judge_wait(const WaitRoot& root, HangFinding& finding) const {
    bool is_long = false;
    for (const std::size_t record : root.waiting) {
      for (const std::size_t index : waits_.calls[record]) {
        const FlightEntry* const entry = entry_of(index, record);
        if (entry == nullptr) continue;
        const Seconds limit = options_.patience.value_or(timeout_of(*entry));
        const auto waited = wait_of(job_.records[record], *entry);
        is_long = is_long || !waited || waited->value >= limit.value;
        if (waited && (!finding.waited || *finding.waited < *waited)) {
          finding.waited = waited;
          finding.timeout = limit;
        }
      }
    }
    if (!is_long) finding.verdict = HangVerdict::late;
  }

  static std::optional<Seconds> wait_of(const FlightRecord& record, const FlightEntry& entry) {
    const auto end = entry.completed_ns ? entry.completed_ns : record.written_ns;  // or aborted
    if (!end || *end < entry.created_ns) return std::nullopt;
    return between(entry.created_ns, *end);
  }

  void add_cycle(const WaitRoot& root) {
    std::set<std::size_t> calls;
    for (const std::size_t record : root.records) calls.insert(waits_.calls[record].front());
    if (const auto half = half_exchange(calls)) return add_half_exchange(root, *half);
    HangFinding finding = finding_of(HangVerdict::cycle, root, *calls.begin());
    finding.groups.clear();
    for (const std::size_t call : calls) {
      for (HangGroup& group : groups_of(call)) {
        if (group.progress != Progress::pending) continue;
        group.ranks = common(group.ranks, waiting_in(call));
        finding.groups.push_back(std::move(group));
      }
    }
    finding.suspects = minority_of_cycle(calls, root);
    analysis_.findings.push_back(std::move(finding));
  }

  /// The one send or receive of a cycle whose other calls are collectives. Who goes on to a
  /// collective without the other half has left it out, or has it too late.
  std::optional<std::size_t> half_exchange(const std::set<std::size_t>& calls) const {
    std::optional<std::size_t> half;
    for (const std::size_t call : calls) {
      if (!job_.calls[call].is_exchange) continue;
      if (half || calls.size() == 1) return std::nullopt;
      half = call;
    }
    return half;
  }

  void add_half_exchange(const WaitRoot& root, std::size_t call) {
    HangFinding finding = finding_of(HangVerdict::missing_call, root, call);
    for (const HangGroup& group : finding.groups) {
      if (group.progress == Progress::absent) finding.suspects = sorted(group.ranks);
    }
    analysis_.findings.push_back(std::move(finding));
  }

  static Ranks common(const Ranks& a, const Ranks& b) {
    Ranks both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  }

  /// Of two calls, ranks that take part in both decide which comes first: fewer ranks wait in the
  /// one that does not. In longer cycles any rank may be wrong.
  Ranks minority_of_cycle(const std::set<std::size_t>& calls, const WaitRoot& root) const {
    if (calls.size() != 2) return ranks_of(root.records);
    const Ranks first = voters(*calls.begin(), *calls.rbegin());
    const Ranks second = voters(*calls.rbegin(), *calls.begin());
    if (first.empty() || second.empty() || first.size() == second.size()) {
      return ranks_of(root.records);
    }
    return first.size() < second.size() ? first : second;
  }

  /// The ranks that wait in one call and take part in another, too.
  Ranks voters(std::size_t call, std::size_t other) const {
    Ranks ranks;
    for (const Participation& part : job_.calls[other].participants) ranks.push_back(rank_of(part));
    return common(sorted(ranks), waiting_in(call));
  }

  /// The rank has issued all that it waits in, and nobody else keeps it.
  void add_stuck_call(const WaitRoot& root) {
    const std::size_t record = root.records.front();
    std::size_t call = waits_.calls[record].front();
    HangVerdict verdict = HangVerdict::nccl;
    for (const std::size_t each : waits_.calls[record]) {
      const HangVerdict of_call = stuck_verdict(each);
      if (of_call == HangVerdict::nccl || verdict == HangVerdict::gpu) continue;
      verdict = of_call;
      call = each;
    }
    if (verdict == HangVerdict::nccl && disagreeing_.contains(call)) return;
    HangFinding finding = finding_of(verdict, root, call);
    if (verdict == HangVerdict::no_dump) {
      finding.suspects = finding.undumped;
    } else {
      finding.suspects = ranks_of(root.records);
    }
    if (verdict == HangVerdict::gpu && was_late(record, call)) finding.verdict = HangVerdict::late;
    merge(std::move(finding));
  }

  HangVerdict stuck_verdict(std::size_t call) const {
    const JobCall& each = job_.calls[call];
    const bool is_completed =
        std::any_of(each.participants.begin(), each.participants.end(),
                    [](const Participation& part) { return part.progress == Progress::completed; });
    if (is_completed) return HangVerdict::gpu;
    return undumped_of(job_, each).empty() ? HangVerdict::nccl : HangVerdict::no_dump;
  }

  /// Whether others completed a call after the rank's own timeout: it gave up too early.
  bool was_late(std::size_t record, std::size_t call) const {
    std::int64_t created = 0;
    Seconds limit{0};
    std::int64_t completed = std::numeric_limits<std::int64_t>::min();
    for (const Participation& part : job_.calls[call].participants) {
      if (part.entry == nullptr) continue;
      if (part.record == record) {
        created = part.entry->created_ns;
        limit = timeout_of(*part.entry);
      } else if (part.entry->completed_ns) {
        completed = std::max(completed, *part.entry->completed_ns);
      }
    }
    return between(created, completed).value >= limit.value;
  }

  /// Ranks that are stuck at the same call are one finding.
  void merge(HangFinding finding) {
    for (HangFinding& each : analysis_.findings) {
      if (each.verdict != finding.verdict || each.call != finding.call) continue;
      each.suspects.insert(each.suspects.end(), finding.suspects.begin(), finding.suspects.end());
      each.suspects = sorted(each.suspects);
      each.waiting.insert(each.waiting.end(), finding.waiting.begin(), finding.waiting.end());
      each.waiting = sorted(each.waiting);
      return;
    }
    analysis_.findings.push_back(std::move(finding));
  }

  void add_cpu_side(const WaitRoot& root) {
    const std::size_t record = root.records.front();
    const std::size_t call = first_missed(record);
    HangFinding finding = finding_of(HangVerdict::cpu_side, root, call);
    finding.suspects = ranks_of(root.records);
    if (const auto other = strayed(record)) {
      finding.verdict = finding.verdict == HangVerdict::late ? HangVerdict::late
                                                             : HangVerdict::other_communicator;
      finding.suspects = {job_.records[other->record].rank};
      finding.call = other->wanted;
      finding.groups = groups_of(other->wanted);
      for (HangGroup& group : groups_of(other->issued)) {
        if (group.progress == Progress::pending) finding.groups.push_back(std::move(group));
      }
    }
    merge(std::move(finding));
  }

  const Participation* part_of(std::size_t call, std::size_t record) const {
    const std::vector<Participation>& parts = job_.calls[call].participants;
    const auto found = std::lower_bound(
        parts.begin(), parts.end(), record,
        [](const Participation& part, std::size_t wanted) { return part.record < wanted; });
    return found == parts.end() || found->record != record ? nullptr : &*found;
  }

  bool is_absent(std::size_t call, std::size_t record) const {
    const Participation* const part = part_of(call, record);
    return part != nullptr && part->progress == Progress::absent;
  }

  const FlightEntry* entry_of(std::size_t call, std::size_t record) const {
    const Participation* const part = part_of(call, record);
    return part == nullptr ? nullptr : part->entry;
  }

  /// The call, of those that others wait in, that a rank should have issued first. Collectives,
  /// which have numbers, tell more than sends.
  std::size_t first_missed(std::size_t record) const {
    std::size_t missed = 0;
    std::pair earliest(true, std::numeric_limits<std::int64_t>::max());
    for (std::size_t i = 0; i < job_.records.size(); ++i) {
      for (const std::size_t call : waits_.calls[i]) {
        if (!is_absent(call, record)) continue;
        const FlightEntry* const entry = entry_of(call, i);
        if (entry == nullptr) continue;
        const std::pair issued(job_.calls[call].is_exchange, entry->created_ns);
        if (issued >= earliest) continue;
        earliest = issued;
        missed = call;
      }
    }
    return missed;
  }

  /// A rank that issued on one communicator what others wait for on another, from the same line.
  struct Strayed {
    std::size_t record = 0;
    std::size_t issued = 0;
    std::size_t wanted = 0;
  };

  std::optional<Strayed> strayed(std::size_t end) const {
    for (std::size_t i = 0; i < job_.records.size(); ++i) {
      for (const std::size_t issued : waits_.calls[i]) {
        if (!is_absent(issued, end)) continue;
        for (std::size_t k = 0; k < job_.records.size(); ++k) {
          if (k == i) continue;
          for (const std::size_t wanted : waits_.calls[k]) {
            if (is_strayed(i, issued, k, wanted)) return Strayed{i, issued, wanted};
          }
        }
      }
    }
    return std::nullopt;
  }

  bool is_strayed(std::size_t record, std::size_t issued, std::size_t other,
                  std::size_t wanted) const {
    if (!is_absent(wanted, record)) return false;
    if (job_.calls[issued].communicator == job_.calls[wanted].communicator) return false;
    const FlightEntry* const mine = entry_of(issued, record);
    const FlightEntry* const theirs = entry_of(wanted, other);
    return mine != nullptr && theirs != nullptr && mine->frame && mine->frame == theirs->frame &&
           agree(*mine, *theirs);
  }

  /// Calls that took longer than their timeout, but completed: the longest of them.
  void add_slow_calls() {
    std::optional<HangFinding> slowest;
    for (std::size_t i = 0; i < job_.calls.size(); ++i) {
      for (const Participation& part : job_.calls[i].participants) {
        const FlightEntry* const entry = part.entry;
        if (entry == nullptr || !entry->completed_ns || entry->created_ns <= 0) continue;
        const Seconds took = between(entry->created_ns, *entry->completed_ns);
        const Seconds limit = options_.patience.value_or(timeout_of(*entry));
        if (took.value < limit.value) continue;
        if (slowest && took.value <= slowest->waited->value) continue;
        slowest = HangFinding{HangVerdict::late, {}, i, {}, {}, {}, took, limit};
      }
    }
    if (!slowest) return;
    slowest->groups = groups_of(slowest->call);
    slowest->undumped = undumped_of(job_, job_.calls[slowest->call]);
    slowest->suspects = last_to_issue(slowest->call);
    analysis_.findings.push_back(std::move(*slowest));
  }

  /// The rank that issued a call last. If dumps are missing, nobody knows.
  Ranks last_to_issue(std::size_t call) const {
    const JobCall& each = job_.calls[call];
    if (const Ranks& missing = undumped_of(job_, each); !missing.empty()) return missing;
    const Participation* last = nullptr;
    for (const Participation& part : each.participants) {
      if (part.entry == nullptr) continue;
      if (last == nullptr || part.entry->created_ns > last->entry->created_ns) last = &part;
    }
    return last == nullptr ? Ranks{} : Ranks{rank_of(*last)};
  }

  const Job& job_;
  const HangOptions& options_;
  Waits waits_;
  std::set<std::size_t> disagreeing_;
  HangAnalysis analysis_;
};

}  // namespace

std::string_view to_string(HangVerdict verdict) {
  return word_for(verdict, {{HangVerdict::no_hang, "no hang"},
                            {HangVerdict::late, "late, not stuck"},
                            {HangVerdict::missing_call, "missing call"},
                            {HangVerdict::other_operation, "other operation"},
                            {HangVerdict::other_order, "other order"},
                            {HangVerdict::other_type, "other type"},
                            {HangVerdict::other_size, "other size"},
                            {HangVerdict::other_communicator, "other communicator"},
                            {HangVerdict::cycle, "cycle of waits"},
                            {HangVerdict::cpu_side, "stuck on the CPU side"},
                            {HangVerdict::gpu, "stuck on the GPU"},
                            {HangVerdict::nccl, "stuck in NCCL"},
                            {HangVerdict::no_dump, "dump missing"}});
}

bool is_hang(HangVerdict verdict) {
  return verdict != HangVerdict::no_hang && verdict != HangVerdict::late;
}

HangAnalysis analyse_hang(const Job& job, const HangOptions& options) {
  return HangSearch(job, options).search();
}

}  // namespace collsim
