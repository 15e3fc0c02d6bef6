#include "tools/collsim/hang/flight_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "sim/base/clean_text.h"
#include "sim/base/number.h"
#include "tools/collsim/hang/dump_formats.h"

namespace collsim {

namespace {

using Index = DumpValues::Index;
using GroupRanks = std::vector<std::uint32_t>;

constexpr std::string_view accepted_dump =
    "a dump of PyTorch's Flight Recorder (TORCH_NCCL_DUMP_ON_TIMEOUT=1, _dump_nccl_trace), or "
    "a log with lines of its watchdog";
/// A rank beyond this is a mistake.
constexpr std::uint32_t max_ranks = 1U << 20U;
constexpr double nanosecond = 1e-9;   // seconds
constexpr double millisecond = 1e-3;  // seconds
/// PyTorch's default for NCCL (torch.distributed.init_process_group, 2.x): 10 minutes.
constexpr Seconds default_timeout{600};
/// A tensor of more elements is a mistake.
constexpr std::int64_t max_elements = std::int64_t{1} << 50U;
/// A pickle may mean one value any number of times, and each time it is read or copied again.
/// 20,000 calls of long names are 40 MiB.
constexpr std::size_t max_copied = std::size_t{256} << 20U;  // bytes
/// A job keeps calls, groups and their ranks about so many times over (job_calls.cpp).
constexpr std::size_t times_kept = 4;

std::optional<std::uint32_t> rank_number(std::string_view digits) {
  const auto rank = parse_number<std::uint32_t>(digits);
  return rank < max_ranks ? rank : std::nullopt;
}

/// Values of a dump by the names that they have there, with the checks that each needs. Counts what
/// is copied.
class DumpFields {
 public:
  explicit DumpFields(const DumpValues& values) : values_(values) {}

  Index optional(Index object, std::string_view key) const {
    const Index found = values_.find(object, key);
    if (found == DumpValues::no_value || values_.kind(found) == DumpKind::none) {
      return DumpValues::no_value;
    }
    return found;
  }

  Index required(Index object, std::string_view key) const {
    const Index found = optional(object, key);
    if (found == DumpValues::no_value) {
      values_.fail(object, fmt::format("no '{}'", key), std::string(accepted_dump));
    }
    return found;
  }

  /// Counts what is about to be read or copied.
  void count_copied(Index value, std::size_t bytes) {
    if (bytes <= max_copied - copied_) {
      copied_ += bytes;
      return;
    }
    values_.fail(value,
                 fmt::format("what is said more than once is over {} MiB", max_copied >> 20U),
                 "a dump of fewer calls, groups and ranks");
  }
  std::size_t copied() const { return copied_; }

  std::string_view viewed_text(Index value, std::string_view key) {
    if (values_.kind(value) != DumpKind::text) fail(value, key, "a text");
    count_copied(value, sizeof(std::string) + values_.text(value).size());
    return values_.text(value);
  }

  std::string text(Index value, std::string_view key) {
    return clean_text(viewed_text(value, key));
  }

  std::int64_t integer(Index value, std::string_view key) {
    if (values_.kind(value) == DumpKind::integer) return values_.integer(value);
    if (values_.kind(value) != DumpKind::text) fail(value, key, "a whole number");
    const auto number = parse_number<std::int64_t>(viewed_text(value, key));
    if (!number) fail(value, key, "a whole number");
    return *number;
  }

  std::vector<Index> parts(Index value, DumpKind kind, std::string_view key) {
    if (values_.kind(value) != kind) {
      fail(value, key, kind == DumpKind::list ? "a list" : "a dictionary");
    }
    std::vector<Index> parts = values_.parts(value);
    count_copied(value, sizeof(Index) * parts.size());
    return parts;
  }

  std::optional<std::int64_t> optional_integer(Index object, std::string_view key) {
    const Index found = optional(object, key);
    if (found == DumpValues::no_value) return std::nullopt;
    return integer(found, key);
  }

  [[noreturn]] void fail(Index value, std::string_view key, std::string_view accepted) const {
    values_.fail(value, fmt::format("'{}' is {}", key, shown(value)), std::string(accepted));
  }

 private:
  /// A wrong value, short enough for a message.
  std::string shown(Index value) const {
    constexpr std::size_t longest = 40;
    switch (values_.kind(value)) {
      case DumpKind::none:
        return "nothing";
      case DumpKind::boolean:
        return values_.integer(value) != 0 ? "true" : "false";
      case DumpKind::integer:
        return std::to_string(values_.integer(value));
      case DumpKind::real:
        return fmt::format("{:g}", values_.real(value));
      case DumpKind::text:
        return fmt::format("'{}'", clean_text(values_.text(value).substr(0, longest)));
      case DumpKind::list:
        return "a list";
      case DumpKind::dictionary:
        return "a dictionary";
    }
    return {};
  }

