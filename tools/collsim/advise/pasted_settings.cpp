#include "tools/collsim/advise/pasted_settings.h"

#include <cctype>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

std::map<std::string, std::string> load_nccl_variables() {
  const YamlMapping file =
      load_yaml(shipped_file("nccl-variables", "models/data"), "nccl-variables").free_mapping();
  std::map<std::string, std::string> variables;
  for (const auto& [name, meaning] : file.entries()) {
    if (name.string() != "collsim") variables[name.string()] = meaning.string();
  }
  return variables;
}

namespace {

constexpr std::string_view nccl_prefix = "NCCL_";

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// NCCL_, or two of its letters swapped or one of them wrong.
bool is_like_nccl(std::string_view name) {
  if (name.size() <= nccl_prefix.size()) return false;
  std::string start(name.substr(0, nccl_prefix.size()));
  for (char& letter : start) {
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  if (start == nccl_prefix) return true;
  return start.front() == 'N' && edit_distance(start, nccl_prefix) == 1;
}

std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (quote != 0) {
      if (letter == quote) quote = 0;
      continue;
    }
    if (letter == '"' || letter == '\'') quote = letter;
    const bool begins = i == 0 || std::isspace(static_cast<unsigned char>(line[i - 1])) != 0;
    if (letter == '#' && begins) return line.substr(0, i);
  }
  return line;
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
}

/// Takes a value from the front: a quoted one, or what goes on to the next space, quote or bracket;
/// after a colon also to the next comma.
std::string take_value(std::string_view& text, bool after_colon) {
  skip_spaces(text);
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
    const std::size_t end = text.find(text.front(), 1);
    std::string value(text.substr(1, end == std::string_view::npos ? end : end - 1));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return value;
  }
  std::size_t end = text.find_first_of(" \t\r;\"'}])`");
  if (after_colon) end = std::min(end, text.find(','));
  std::string value(text.substr(0, end));
  if (value.ends_with(',')) value.pop_back();
  text.remove_prefix(std::min(end, text.size()));
  return value;
}

/// Reads the lines of a text, one after the other.
class Reader {
 public:
  void read(int line, std::string_view text) {
    text = without_comment(text);
    if (take_pending(text)) return;
    while (!text.empty()) {
      if (!is_name_letter(text.front())) {
        text.remove_prefix(1);
        continue;
      }
      std::size_t length = 0;
      while (length < text.size() && is_name_letter(text[length])) ++length;
      const std::string name(text.substr(0, length));
      text.remove_prefix(length);
      if (is_like_nccl(name)) {
        read_setting(line, name, text);
      } else {
        word_before_ = name;
      }
    }
    word_before_.clear();
  }

  std::vector<PastedSetting> take() && { return std::move(settings_); }

 private:
  /// What a YAML list of Kubernetes says of the name on the line before.
  bool take_pending(std::string_view text) {
    if (!pending_) return false;
    skip_spaces(text);
    constexpr std::string_view key = "value:";
    if (text.empty()) return true;
    const bool is_value = text.starts_with(key);
    if (is_value) {
      text.remove_prefix(key.size());
      settings_.push_back({pending_->first, pending_->second, take_value(text, true)});
    }
    pending_.reset();
    return is_value;
  }

  void read_setting(int line, const std::string& name, std::string_view& text) {
    if (text.starts_with('"') || text.starts_with('\'')) text.remove_prefix(1);
    std::string_view rest = text;
    skip_spaces(rest);
    if (word_before_ == "name") {
      const std::size_t key = rest.find("value:");
      if (key == std::string_view::npos) {
        pending_.emplace(line, name);
        return;
      }
      text = rest.substr(key + 6);
      settings_.push_back({line, name, take_value(text, true)});
      return;
    }
    if (text.starts_with('=') || rest.starts_with(':')) {
      const bool colon = rest.starts_with(':');
      text = colon ? rest.substr(1) : text.substr(1);
      if (text.starts_with(' ') && !colon) {  // a shell would set nothing
        settings_.push_back({line, name, ""});
        return;
      }
      settings_.push_back({line, name, take_value(text, colon)});
      return;
    }
    const bool takes_two_words = word_before_ == "ENV" || word_before_ == "setenv";
    if (takes_two_words && rest.size() < text.size()) {
      text = rest;
      settings_.push_back({line, name, take_value(text, false)});
    }
  }

  std::vector<PastedSetting> settings_;
  std::optional<std::pair<int, std::string>> pending_;
  std::string word_before_;
};

}  // namespace

std::vector<PastedSetting> read_pasted_settings(const TextFile& text) {
  std::istringstream stream(text.content);
  Reader reader;
  int number = 0;
  for (std::string line; std::getline(stream, line);) reader.read(++number, line);
  return std::move(reader).take();
}

}  // namespace collsim
