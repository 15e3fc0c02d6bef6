#include "tools/collsim/options.h"

#include <fmt/format.h>

#include <charconv>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "sim/input_error.h"
#include "sim/units.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

std::string option_names(const po::options_description& options) {
  std::string names;
  for (const auto& option : options.options()) {
    names += (names.empty() ? "--" : ", --") + option->long_name();
  }
  return names;
}

}  // namespace

std::optional<po::variables_map> parse_options(const po::options_description& options,
                                               std::string_view usage, std::string_view epilogue,
                                               std::string_view positional,
                                               std::span<const std::string> args,
                                               std::ostream& out) {
  po::options_description all;
  all.add(options).add_options()("help,h", "print this and stop");
  po::positional_options_description bare;
  if (!positional.empty()) {
    const std::string name(positional);
    const bool takes_several = options.find(name, false).semantic()->is_composing();
    bare.add(name.c_str(), takes_several ? -1 : 1);
  }
  po::variables_map values;
  try {
    // No guessing: with it, "--rank" would quietly mean "--ranks" today and something else
    // tomorrow.
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
  } catch (const po::error& error) {
    throw InputError(error.what(), "options are " + option_names(all));
  }
  return values;
}

std::int64_t parse_size(std::string_view option, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::string_view suffixes = "KMGT";
  if (error == std::errc{} && number >= 0) {
    if (suffix.empty()) return number;
    const auto power = suffixes.find(suffix.size() == 1 ? suffix.front() : ' ');
    constexpr std::int64_t largest = std::int64_t{1} << 50;
    if (power != std::string_view::npos) {
      const auto shift = static_cast<int>(10 * (power + 1));
      if (number <= (largest >> shift)) return number << shift;
    }
  }
  try {
    return parse_bytes(text).count;
  } catch (const std::invalid_argument&) {
    throw InputError(fmt::format("--{}: '{}' is not a size", option, text),
                     "sizes are like 8, 32K, 1M, 8G (powers of 1024, up to 1024T), 4 MiB or 1 MB");
  }
}

}  // namespace collsim::command
