#include "tools/collsim/hang/watchdog_text.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/file_format.h"
#include "sim/base/lines.h"
#include "sim/base/number.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

constexpr std::string_view timed_out = "Watchdog caught collective operation timeout";
constexpr std::string_view snapshot = "Snapshot of ranks' latest states";
constexpr std::string_view counted = " launched up to operation ";            // of NCCL's RAS
constexpr std::string_view not_joined = "Not all ranks joining collective ";  // of fr_trace
constexpr std::int64_t most = 1U << 20U;                                      // ranks
constexpr std::int64_t nanoseconds = 1'000'000;
constexpr std::int64_t default_timeout_ms = 600'000;

/// The number that follows the first of these words that is there.
std::optional<std::int64_t> number_after(std::string_view line,
                                         std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    const auto at = line.find(word);
    if (at != std::string_view::npos) {
      return leading_number<std::int64_t>(line.substr(at + word.size()));
    }
  }
  return std::nullopt;
}

/// "all_reduce" of "ALLREDUCE", "_all_gather_base" of "_ALLGATHER_BASE".
std::string operation_named(std::string_view name) {
  std::string operation = lower_case(name);
  for (const std::string_view run : {"allreduce", "allgather", "alltoall"}) {
    if (const auto at = operation.find(run); at != std::string::npos) operation.insert(at + 3, "_");
  }
  if (const auto at = operation.find("all_toall"); at != std::string::npos) {
    operation.insert(at + 6, "_");
  }
  return operation;
}

class WatchdogReader {
 public:
  void read(std::string_view line) {
    const auto rank = number_after(line, {"[rank", "[Rank ", " Rank "});
    if (rank && *rank >= 0 && *rank < most) read_work(line, *rank);
    read_snapshot(line);
    read_counts(line);
    read_missing(line);
  }