  const DumpValues& values_;
  std::size_t copied_ = 0;
};

/// What was made of values of a dump, so that one that is meant many times is read once.
template <typename Made>
class Memo {
 public:
  /// What `read` makes of a value. Each time it counts as copied.
  template <typename Read>
  const Made& of(Index value, DumpFields& fields, const Read& read) {
    const auto found = made_.find(value);
    if (found != made_.end()) {
      fields.count_copied(value, found->second.bytes);
      return found->second.made;
    }
    const std::size_t before = fields.copied();
    Made made = read();
    return made_.emplace(value, Kept{std::move(made), fields.copied() - before}).first->second.made;
  }

 private:
  struct Kept {
    Made made;
    std::size_t bytes = 0;
  };
  std::unordered_map<Index, Kept> made_;
};

class FlightReader {
 public:
  FlightReader(const std::string& file, const DumpValues& values)
      : values_(values), fields_(values), record_{} {
    record_.file = file;
  }

  FlightRecord read() {
    const Index root = values_.root();
    if (values_.kind(root) != DumpKind::dictionary) {
      values_.fail(root, "not a dictionary", std::string(accepted_dump));
    }
    read_version(fields_.required(root, "version"));
    const Index groups = fields_.optional(root, "pg_config");
    if (groups != DumpValues::no_value) read_groups(groups);
    const Index status = fields_.optional(root, "pg_status");
    if (status != DumpValues::no_value) read_status(status);
    const Index entries = fields_.optional(root, "entries");
    if (entries != DumpValues::no_value) {
      for (const Index entry : fields_.parts(entries, DumpKind::list, "entries")) add_entry(entry);
    }
    return std::move(record_);
  }

 private:
  void read_version(Index value) {
    record_.version = fields_.text(value, "version");
    if (!record_.version.starts_with("2.")) fields_.fail(value, "version", "2.0 to 2.10");
  }

  void read_groups(Index value) {
    const std::vector<Index> pairs = fields_.parts(value, DumpKind::dictionary, "pg_config");
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const std::string name = fields_.text(pairs[i], "pg_config");
      const Index config = pairs[i + 1];
      FlightGroup group{name, {}, {}};
      const Index description = fields_.optional(config, "desc");
      if (description != DumpValues::no_value) {
        group.description = fields_.text(description, "desc");
      }
      const Index ranks = fields_.optional(config, "ranks");
      if (ranks != DumpValues::no_value) {
        group.ranks = ranks_.of(ranks, fields_, [&] { return read_ranks(ranks); });
      }
      fields_.count_copied(config, times_kept * sizeof(FlightGroup));
      record_.groups[name] = std::move(group);
    }
  }

  /// "[0, 1]", or a list.
  GroupRanks read_ranks(Index value) {
    GroupRanks ranks;
    if (values_.kind(value) == DumpKind::text) {
      std::string_view text = fields_.viewed_text(value, "ranks");
      while (!text.empty()) {
        const auto begin = text.find_first_not_of("[], ");
        if (begin == std::string_view::npos) break;
        const auto end = std::min(text.find_first_of("[], ", begin), text.size());
        const auto rank = rank_number(text.substr(begin, end - begin));
        if (!rank) fields_.fail(value, "ranks", "as in '[0, 1]'");
        ranks.push_back(*rank);
        text.remove_prefix(end);
      }
    } else {
      for (const Index each : fields_.parts(value, DumpKind::list, "ranks")) {
        const std::int64_t rank = fields_.integer(each, "ranks");
        if (rank < 0 || rank >= max_ranks) fields_.fail(each, "ranks", "a rank");
        ranks.push_back(static_cast<std::uint32_t>(rank));
      }
    }
    fields_.count_copied(value, times_kept * sizeof(std::uint32_t) * ranks.size());
    if (std::set<std::uint32_t>(ranks.begin(), ranks.end()).size() != ranks.size()) {
      fields_.fail(value, "ranks", "every rank once");
    }
    return ranks;
  }

  void read_status(Index value) {
    const std::vector<Index> pairs = fields_.parts(value, DumpKind::dictionary, "pg_status");
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const Index status = pairs[i + 1];
      fields_.count_copied(status, times_kept * sizeof(FlightStatus));
      record_.status[fields_.integer(pairs[i], "pg_status")] = {
          fields_.optional_integer(status, "last_enqueued_collective").value_or(0),
          fields_.optional_integer(status, "last_completed_collective").value_or(0)};
    }
  }

  void add_entry(Index value) {
    const std::size_t next = record_.entries.size();
    const std::size_t place = entries_.of(value, fields_, [&] {
      record_.entries.push_back(read_entry(value));
      return next;
    });
    if (place == next) return;
    FlightEntry again = record_.entries[place];
    record_.entries.push_back(std::move(again));
  }

