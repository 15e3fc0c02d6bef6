#include "tools/collsim/core/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/input_error.h"
#include "sim/base/number.h"

namespace collsim::command {

namespace {

/// That a list of an option may have.
constexpr std::size_t max_numbers = 10'000;

}  // namespace

std::uint32_t bounded_option(const boost::program_options::variables_map& values,
                             const std::string& option, std::uint32_t least, std::uint32_t most) {
  const auto value = values[option].as<std::int64_t>();
  if (value >= std::int64_t{least} && value <= std::int64_t{most}) {
    return static_cast<std::uint32_t>(value);
  }
  throw InputError(fmt::format("--{}: {} is out of range", option, value),
                   fmt::format("{} to {}", least, most));
}

std::uint32_t thread_count(const boost::program_options::variables_map& values,
                           std::uint32_t otherwise) {
  constexpr std::uint32_t max_threads = 4096;
  if (values.count("threads") == 0) return otherwise;
  const std::uint32_t asked = bounded_option(values, "threads", 0, max_threads);
  return asked == 0 ? otherwise : asked;
}

double share_option(std::string_view option, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr double of_percent = 0.01;
  if (rest == "%") number *= of_percent;
  if (error == std::errc{} && (rest.empty() || rest == "%") && number > 0 && number <= 1) {
    return number;
  }
  throw InputError(fmt::format("--{}: '{}'", option, text), "a share such as 10% or 0.1");
}

std::vector<std::uint32_t> parse_numbers(std::string_view option, std::string_view text,
                                         std::uint32_t least, std::uint32_t most) {
  std::vector<std::uint32_t> numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, comma - begin);
    const std::size_t dots = item.find("..");
    const auto first = parse_number<std::uint32_t>(item.substr(0, dots));
    const auto last =
        dots == std::string_view::npos ? first : parse_number<std::uint32_t>(item.substr(dots + 2));
    if (!first || !last || *first < least || *last > most || *first > *last) {
      throw InputError(
          fmt::format("--{}: '{}' is not a number or a range", option, item),
          fmt::format("a list such as 1..17,32,64 of numbers from {} to {}", least, most));
    }
    if (numbers.size() + (*last - *first) >= max_numbers) {
      throw InputError(fmt::format("--{}: '{}' has too many numbers", option, text),
                       fmt::format("at most {}", max_numbers));
    }
    for (std::uint32_t number = *first; number <= *last; ++number) numbers.push_back(number);
    begin = comma + 1;
  }
  return numbers;
}

}  // namespace collsim::command