  std::vector<FlightRecord> take(const std::string& file) {
    add_unnamed();
    if (!latest_.empty()) take_snapshot();
    for (auto& [rank, entry] : held_) {
      if (latest_.empty()) add_call(rank, 0, std::move(entry));
    }
    const bool is_one = groups_.size() < 2;
    std::vector<FlightRecord> records;
    for (auto& [rank, record] : records_) {
      record.file = file;
      record.rank = static_cast<std::uint32_t>(rank);
      record.written_ns = 1 + nanoseconds * ran_ms_;
      for (auto& [name, group] : record.groups) {
        if (!is_one) continue;
        group.ranks.resize(static_cast<std::size_t>(records_.rbegin()->first) + 1);
        std::iota(group.ranks.begin(), group.ranks.end(), 0U);
      }
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  FlightRecord& record_in(std::int64_t rank, std::int64_t group) {
    FlightRecord& record = records_[rank];
    const std::string name = std::to_string(group);
    record.groups[name].name = name;
    record.status.try_emplace(group);
    groups_.insert(group);
    return record;
  }

  void add_call(std::int64_t rank, std::int64_t group, FlightEntry entry) {
    entry.group = std::to_string(group);
    entry.group_id = group;
    entry.created_ns = 1;
    entry.record = entry.collective_sequence;  // calls before it are not known
    std::vector<FlightEntry>& entries = record_in(rank, group).entries;
    const bool is_known = std::any_of(entries.begin(), entries.end(), [&](const auto& each) {
      return each.group_id == group && each.collective_sequence == entry.collective_sequence;
    });
    if (!is_known) entries.push_back(std::move(entry));
  }

  // "[PG 1 Rank 0] ... last enqueued NCCL work: 1582, last completed NCCL work: 1579.", or
  // "[PG ID 0 PG GUID 0(default_pg) Rank 0] ... last enqueued work: 315, last completed work: 183"
  void read_work(std::string_view line, std::int64_t rank) {
    const std::int64_t group = number_after(line, {"[PG ID ", "[PG "}).value_or(0);
    const auto enqueued = number_after(line, {"last enqueued work: ", "last enqueued NCCL work: "});
    const auto completed =
        number_after(line, {"last completed work: ", "last completed NCCL work: "});
    if (const auto sequence = number_after(line, {"WorkNCCL(SeqNum="})) {
      hold(line, rank, *sequence);
    }
    if (!enqueued || !completed) return;
    record_in(rank, group).status[group] = {*enqueued, *completed};
    const auto held = held_.find(rank);
    if (held == held_.end()) return;
    add_call(rank, group, std::move(held->second));
    held_.erase(held);
  }

  // "WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=6, NumelOut=6, Timeout(ms)=600000) ran for
  // 600060 milliseconds": its communicator is named by the line after it.
  void hold(std::string_view line, std::int64_t rank, std::int64_t sequence) {
    const auto type = line.find("OpType=");
    if (type == std::string_view::npos) return;
    FlightEntry entry;
    entry.collective_sequence = sequence;
    const std::string_view name = line.substr(type + 7);
    entry.shape.operation = operation_named(name.substr(0, name.find(',')));
    if (const auto in = number_after(line, {"NumelIn="})) entry.shape.inputs = {*in};
    if (const auto out = number_after(line, {"NumelOut="})) entry.shape.outputs = {*out};
    entry.timeout_ms = number_after(line, {"Timeout(ms)="});
    ran_ms_ = std::max(ran_ms_, number_after(line, {"ran for "}).value_or(0));
    held_.insert_or_assign(rank, std::move(entry));
  }

  // "#315 started ranks:", and below it "[0, 1, 2] started ALLREDUCE"
  void read_snapshot(std::string_view line) {
    const bool starts = line.find(" started ranks:") != std::string_view::npos;
    if (starts || line.find(" finished ranks:") != std::string_view::npos) {
      const auto call = number_after(line, {"#"});
      call_ = call ? std::optional(Latest{*call, !starts, {}}) : std::nullopt;
      return;
    }
    const auto close = line.find(call_ && call_->is_finished ? "] finished " : "] started ");
    const auto open = line.rfind('[', close);
    if (!call_ || close == std::string_view::npos || open == std::string_view::npos) return;
    const std::string_view operation = line.substr(line.find(' ', close + 2) + 1);
    call_->operation = operation.substr(0, operation.find_first_of("\\\""));  // of JSON
    std::string_view list = line.substr(open, close - open);
    while (!list.empty()) {
      list.remove_prefix(1);
      const auto rank = parse_number<std::int64_t>(list.substr(0, list.find(',')));
      if (rank && *rank >= 0 && *rank < most) latest_[*rank] = *call_;
      list.remove_prefix(std::min(list.size(), list.find_first_of(", ")));
    }
  }

  // "31 ranks have launched up to operation 6650", and below those that are fewer "Rank 21 -- GPU 5
  // managed by process 1483961 on node ...": of the first communicator that ranks do not agree on.
  void read_counts(std::string_view line) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    if (line.starts_with('#')) is_counting_ = job_ranks_ == 0;
    if (!is_counting_) return;
    if (const auto call = number_after(line, {counted})) {
      const std::int64_t ranks = leading_number<std::int64_t>(line).value_or(0);
      if (ranks > 0 && ranks < most - job_ranks_) job_ranks_ += ranks;
      counts_ = Latest{*call, true, "a collective"};
      furthest_ = std::max(furthest_, *call);
    }
    const auto rank = number_after(line, {"Rank "});
    if (counts_ && rank && *rank >= 0 && *rank < most && line.find(" -- GPU") < line.size()) {
      latest_[*rank] = *counts_;
    }
  }

  // "Not all ranks joining collective 5 at entry 4", and below it "collective: nccl:all_reduce",
  // "missing ranks: {3}" and "expected ranks: {0, 1, 2, 3}"
  void read_missing(std::string_view line) {
    if (const auto call = number_after(line, {not_joined}); call && furthest_ == 0) {
      furthest_ = *call;
    }
    if (furthest_ == 0 || job_ranks_ > 0) return;
    if (const auto at = line.find("collective: nccl:"); at != line.npos && missing_call_.empty()) {
      missing_call_ = line.substr(at + 17);
    }
    for (const std::string_view words : {"missing ranks: {", "expected ranks: {"}) {
      const auto at = line.find(words);
      if (at == line.npos) continue;
      for (const std::string_view each : split_lines(line.substr(at + words.size()), ',')) {
        const auto rank = leading_number<std::int64_t>(
            each.substr(std::min(each.size(), each.find_first_not_of(' '))));
        if (!rank || *rank < 0 || *rank >= most) continue;
        const bool is_missing = words.starts_with('m');
        latest_.try_emplace(*rank,
                            Latest{furthest_ - (is_missing ? 1 : 0), is_missing, missing_call_});
        if (!is_missing) job_ranks_ = std::max(job_ranks_, *rank + 1);
      }
    }
  }

  /// Ranks of a job that RAS counts and does not name are in the furthest call.
  void add_unnamed() {
    for (std::int64_t rank = 0; rank < job_ranks_; ++rank) {
      latest_.try_emplace(rank, Latest{furthest_, false, "a collective"});
    }
    if (furthest_ == 0) return;
    for (auto& [rank, last] : latest_) last.is_finished = last.is_finished && last.call < furthest_;
  }

  /// The call that holds up all others is the first that not all have finished.
  void take_snapshot() {
    records_.clear();
    std::int64_t done = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rank, last] : latest_) {
      done = std::min(done, last.call - (last.is_finished ? 0 : 1));
    }
    ran_ms_ = std::max(ran_ms_, default_timeout_ms);
    for (const auto& [rank, last] : latest_) {
      record_in(rank, 0).status[0] = {last.call, done};
      if (last.call == done) continue;
      FlightEntry entry;
      entry.collective_sequence = done + 1;
      const bool is_it = last.call == done + 1;
      entry.shape.operation = is_it ? operation_named(last.operation) : "a collective";
      add_call(rank, 0, std::move(entry));
    }
  }

  /// The last call of a rank, as the desync report counts them.
  struct Latest {
    std::int64_t call = 0;
    bool is_finished = false;
    std::string operation;
  };

  std::map<std::int64_t, FlightRecord> records_;  // by rank
  std::map<std::int64_t, FlightEntry> held_;      // of lines that name no communicator
  std::map<std::int64_t, Latest> latest_;
  std::set<std::int64_t> groups_;
  std::optional<Latest> call_;
  bool is_counting_ = true;
  std::optional<Latest> counts_;
  std::string missing_call_;
  std::int64_t furthest_ = 0;   // call that RAS or fr_trace names
  std::int64_t job_ranks_ = 0;  // that they count
  std::int64_t ran_ms_ = 0;
};

const FileFormat watchdog_format(
    FileKind::log, "a log of PyTorch's watchdog, which says that a call took too long",
    [](std::string_view text) {
      return has_watchdog_lines(text) ? FormatSign::mark : FormatSign::no;
    });

}  // namespace

bool has_watchdog_lines(std::string_view content) {
  return content.find(timed_out) != std::string_view::npos ||
         content.find(snapshot) != std::string_view::npos ||
         content.find(counted) != std::string_view::npos ||
         content.find(not_joined) != std::string_view::npos;
}

std::vector<FlightRecord> read_watchdog_text(const std::string& file, std::string_view content) {
  WatchdogReader reader;
  for (const std::string_view line : split_lines(content)) reader.read(line);
  return reader.take(file);
}

}  // namespace collsim
