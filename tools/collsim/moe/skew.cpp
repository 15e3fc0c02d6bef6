#include "tools/collsim/moe/skew.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/number.h"
#include "sim/base/text_file.h"
#include "tools/collsim/moe/traffic_matrix.h"

namespace collsim {

namespace {

constexpr std::string_view zipf_word = "zipf:";
constexpr std::string_view hot_word = "hot:";
constexpr double largest_exponent = 10;
constexpr double largest_heat = 1e6;
constexpr double index_limit = 1e6;

double skew_number(std::string_view word, std::string_view text, double most) {
  const double number = parse_number<double>(text).value_or(-1);
  if (number >= 0 && number <= most) return number;
  throw InputError(fmt::format("--skew: '{}{}'", word, text),
                   fmt::format("{}NUMBER, from 0 to {:g}", word, most));
}

/// Ranks and experts of files.
std::uint32_t index_of(double number, const SourcePosition& place) {
  if (number < index_limit && number == std::floor(number)) {
    return static_cast<std::uint32_t>(number);
  }
  throw InputError(place, fmt::format("{:g} is no index", number), "0, 1, 2, ...");
}

std::vector<double> read_counts(const NumberTable& table) {
  std::vector<double> counts;
  for (const NumberRow& row : table.rows) {
    const std::uint32_t expert = index_of(row.numbers.front(), row.places.front());
    if (row.numbers.size() != 2 || expert != counts.size()) {
      throw InputError(
          row.places.front(), "not the next expert and its tokens",
          fmt::format("a line that begins with {}, such as {},120", counts.size(), counts.size()));
    }
    counts.push_back(row.numbers[1]);
  }
  return counts;
}

RoutedToken read_token(const NumberRow& row) {
  RoutedToken token{index_of(row.numbers.front(), row.places.front()), {}, row.places.front()};
  std::set<std::uint32_t> seen;
  for (std::size_t i = 1; i < row.numbers.size(); ++i) {
    const std::uint32_t expert = index_of(row.numbers[i], row.places[i]);
    if (!seen.insert(expert).second) {
      throw InputError(row.places[i], fmt::format("expert {} twice", expert),
                       "different experts of one token");
    }
    token.experts.push_back(expert);
  }
  if (token.experts.empty()) {
    throw InputError(token.place, "a token without experts", "its rank and its experts");
  }
  return token;
}

Skew skew_of_file(const std::string& name) {
  const TextFile text =
      read_text_file(name, "uniform, balanced, zipf:1.2, hot:4 or a file of a router's counts");
  const NumberTable table = read_number_table(text);
  Skew skew;
  skew.name = name;
  if (table.header == "expert,tokens") {
    skew.kind = Skew::Kind::weighted;
    skew.counts = read_counts(table);
  } else if (table.header == "rank,experts") {
    skew.kind = Skew::Kind::routed;
    for (const NumberRow& row : table.rows) skew.tokens.push_back(read_token(row));
  } else {
    throw InputError({text.name, 1, 1}, fmt::format("the header '{}'", table.header),
                     "expert,tokens or rank,experts");
  }
  return skew;
}

}  // namespace

Skew read_skew(const std::string& text) {
  Skew skew;
  skew.name = text;
  if (text == "uniform") return skew;
  if (text == "balanced") {
    skew.kind = Skew::Kind::balanced;
    return skew;
  }
  skew.kind = Skew::Kind::weighted;
  if (text.starts_with(zipf_word)) {
    skew.exponent = skew_number(zipf_word, text.substr(zipf_word.size()), largest_exponent);
    return skew;
  }
  if (text.starts_with(hot_word)) {
    skew.hot = skew_number(hot_word, text.substr(hot_word.size()), largest_heat);
    return skew;
  }
  return skew_of_file(text);
}

std::vector<double> weights_of(const Skew& skew, std::uint32_t items, std::string_view what) {
  if (skew.kind == Skew::Kind::routed) {
    throw InputError(fmt::format("--skew: {} has tokens, not weights of {}", skew.name, what),
                     "uniform, zipf:1.2, hot:4 or a file with the header expert,tokens");
  }
  if (!skew.counts.empty()) {
    if (skew.counts.size() != items) {
      throw InputError(fmt::format("--skew: {} has {} lines", skew.name, skew.counts.size()),
                       fmt::format("{}, one for each of the {}", items, what));
    }
    return skew.counts;
  }
  std::vector<double> weights(items);
  for (std::uint32_t i = 0; i < items; ++i) weights[i] = std::pow(i + 1.0, -skew.exponent);
  weights.front() *= skew.hot;
  return weights;
}

}  // namespace collsim
