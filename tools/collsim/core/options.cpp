#include "tools/collsim/core/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <utility>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/nccl_tests_options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/time_limit.h"
#include "tools/collsim/core/typed_option.h"

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

constexpr std::string_view list_options = "--list-options";

/// A tab stands between the fields of an option.
void print_options(const po::options_description& options, std::string_view positional,
                   std::ostream& out) {
  for (const auto& option : options.options()) {
    const std::string shown =
        option->canonical_display_name(po::command_line_style::allow_dash_for_short);
    const std::string letter = shown.size() == 2 ? shown.substr(1) : "";
    out << fmt::format("{}\t{}\t{}\t{}\t{}\n", option->long_name(), letter,
                       option->semantic()->max_tokens() > 0 ? "value" : "",
                       option->long_name() == positional ? "positional" : "",
                       option->description());
  }
}

/// What the option's help says is accepted, if the value itself does not know.
[[noreturn]] void refuse(const BadOptionValue& error, const po::options_description& options) {
  const std::string given = error.get_option_name();
  const std::string name = given.substr(given.find_first_not_of('-'));
  refuse_nccl_tests_number(name, error.text());
  throw InputError(
      fmt::format("--{}: {}", name, error.wrong()),
      error.accepted().empty() ? options.find(name, false).description() : error.accepted());
}

}  // namespace

std::vector<ListedOption> read_listed_options(std::string_view printed) {
  std::vector<ListedOption> options;
  std::istringstream lines{std::string(printed)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    ListedOption option;
    std::string value;
    std::string positional;
    std::getline(fields, option.name, '\t');
    std::getline(fields, option.letter, '\t');
    std::getline(fields, value, '\t');
    std::getline(fields, positional, '\t');
    std::getline(fields, option.help);
    option.takes_value = !value.empty();
    option.is_positional = !positional.empty();
    options.push_back(std::move(option));
  }
  return options;
}

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
  if (std::find(args.begin(), args.end(), list_options) != args.end()) {
    print_options(all, positional, out);
    return std::nullopt;
  }
  po::variables_map values;
  try {
    // No abbreviations: "--rank" would mean "--ranks" today, and another option later.
    constexpr int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    const po::parsed_options given =
        po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
            .options(all)
            .positional(bare)
            .style(style)
            .run();
    po::store(given, values);
    if (values.count("help") != 0) {
      out << "usage: " << usage << "\n\n" << all;
      if (!epilogue.empty()) out << "\n" << epilogue << "\n";
      return std::nullopt;
    }
    po::notify(values);
    check_output_files(given, values);
  } catch (const po::unknown_option& error) {
    refuse(error, all);
  } catch (const BadOptionValue& error) {
    refuse(error, all);
  } catch (const po::too_many_positional_options_error&) {
    throw InputError("more arguments than the command takes",
                     std::string(usage.substr(0, usage.find('\n'))));
  } catch (const po::error& error) {
    throw InputError(error.what(), "--help explains the options");
  }
  refuse_nccl_tests_numbers(values);
  static_cast<void>(time_limit(values));
  return values;
}

}  // namespace collsim::command
