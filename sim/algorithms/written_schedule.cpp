#include "sim/algorithms/written_schedule.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <utility>

#include "sim/algorithms/msccl_xml.h"
#include "sim/base/file_status.h"

namespace collsim {

namespace {

/// A ring of 768 ranks has 1.2 million.
constexpr std::size_t max_transfers = 1'200'000;
/// Chunks of all messages together.
constexpr std::size_t max_moved_chunks = 20'000'000;
/// Turns of all loops together: beyond, a file waits for ever on nothing.
constexpr std::size_t max_turns = 10'000'000;
constexpr std::size_t max_steps = 200'000;
constexpr std::int64_t max_chunks = 1 << 20;

std::int64_t value_of(const PlacedExpression& written, const std::vector<std::int64_t>& values) {
  try {
    return written.expression.value(values);
  } catch (const ExpressionError& error) {
    throw InputError(written.place, error.what(), error.accepted());
  }
}

/// A value that must be from 0 to `end` - 1.
std::uint32_t index_of(const PlacedExpression& written, const std::vector<std::int64_t>& values,
                       const char* what, std::uint32_t end) {
  const std::int64_t value = value_of(written, values);
  if (value < 0 || value >= std::int64_t{end}) {
    throw InputError(written.place, fmt::format("{} {} of {}", what, value, end),
                     fmt::format("0 to {}", end - 1));
  }
  return static_cast<std::uint32_t>(value);
}

std::vector<std::int64_t> first_values(const ScheduleRules& rules, Rank ranks, Rank per_node,
                                       Rank root) {
  std::vector<std::int64_t> values(rules.names);
  values[0] = ranks;
  values[1] = per_node;
  values[2] = root;
  return values;
}

/// Runs the rules of a file.
class RuleRunner {
 public:
  RuleRunner(const ScheduleRules& rules, TransferList& list, std::vector<std::int64_t> values)
      : list_(list), values_(std::move(values)) {
    for (const ScheduleRule& rule : rules.steps) run_loop(rule);
  }

 private:
  void count_turn(const ScheduleRule& rule) {
    const bool few = transfers_ <= max_transfers && moved_chunks_ <= max_moved_chunks;
    if (++turns_ <= max_turns && few) return;
    throw InputError(
        rule.place,
        fmt::format("more than {} messages or {} turns of loops", max_transfers, max_turns),
        "fewer ranks or shorter loops");
  }

  void run_loop(const ScheduleRule& rule) {
    if (!rule.loop) return run(rule);
    const std::int64_t first = value_of(rule.loop->first, values_);
    const std::int64_t last = value_of(rule.loop->last, values_);
    const std::int64_t by = rule.loop->by ? value_of(*rule.loop->by, values_) : 1;
    if (by == 0) throw InputError(rule.loop->by->place, "a loop by 0", "another number");
    for (std::int64_t at = first; by > 0 ? at <= last : at >= last; at += by) {
      values_[rule.loop->name] = at;
      run(rule);
    }
  }

  void run(const ScheduleRule& rule) {
    count_turn(rule);
    for (const auto& [name, expression] : rule.lets) values_[name] = value_of(expression, values_);
    if (rule.condition && value_of(*rule.condition, values_) == 0) return;
    const std::uint32_t lane_before = lane_;
    const std::string phase_before = phase_;
    constexpr std::uint32_t lanes = 64;
    if (rule.lane) lane_ = index_of(*rule.lane, values_, "lane", lanes);
    if (rule.phase) phase_ = *rule.phase;
    if (rule.is_step) add_step(rule);
    for (const TransferRule& each : rule.transfers) add(each);
    for (const ScheduleRule& part : rule.parts) run_loop(part);
    lane_ = lane_before;
    phase_ = phase_before;
  }

  void add_step(const ScheduleRule& rule) {
    if (list_.steps.size() == max_steps) {
      throw InputError(rule.place, fmt::format("more than {} steps", max_steps), "fewer");
    }
    list_.steps.push_back({phase_, {}});
  }

  void add(const TransferRule& rule) {
    WrittenTransfer transfer;
    transfer.from = index_of(rule.from, values_, "rank", list_.ranks);
    transfer.to = index_of(rule.to, values_, "rank", list_.ranks);
    transfer.chunks.first = index_of(rule.first_chunk, values_, "chunk", list_.chunks);
    if (rule.last_chunk) {
      const std::uint32_t last = index_of(*rule.last_chunk, values_, "chunk", list_.chunks);
      if (last < transfer.chunks.first) {
        throw InputError(rule.last_chunk->place,
                         fmt::format("chunks {}..{}", transfer.chunks.first, last),
                         "the first before the last");
      }
      transfer.chunks.count = last - transfer.chunks.first + 1;
    }
    transfer.reduce = rule.reduce;
    transfer.lane = lane_;
    transfer.place = rule.from.place;
    list_.steps.back().transfers.push_back(std::move(transfer));
    ++transfers_;
    moved_chunks_ += list_.steps.back().transfers.back().chunks.count;
  }

