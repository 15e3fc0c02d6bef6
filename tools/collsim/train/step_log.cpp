#include "tools/collsim/train/step_log.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "sim/base/clean_text.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_format.h"
#include "sim/base/input_error.h"
#include "sim/base/lines.h"
#include "sim/base/number.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

const std::map<std::string, StepQuantity, std::less<>> quantities{
    {"seconds", StepQuantity::seconds},
    {"steps", StepQuantity::steps_per_second},
    {"samples", StepQuantity::samples_per_second},
    {"tokens", StepQuantity::tokens_per_gpu}};

YamlMapping known_words() {
  return load_yaml(shipped_file("step-logs", "models/data"), "step-logs")
      .mapping({"speed", "layout"});
}

YamlMapping keys_of(const YamlValue& row) {
  return row.mapping(
      {"software", "words", "is", "unit", "before", "adds", "common", "option", "values"});
}

bool is_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-';
}

/// What stands beside words of a line, where they are no part of longer ones: before them or, after
/// blanks and signs, behind them.
std::optional<std::string_view> beside(std::string_view line, std::string_view words, bool before) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  if (before) {
    const std::size_t gap = line.substr(0, at).find_last_not_of("0123456789.,");
    return line.substr(gap + 1, at - gap - 1);
  }
  const bool cut = at > 0 && is_letter(words.front()) && is_letter(line[at - 1]);
  const std::string_view rest = line.substr(at + words.size());
  const std::size_t begin = rest.find_first_not_of(" \t:=.'\"|");
  if (cut || begin == std::string_view::npos || (begin == 0 && is_letter(words.back()))) {
    return std::nullopt;
  }
  return rest.substr(begin, rest.find_first_of(" \t\r|}", begin) - begin);
}

/// The number that a text begins with, without commas between its digits ("1,786"); or nothing.
std::optional<double> number_at(std::string_view text) {
  std::string digits(text.substr(0, text.find_first_not_of("0123456789.,")));
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  return leading_number<double>(digits);
}

void read_speed(const std::vector<std::string_view>& lines, StepLog& log) {
  for (const YamlValue& row : known_words().at("speed").sequence()) {
    const YamlMapping keys = keys_of(row);
    const std::string words = keys.at("words").string();
    const double unit = keys.time_or("unit", Seconds{1}).value;
    for (const std::string_view line : lines) {
      const auto value = beside(line, words, keys.find("before").has_value());
      const double number = value ? number_at(*value).value_or(0) : 0;
      if (number > 0) log.values.push_back(unit * number);
    }
    if (log.values.empty()) continue;
    log.software = keys.at("software").string();
    log.quantity = quantities.at(keys.at("is").string());
    if (const auto adds = keys.find("adds")) {
      const YamlMapping habits = adds->free_mapping();
      for (const auto& [option, value] : habits.entries()) {
        log.layout.emplace_back(option.string(), value.string());
      }
    }
    return;
  }
}

/// Puts down what the last line says that has one of an option's words.
void read_layout(const YamlMapping& keys, const std::vector<std::string_view>& lines,
                 StepLog& log) {
  std::string said;
  for (const std::string_view line : lines) {
    for (const YamlValue& words : keys.at("words").sequence()) {
      const std::string_view value = beside(line, words.string(), false).value_or("");
      if (const auto values = keys.find("values")) {
        for (const YamlValue& each : values->sequence()) {
          if (value == each.string()) said = value;
        }
      } else if (const auto number = leading_number<std::uint32_t>(value)) {
        said = std::to_string(*number);
      }
    }
  }
  if (said.empty()) return;
  const std::string option = keys.at("option").string();
  std::erase_if(log.layout, [&](const auto& each) { return each.first == option; });
  log.layout.emplace_back(option, said);
}

const FileFormat step_log_format(
    FileKind::steps, "iteration lines of a job of training",
    [](std::string_view text) {
      const std::vector<YamlValue> rows = known_words().at("speed").sequence();
      const auto tells = [&](const YamlValue& row) {
        const YamlMapping keys = keys_of(row);
        return !keys.find("common") && text.find(keys.at("words").string()) != text.npos;
      };
      return std::any_of(rows.begin(), rows.end(), tells) ? FormatSign::form : FormatSign::no;
    },
    "`collsim train MACHINE --model NAME --measured FILE`, which explains measured steps");

}  // namespace

StepLog read_step_log(const TextFile& text) {
  const std::string plain = without_terminal_sequences(text.content);
  std::vector<std::string_view> lines;
  for (const std::string_view line : split_lines(plain)) {
    const auto parts = split_lines(line, '\r');  // of a progress bar
    lines.insert(lines.end(), parts.begin(), parts.end());
  }
  StepLog log;
  read_speed(lines, log);
  if (log.values.empty()) {
    refuse_other_kind(text.name, text.content, FileKind::steps, "times of steps");
    throw InputError(SourcePosition{text.name}, "no line says how long a step takes",
                     "iteration lines of Megatron, NeMo, DeepSpeed, torchtitan, Hugging Face or "
                     "the like; or a time, such as 4.2s");
  }
  for (const YamlValue& row : known_words().at("layout").sequence()) {
    read_layout(keys_of(row), lines, log);
  }
  return log;
}

std::vector<Seconds> step_times(const StepLog& log, const TrainingSetup& setup) {
  const auto batch = static_cast<double>(setup.global_batch);
  const double of_step[]{
      0, 1, batch,
      batch * static_cast<double>(setup.tokens_sequence()) / static_cast<double>(setup.ranks())};
  std::vector<Seconds> times;
  for (std::size_t i = log.values.size() > 1 ? 1 : 0; i < log.values.size(); ++i) {
    const double value = log.values[i];
    const double amount = of_step[static_cast<std::size_t>(log.quantity)];
    times.push_back(Seconds{log.quantity == StepQuantity::seconds ? value : amount / value});
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace collsim
