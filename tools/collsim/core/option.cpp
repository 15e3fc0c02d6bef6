#include "tools/collsim/core/option.h"

#include <fmt/format.h>

#include <utility>

#include "sim/base/text.h"

namespace collsim::command {

namespace po = boost::program_options;

std::vector<std::string> OptionValue::words() const {
  if (shown.find('|') == std::string::npos) return {};
  return split(shown, '|');
}

OptionValue flag() {
  return {[] { return po::bool_switch(); }};
}

OptionValue number() {
  return value_of<std::int64_t>("N");
}

OptionValue number(std::int64_t fallback) {
  return value_of<std::int64_t>("N", fallback, std::to_string(fallback));
}

OptionValue text(std::string shown) {
  return value_of<std::string>(std::move(shown));
}

OptionValue text(std::string shown, const std::string& fallback) {
  return value_of<std::string>(std::move(shown), fallback, fallback);
}

OptionValue texts(std::string shown) {
  return {[] { return po::value<std::vector<std::string>>()->composing(); }, std::move(shown)};
}

OptionValue words(std::string shown, const std::string& fallback) {
  OptionValue value = text(std::move(shown), fallback);
  value.only_words = true;
  return value;
}

OptionValue format_value(std::vector<Format> offered) {
  std::vector<std::string> names;
  names.reserve(offered.size());
  for (const Format each : offered) names.emplace_back(to_string(each));
  OptionValue value =
      value_of<Format>(fmt::format("{}", fmt::join(names, "|")), offered.front(), names.front());
  value.only_words = true;
  return value;
}

}  // namespace collsim::command