  TransferList& list_;
  std::vector<std::int64_t> values_;
  std::uint32_t lane_ = 0;
  std::string phase_;
  std::size_t turns_ = 0;
  std::size_t transfers_ = 0;
  std::size_t moved_chunks_ = 0;
};

std::string words_of(const RankLimits& limits) {
  if (limits.min == limits.max) return fmt::format("{} ranks", limits.min);
  if (limits.powers_of_two) return "a power of two of ranks";
  return fmt::format("{} to {} ranks", limits.min, limits.max);
}

bool allows(const RankLimits& limits, Rank ranks) {
  return ranks >= limits.min && ranks <= limits.max &&
         (!limits.powers_of_two || std::has_single_bit(ranks));
}

RankLimits limits_of(const WrittenSchedule& schedule) {
  if (const auto* const list = std::get_if<TransferList>(&schedule.content)) {
    return {list->ranks, list->ranks, false};
  }
  return std::get<ScheduleRules>(schedule.content).limits;
}

WrittenSchedule read_either(const TextFile& text) {
  const std::size_t first = text.content.find_first_not_of(" \t\r\n");
  const bool is_xml = first != std::string::npos && text.content[first] == '<';
  if (!is_xml && !text.name.ends_with(".xml")) return read_schedule_yaml(text);
  TransferList list = read_msccl_xml(text);
  const Collective collective = list.collective;
  return {text.name, collective, std::move(list)};
}

}  // namespace

bool names_schedule_file(std::string_view name) {
  constexpr std::array<std::string_view, 3> endings{".yaml", ".yml", ".xml"};
  for (const std::string_view ending : endings) {
    if (name.ends_with(ending)) return true;
  }
  // A pipe, as in <(cat ring.yaml), has no such name.
  return name.find('/') != std::string_view::npos && is_readable_kind(name);
}

std::shared_ptr<const WrittenSchedule> read_schedule_file(const std::string& name) {
  // What a command asks of an algorithm, it asks many times.
  static std::mutex mutex;
  static std::map<std::string, std::pair<std::string, std::shared_ptr<const WrittenSchedule>>>
      known;
  TextFile text = read_text_file(name, "a schedule file (collsim: schedule/1) or MSCCL's XML");
  const std::lock_guard lock(mutex);
  auto& [content, schedule] = known[name];
  if (!schedule || content != text.content) {
    schedule = std::make_shared<const WrittenSchedule>(read_either(text));
    content = std::move(text.content);
  }
  return schedule;
}

std::optional<std::string> why_not_for(const WrittenSchedule& schedule, Rank ranks) {
  const RankLimits limits = limits_of(schedule);
  if (allows(limits, ranks)) return std::nullopt;
  return fmt::format("{} on {} ranks; {}", schedule.file, ranks, words_of(limits));
}

std::optional<Rank> only_ranks(const WrittenSchedule& schedule) {
  const RankLimits limits = limits_of(schedule);
  return limits.min == limits.max ? std::optional(limits.min) : std::nullopt;
}

std::uint32_t chunks_of(const WrittenSchedule& schedule, Rank ranks, Rank per_node, Rank root) {
  if (const auto* const list = std::get_if<TransferList>(&schedule.content)) return list->chunks;
  const auto& rules = std::get<ScheduleRules>(schedule.content);
  if (!rules.chunks) return std::max(blocks(schedule.collective, ranks), ranks);
  const std::int64_t chunks = value_of(*rules.chunks, first_values(rules, ranks, per_node, root));
  const std::uint32_t of = blocks(schedule.collective, ranks);
  if (chunks < 1 || chunks > max_chunks || chunks % of != 0) {
    throw InputError(
        rules.chunks->place,
        fmt::format("{} chunks for {} on {} ranks", chunks, to_string(schedule.collective), ranks),
        of == 1 ? fmt::format("1 to {}", max_chunks)
                : fmt::format("a multiple of its {} blocks", of));
  }
  return static_cast<std::uint32_t>(chunks);
}

TransferList transfers_of(const WrittenSchedule& schedule, Rank ranks, Rank per_node, Rank root) {
  if (const auto* const list = std::get_if<TransferList>(&schedule.content)) {
    TransferList copy = *list;
    copy.root = root;
    return copy;
  }
  const auto& rules = std::get<ScheduleRules>(schedule.content);
  TransferList list{
      schedule.collective, ranks, root, chunks_of(schedule, ranks, per_node, root), {}};
  const RuleRunner runner(rules, list, first_values(rules, ranks, per_node, root));
  require_valid(list);
  return list;
}

}  // namespace collsim
