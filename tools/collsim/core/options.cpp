#include "tools/collsim/core/options.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/base/units.h"
#include "tools/collsim/core/nccl_tests_options.h"
#include "tools/collsim/core/time_limit.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  return names;
}

[[noreturn]] void refuse(const po::unknown_option& error, const po::options_description& options) {
  const std::string name = error.get_option_name();
  refuse_nccl_tests_option(name);
  const std::vector<std::string> names = option_names(options);
  const std::string near = did_you_mean(name, names);
  throw InputError(fmt::format("unknown option '{}'", name),
                   near.empty() ? fmt::format("options are {}", fmt::join(names, ", "))
                                : near + " --help explains the options");
}

/// "1.5" of "1.5M", and the "M".
std::optional<std::pair<double, std::string_view>> number_and_suffix(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  return std::pair{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

/// The factor of a size's suffix, as in nccl-tests, in either case; nothing for any other suffix.
std::optional<double> factor_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  constexpr std::string_view suffixes = "KMGT";
  const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(suffix.front())));
  const auto power = suffixes.find(letter);
  if (suffix.size() != 1 || power == std::string_view::npos) return std::nullopt;
  return static_cast<double>(std::int64_t{1} << (10 * (power + 1)));
}

}  // namespace

std::optional<po::variables_map> parse_options(const po::options_description& options,
                                               std::string_view usage, std::string_view epilogue,
                                               std::string_view positional,
                                               std::span<const std::string> args,
                                               std::ostream& out) {
  po::options_description all;
  all.add(options).add_options()  //
      ("help,h", "print this help and exit")("time-limit", po::value<double>(),
                                             "end with an error after so many seconds");
  po::positional_options_description bare;
  if (!positional.empty()) {
    const std::string name(positional);
    const bool takes_several = options.find(name, false).semantic()->is_composing();
    bare.add(name.c_str(), takes_several ? -1 : 1);
  }
  po::variables_map values;
  try {
    // No abbreviations: "--rank" would mean "--ranks" today, and another option later.
    constexpr int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
                  .options(all)
                  .positional(bare)
                  .style(style)
                  .run(),
              values);
    if (values.count("help") != 0) {
      out << "usage: " << usage << "\n\n" << all;
      if (!epilogue.empty()) out << "\n" << epilogue << "\n";
      return std::nullopt;
    }
    po::notify(values);
  } catch (const po::unknown_option& error) {
    refuse(error, all);
  } catch (const po::error& error) {
    throw InputError(error.what(), "--help explains the options");
  }
  refuse_nccl_tests_numbers(values);
  static_cast<void>(time_limit(values));
  return values;
}

std::int64_t parse_size(std::string_view option, std::string_view text) {
  constexpr double largest = 0x1p50;
  if (const auto parts = number_and_suffix(text)) {
    const auto factor = factor_of(parts->second);
    const double bytes = parts->first * factor.value_or(0);
    const bool is_size = bytes >= 0 && bytes <= largest && bytes == std::floor(bytes);
    if (factor && is_size && !std::signbit(parts->first)) return static_cast<std::int64_t>(bytes);
  }
  try {
    return parse_bytes(text).count;
  } catch (const std::invalid_argument&) {
    throw InputError(fmt::format("--{}: '{}' is not a size", option, text),
                     "whole bytes, such as 8, 32K, 1.5M, 8G (powers of 1024, up to 1024T), 4 MiB "
                     "or 1 MB");
  }
}

}  // namespace collsim::command
