#include "tools/collsim/train/step_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "sim/base/clean_text.h"
#include "sim/base/input_error.h"
#include "sim/base/lines.h"
#include "sim/base/number.h"

namespace collsim {

namespace {

constexpr double milli = 1e-3;

/// Where the number stands that belongs to words of a line.
enum class Side : std::uint8_t { after, before };

/// Words of a line that says how fast a job is, as a writer of logs has them.
struct SpeedWords {
  std::string_view software;
  std::string_view words;
  StepQuantity quantity = StepQuantity::seconds;
  double unit = 1;
  Side side = Side::after;
};

/// The first row with a number in some line counts for all of a log: times of steps before rates,
/// and progress bars last, which programs of all kinds print.
constexpr std::array speed_words{
    SpeedWords{"Megatron", "elapsed time per iteration (ms)", StepQuantity::seconds, milli},
    SpeedWords{"Megatron", "elapsed time per iteration (s)"},
    SpeedWords{"Megatron Bridge", "Step Time"},
    SpeedWords{"NeMo", "train_step_timing in s"},
    SpeedWords{"DeepSpeed", "iter time (s)"},
    SpeedWords{"DeepSpeed", "CurrSamplesPerSec", StepQuantity::samples_per_second},
    SpeedWords{"DeepSpeed", "RunningAvgSamplesPerSec", StepQuantity::samples_per_second},
    SpeedWords{"torchtitan", " tps:", StepQuantity::tokens_per_gpu},
    SpeedWords{"torchtitan", " wps:", StepQuantity::tokens_per_gpu},
    SpeedWords{"torchtune", "tokens_per_second_per_gpu", StepQuantity::tokens_per_gpu},
    SpeedWords{"NeMo AutoModel", "/gpu)", StepQuantity::tokens_per_gpu, 1, Side::before},
    SpeedWords{"OLMo", "throughput/device/tokens_per_second", StepQuantity::tokens_per_gpu},
    SpeedWords{"composer", "throughput/device/tokens_per_sec", StepQuantity::tokens_per_gpu},
    SpeedWords{"composer", "throughput/batches_per_sec", StepQuantity::steps_per_second},
    SpeedWords{"MaxText", ", seconds"},
    SpeedWords{"nanoGPT", "ms, mfu", StepQuantity::seconds, milli, Side::before},
    SpeedWords{"a progress bar", "s/it", StepQuantity::seconds, 1, Side::before},
    SpeedWords{"a progress bar", "it/s", StepQuantity::steps_per_second, 1, Side::before},
    SpeedWords{"Hugging Face", "train_steps_per_second", StepQuantity::steps_per_second},
};

/// Words of a log that say an option of `collsim train`; those without an option count ranks.
struct LayoutWords {
  std::string_view words;
  std::string_view option;
};
constexpr std::array layout_words{
    LayoutWords{"tensor_model_parallel_size", "tp"},
    LayoutWords{"pipeline_model_parallel_size", "pp"},
    LayoutWords{"context_parallel_size", "cp"},
    LayoutWords{"expert_model_parallel_size", "ep"},
    LayoutWords{"tensor-model-parallel size", "tp"},
    LayoutWords{"pipeline-model-parallel size", "pp"},
    LayoutWords{"seq_length", "seq"},
    LayoutWords{"sequence length", "seq"},
    LayoutWords{"micro_batch_size", "micro-batch"},
    LayoutWords{"train_micro_batch_size_per_gpu", "micro-batch"},
    LayoutWords{"local batch size", "micro-batch"},
    LayoutWords{"Instantaneous batch size per device", "micro-batch"},
    LayoutWords{"global_batch_size", "global-batch"},
    LayoutWords{"global batch size", "global-batch"},
    LayoutWords{"train_batch_size", "global-batch"},
    LayoutWords{"Total train batch size (w. parallel, distributed & accumulation)", "global-batch"},
    LayoutWords{"zero_optimization_stage", "zero"},
    LayoutWords{"recompute_granularity", "recompute"},
    LayoutWords{"world_size", ""},
    LayoutWords{"using world size", ""},
};

constexpr std::string_view between = " \t:=.'\"|";

bool is_word_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
}

/// What follows words in a line up to the next blank; nothing where they are a part of others.
std::optional<std::string_view> value_after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  if (at > 0 && is_word_letter(words.front()) && is_word_letter(line[at - 1])) return std::nullopt;
  const std::string_view rest = line.substr(at + words.size());
  const std::size_t begin = rest.find_first_not_of(between);
  if (begin == std::string_view::npos || (begin == 0 && is_word_letter(words.back()))) {
    return std::nullopt;
  }
  const std::string_view value = rest.substr(begin);
  return value.substr(0, value.find_first_of(" \t\r,|}", 0));
}

/// A number in whose whole part commas may stand: "1,786".
std::optional<double> number_at(std::string_view text) {
  constexpr std::size_t group = 3;
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool divides = text[i] == ',' && i > 0 && i + group < text.size() &&
                         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                     text.begin() + static_cast<std::ptrdiff_t>(i + 1 + group),
                                     [](char each) { return each >= '0' && each <= '9'; });
    if (!divides) digits += text[i];
  }
  return leading_number<double>(digits);
}

