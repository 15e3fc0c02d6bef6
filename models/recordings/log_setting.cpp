#include "models/recordings/log_setting.h"

#include <algorithm>
#include <array>
#include <optional>

#include "models/recordings/readers.h"

namespace collsim {

namespace {

/// "Ring" of "Ring." at the end of NCCL's sentences, and of "'Ring'" in shells.
std::string plain_value(std::string_view value) {
  while (!value.empty() && std::string_view(" \t\r").find(value.back()) != std::string_view::npos) {
    value.remove_suffix(1);
  }
  for (const char quote : {'"', '\''}) {
    const bool is_quoted = value.size() > 1 && value.front() == quote && value.back() == quote;
    if (is_quoted) value = value.substr(1, value.size() - 2);
  }
  return std::string(value);
}

/// "NCCL_ALGO=Ring".
std::optional<LogSetting> assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (!word.starts_with("NCCL_") || equals == std::string_view::npos) return std::nullopt;
  return LogSetting{std::string(word.substr(0, equals)), plain_value(word.substr(equals + 1)),
                    true};
}

std::optional<LogSetting> printed_by_nccl(std::string_view line) {
  constexpr std::array<std::string_view, 2> phrases{" set by environment to ", " set to "};
  for (const std::string_view phrase : phrases) {
    const auto at = line.find(phrase);
    if (at == std::string_view::npos) continue;
    const auto before = split_words(line.substr(0, at));
    if (before.empty() || !before.back().text.starts_with("NCCL_")) continue;
    std::string value = plain_value(line.substr(at + phrase.size()));
    if (value.ends_with('.')) value.pop_back();
    return LogSetting{std::string(before.back().text), std::move(value), false};
  }
  return std::nullopt;
}

}  // namespace

std::vector<LogSetting> settings_in(std::string_view line) {
  if (const auto printed = printed_by_nccl(line)) return {*printed};
  constexpr std::array<std::string_view, 6> others{"+", "export", "declare", "-x", "env", "\\"};
  std::vector<LogSetting> settings;
  for (const Word& word : split_words(line)) {
    if (const auto found = assignment(word.text)) {
      settings.push_back(*found);
    } else if (std::find(others.begin(), others.end(), word.text) == others.end()) {
      return {};
    }
  }
  return settings;
}

void RunSettings::begin_command(std::string_view line) {
  command_.clear();
  for (const Word& word : split_words(line)) {
    const auto setting = assignment(word.text);
    if (setting && changes_what_nccl_does(setting->name)) command_[setting->name] = setting->value;
  }
}

void RunSettings::begin_run() {
  variables_ = since_row_;
  variables_.insert(command_.begin(), command_.end());
  variables_.insert(exported_.begin(), exported_.end());
  has_rows_ = false;
}

void RunSettings::add(const LogSetting& setting) {
  if (!changes_what_nccl_does(setting.name)) return;
  if (setting.exported) {
    exported_[setting.name] = setting.value;
  } else {
    since_row_[setting.name] = setting.value;
  }
  if (!has_rows_) variables_[setting.name] = setting.value;
}

void RunSettings::end_of_row() {
  since_row_.clear();
  has_rows_ = true;
}

}  // namespace collsim