  FlightEntry read_entry(Index value) {
    fields_.count_copied(value, times_kept * sizeof(FlightEntry));
    FlightEntry entry;
    read_group_of(value, entry);
    entry.record = fields_.optional_integer(value, "record_id").value_or(0);
    entry.collective_sequence =
        fields_.integer(fields_.required(value, "collective_seq_id"), "collective_seq_id");
    entry.exchange_sequence = fields_.optional_integer(value, "p2p_seq_id").value_or(0);
    read_operation(fields_.required(value, "profiling_name"), entry);
    entry.is_exchange = read_flag(value, "is_p2p").value_or(entry.sender.has_value());
    entry.shape.inputs = elements_of(value, "input_sizes");
    entry.shape.outputs = elements_of(value, "output_sizes");
    entry.shape.input_types = types_of(value, "input_dtypes");
    entry.shape.output_types = types_of(value, "output_dtypes");
    read_progress(value, entry);
    const Index frames = fields_.optional(value, "frames");
    if (frames != DumpValues::no_value) {
      entry.frame = frames_.of(frames, fields_, [&] { return read_frame(frames); });
    }
    return entry;
  }

  std::optional<bool> read_flag(Index object, std::string_view key) const {
    const Index found = fields_.optional(object, key);
    if (found == DumpValues::no_value) return std::nullopt;
    if (values_.kind(found) != DumpKind::boolean) fields_.fail(found, key, "a boolean");
    return values_.integer(found) != 0;
  }

  /// ("35", "TENSOR_MODEL_PARALLEL_GROUP")
  void read_group_of(Index value, FlightEntry& entry) {
    const Index group = fields_.required(value, "process_group");
    const std::vector<Index> parts = fields_.parts(group, DumpKind::list, "process_group");
    if (parts.empty()) fields_.fail(group, "process_group", "a name and a description");
    entry.group = fields_.text(parts.front(), "process_group");
    if (parts.size() > 1) entry.group_description = fields_.text(parts[1], "process_group");
    entry.group_id = fields_.optional_integer(value, "pg_id").value_or(-1);
  }

  /// "nccl:all_reduce", "nccl:send 0->3", "nccl:recv 3<-0"
  void read_operation(Index value, FlightEntry& entry) {
    const std::string name = fields_.text(value, "profiling_name");
    const auto colon = name.find(':');
    entry.shape.operation = colon == std::string::npos ? name : name.substr(colon + 1);
    const std::string_view operation = entry.shape.operation;
    const bool sends = operation.starts_with("send ");
    if (!sends && !operation.starts_with("recv ")) return;
    const auto arrow = operation.find(sends ? "->" : "<-");
    if (arrow == std::string_view::npos) return;
    const auto self = rank_number(operation.substr(5, arrow - 5));
    const auto peer = rank_number(operation.substr(arrow + 2));
    if (!self || !peer) fields_.fail(value, "profiling_name", "as in 'nccl:send 0->1'");
    entry.sender = sends ? self : peer;
    entry.receiver = sends ? peer : self;
    entry.shape.operation = sends ? "send" : "recv";
  }

  /// How many elements each tensor has, by its shape.
  std::vector<std::int64_t> elements_of(Index object, std::string_view key) {
    const Index value = fields_.optional(object, key);
    if (value == DumpValues::no_value) return {};
    return elements_.of(value, fields_, [&] {
      std::vector<std::int64_t> elements;
      for (const Index shape : fields_.parts(value, DumpKind::list, key)) {
        elements.push_back(counts_.of(shape, fields_, [&] { return read_count(shape, key); }));
      }
      return elements;
    });
  }

  std::int64_t read_count(Index shape, std::string_view key) {
    fields_.count_copied(shape, sizeof(std::int64_t));
    std::int64_t count = 1;
    for (const Index size : fields_.parts(shape, DumpKind::list, key)) {
      const std::int64_t extent = fields_.integer(size, key);
      if (extent < 0 || (extent > 0 && count > max_elements / extent)) {
        fields_.fail(size, key, "sizes of a tensor");
      }
      count *= extent;
    }
    return count;
  }

  std::vector<std::string> types_of(Index object, std::string_view key) {
    const Index value = fields_.optional(object, key);
    if (value == DumpValues::no_value) return {};
    return types_.of(value, fields_, [&] {
      std::vector<std::string> types;
      for (const Index type : fields_.parts(value, DumpKind::list, key)) {
        types.push_back(fields_.text(type, key));
      }
      return types;
    });
  }