/// The number that belongs to the words of a line.
std::optional<double> number_of(std::string_view line, const SpeedWords& row) {
  const std::size_t at = line.find(row.words);
  if (at == std::string_view::npos) return std::nullopt;
  if (row.side == Side::before) {
    const std::size_t before = line.substr(0, at).find_last_not_of("0123456789.,");
    return number_at(line.substr(before + 1, at - before - 1));
  }
  const std::string_view rest = line.substr(at + row.words.size());
  const std::size_t begin = rest.find_first_not_of(between);
  if (begin == std::string_view::npos) return std::nullopt;
  return number_at(rest.substr(begin));
}

void set_layout(StepLog& log, std::string_view option, std::string_view value) {
  const auto found = std::find_if(log.layout.begin(), log.layout.end(),
                                  [&](const auto& each) { return each.first == option; });
  if (found == log.layout.end()) {
    log.layout.emplace_back(option, value);
  } else {
    found->second = value;
  }
}

/// torchtitan's "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 8]".
void read_mesh(std::string_view line, StepLog& log) {
  const std::size_t at = line.find("device mesh with [");
  if (at == std::string_view::npos) return;
  const std::string_view rest = line.substr(line.find('[', at) + 1);
  const std::size_t middle = rest.find("], [");
  if (middle == std::string_view::npos) return;
  const std::vector<Word> names = split_fields(rest.substr(0, middle), ',');
  const std::string_view numbers = rest.substr(middle + 4);
  const std::vector<Word> sizes = split_fields(numbers.substr(0, numbers.find(']')), ',');
  log.ranks = 1;
  for (std::size_t i = 0; i < std::min(names.size(), sizes.size()); ++i) {
    log.ranks *= parse_number<std::uint16_t>(sizes[i].text).value_or(1);
    const std::string_view name = trimmed(names[i].text, " '\"");
    if (name == "tp" || name == "pp" || name == "cp") set_layout(log, name, sizes[i].text);
  }
}

void read_layout(std::string_view line, StepLog& log) {
  read_mesh(line, log);
  for (const LayoutWords& row : layout_words) {
    const auto value = value_after(line, row.words);
    if (!value) continue;
    if (row.option == "recompute") {
      if (*value == "full" || *value == "selective") set_layout(log, row.option, *value);
      continue;
    }
    const auto number = leading_number<std::uint32_t>(*value);
    if (!number || *number < 1) continue;
    if (row.option.empty()) {
      log.ranks = *number;
    } else {
      set_layout(log, row.option, fmt::format("{}", *number));
    }
  }
}

std::vector<double> values_of(const std::vector<std::string_view>& lines, const SpeedWords& row) {
  std::vector<double> values;
  for (const std::string_view line : lines) {
    const auto number = number_of(line, row);
    if (number && *number > 0) values.push_back(row.unit * *number);
  }
  return values;
}

/// What a writer of logs does unless told otherwise: torchtitan shards by FSDP2.
void add_habits(StepLog& log) {
  if (log.software == "torchtitan") {
    set_layout(log, "software", "torchtitan");
    set_layout(log, "zero", "3");
  }
  if (log.software == "Megatron") set_layout(log, "software", "megatron");
  if (log.software.starts_with("NeMo")) set_layout(log, "software", "nemo");
}

FormatSign sign_of(std::string_view text) {
  const auto has = [&](const SpeedWords& row) {
    return row.software != "a progress bar" && text.find(row.words) != std::string_view::npos;
  };
  return std::any_of(speed_words.begin(), speed_words.end(), has) ? FormatSign::form
                                                                  : FormatSign::no;
}

const StepLogFormat step_log_format("iteration lines of a job of training", sign_of, read_step_log);

}  // namespace

StepLog read_step_log(const TextFile& text) {
  const std::string plain = without_terminal_sequences(text.content);
  // A progress bar goes back to the begin of its line.
  std::vector<std::string_view> lines;
  for (const std::string_view line : split_lines(plain)) {
    const auto parts = split_lines(line, '\r');
    lines.insert(lines.end(), parts.begin(), parts.end());
  }
  StepLog log;
  for (const SpeedWords& row : speed_words) {
    log.values = values_of(lines, row);
    if (log.values.empty()) continue;
    log.software = row.software;
    log.quantity = row.quantity;
    break;
  }
  if (log.values.empty()) {
    refuse_other_kind(text.name, text.content, FileKind::steps, "times of steps");
    throw InputError(SourcePosition{text.name}, "no line says how long a step takes",
                     "iteration lines of Megatron, NeMo, DeepSpeed, torchtitan, Hugging Face or "
                     "the like; or a time, such as 4.2s");
  }
  add_habits(log);
  for (const std::string_view line : lines) read_layout(line, log);
  return log;
}

std::vector<Seconds> step_times(const StepLog& log, const TrainingSetup& setup) {
  const auto batch = static_cast<double>(setup.global_batch);
  const double tokens_of_gpu =
      batch * static_cast<double>(setup.tokens_sequence()) / static_cast<double>(setup.ranks());
  std::vector<Seconds> times;
  for (std::size_t i = log.values.size() > 1 ? 1 : 0; i < log.values.size(); ++i) {
    const double value = log.values[i];
    switch (log.quantity) {
      case StepQuantity::seconds:
        times.emplace_back(value);
        break;
      case StepQuantity::steps_per_second:
        times.emplace_back(1 / value);
        break;
      case StepQuantity::samples_per_second:
        times.emplace_back(batch / value);
        break;
      case StepQuantity::tokens_per_gpu:
        times.emplace_back(tokens_of_gpu / value);
        break;
    }
  }
  return times;
}

}  // namespace collsim
