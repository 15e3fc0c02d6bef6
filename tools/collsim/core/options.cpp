#include "tools/collsim/core/options.h"

#include <fmt/format.h>

#include <ostream>
#include <utility>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/nccl_tests_options.h"
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
  } catch (const BadOptionValue& error) {
    refuse(error, all);
  } catch (const po::error& error) {
    throw InputError(error.what(), "--help explains the options");
  }
  refuse_nccl_tests_numbers(values);
  static_cast<void>(time_limit(values));
  return values;
}

}  // namespace collsim::command