  void read_progress(Index value, FlightEntry& entry) {
    const Index state = fields_.required(value, "state");
    const std::string name = fields_.text(state, "state");
    if (name != "scheduled" && name != "started" && name != "completed") {
      fields_.fail(state, "state", "scheduled, started or completed");
    }
    entry.is_completed = name == "completed";
    entry.created_ns = fields_.optional_integer(value, "time_created_ns").value_or(0);
    entry.completed_ns = fields_.optional_integer(value, "time_discovered_completed_ns");
    entry.is_retired = read_flag(value, "retired").value_or(false);
    entry.timeout_ms = fields_.optional_integer(value, "timeout_ms");
  }

  /// The innermost line that is not in PyTorch's own files.
  std::optional<FlightFrame> read_frame(Index frames) {
    for (const Index frame : fields_.parts(frames, DumpKind::list, "frames")) {
      const std::string_view file = text_or_empty(frame, "filename");
      if (file.empty() || is_torch(file)) continue;
      return FlightFrame{clean_text(text_or_empty(frame, "name")), clean_text(file),
                         fields_.optional_integer(frame, "line").value_or(0)};
    }
    return std::nullopt;
  }

  std::string_view text_or_empty(Index object, std::string_view key) {
    const Index found = fields_.optional(object, key);
    if (found == DumpValues::no_value) return {};
    return fields_.viewed_text(found, key);
  }

  static bool is_torch(std::string_view file) {
    return file.starts_with("torch/") || file.find("/torch/") != std::string_view::npos ||
           file.starts_with("<frozen") || file == "??";
  }

  const DumpValues& values_;
  DumpFields fields_;
  FlightRecord record_;
  Memo<std::size_t> entries_;  ///< places in the record
  Memo<GroupRanks> ranks_;
  Memo<std::int64_t> counts_;
  Memo<std::vector<std::int64_t>> elements_;
  Memo<std::vector<std::string>> types_;
  Memo<std::optional<FlightFrame>> frames_;
};

/// Ranks that are in all groups of a dump. Its own is one of them.
GroupRanks common_ranks(const FlightRecord& record) {
  std::optional<GroupRanks> common;
  for (const auto& [name, group] : record.groups) {
    if (group.ranks.empty()) continue;
    GroupRanks sorted = group.ranks;
    std::sort(sorted.begin(), sorted.end());
    if (!common) {
      common = sorted;
      continue;
    }
    GroupRanks both;
    std::set_intersection(common->begin(), common->end(), sorted.begin(), sorted.end(),
                          std::back_inserter(both));
    common = both;
  }
  return common.value_or(GroupRanks{});
}

}  // namespace

std::optional<std::uint32_t> rank_in_name(const std::string& file) {
  constexpr std::string_view digits = "0123456789";
  std::string name = std::filesystem::path(file).filename().string();
  for (const std::string_view ending : {".json", ".pickle", ".pkl"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  const auto last = name.find_last_of(digits);
  if (last == std::string::npos) return std::nullopt;
  const auto before = name.find_last_not_of(digits, last);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  return rank_number(std::string_view(name).substr(first, last - first + 1));
}

namespace {

std::uint32_t rank_of_dump(const FlightRecord& record) {
  const GroupRanks common = common_ranks(record);
  if (common.size() == 1) return common.front();
  const auto named = rank_in_name(record.file);
  if (!named) {
    throw InputError(SourcePosition{record.file, 0, 0},
                     "neither its name nor its groups say its rank",
                     "a name that ends in the rank, as in nccl_trace_rank_3");
  }
  if (!common.empty() && !std::binary_search(common.begin(), common.end(), *named)) {
    throw InputError(SourcePosition{record.file, 0, 0},
                     fmt::format("its name says rank {}, which is not in its groups", *named),
                     fmt::format("one of the {} ranks from {} to {}", common.size(), common.front(),
                                 common.back()));
  }
  return *named;
}

}  // namespace

Seconds between(std::int64_t begin_ns, std::int64_t end_ns) {
  return Seconds{(static_cast<double>(end_ns) - static_cast<double>(begin_ns)) * nanosecond};
}

Seconds timeout_of(const FlightEntry& entry) {
  if (!entry.timeout_ms || *entry.timeout_ms <= 0) return default_timeout;
  return Seconds{static_cast<double>(*entry.timeout_ms) * millisecond};
}

FlightRecord read_flight_record(const std::string& file, std::string_view content) {
  const DumpFormat* const format = DumpFormat::find(content);
  if (format == nullptr) {
    throw InputError(SourcePosition{file, 0, 0},
                     content.empty() ? "empty" : "neither a pickle nor JSON",
                     std::string(accepted_dump));
  }
  const DumpValues values = format->read(file, content);
  FlightRecord record = FlightReader(file, values).read();
  record.rank = rank_of_dump(record);
  return record;
}

}  // namespace collsim
