#include "tools/collsim/core/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "tools/collsim/core/help.h"
#include "tools/collsim/core/nccl_tests_options.h"
#include "tools/collsim/core/old_spellings.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/time_limit.h"
#include "tools/collsim/core/typed_option.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

po::options_description described(const std::vector<TakenGroup>& groups) {
  po::options_description options;
  for (const TakenGroup& group : groups) {
    for (const TakenOption& taken : group.options) {
      const std::string& name = taken.option->name;
      const std::string names = taken.letter.empty() ? name : name + "," + taken.letter;
      options.add_options()(names.c_str(), taken.value.make(), taken.option->text.c_str());
    }
  }
  return options;
}

const TakenOption* find_taken(const std::vector<TakenGroup>& groups, std::string_view name) {
  for (const TakenGroup& group : groups) {
    for (const TakenOption& taken : group.options) {
      if (taken.option->name == name) return &taken;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse(const po::unknown_option& error, const po::options_description& options) {
  const std::string name = error.get_option_name();
  refuse_nccl_tests_option(name);
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  const std::string near = did_you_mean(name, names);
  throw InputError(fmt::format("unknown option '{}'", name),
                   near.empty() ? fmt::format("options are {}", fmt::join(names, ", "))
                                : near + " --help explains the options");
}

/// "table, csv or json".
std::string joined(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

/// What is accepted in place of a wrong value: its words, or else what help says.
std::string accepted_by(const TakenOption& taken) {
  const std::vector<std::string> words = taken.value.words();
  return words.empty() ? taken.option->text : joined(words);
}

[[noreturn]] void refuse(const BadOptionValue& error, const std::vector<TakenGroup>& groups) {
  const std::string given = error.get_option_name();
  const std::string name = given.substr(given.find_first_not_of('-'));
  refuse_nccl_tests_number(name, error.text());
  throw InputError(
      fmt::format("--{}: {}", name, error.wrong()),
      error.accepted().empty() ? accepted_by(*find_taken(groups, name)) : error.accepted());
}

/// Throws InputError for a word that is none of those that an option takes.
void check_words(const std::vector<TakenGroup>& groups, const po::variables_map& values) {
  for (const TakenGroup& group : groups) {
    for (const TakenOption& taken : group.options) {
      if (!taken.value.only_words || values.count(taken.option->name) == 0) continue;
      const po::variable_value& given = values[taken.option->name];
      const auto* const format = boost::any_cast<Format>(&given.value());
      const std::string word =
          format == nullptr ? given.as<std::string>() : std::string(to_string(*format));
      const std::vector<std::string> words = taken.value.words();
      if (std::find(words.begin(), words.end(), word) != words.end()) continue;
      throw InputError(fmt::format("--{}: there is no '{}'", taken.option->name, word),
                       joined(words));
    }
  }
}

/// Throws InputError where two options exclude each other, or one is missing that another needs.
void check_pairs(const std::vector<TakenGroup>& groups, const po::variables_map& values) {
  const auto given = [&](std::string_view name) { return is_given(values, std::string(name)); };
  for (const auto& [one, other] : exclusive_options()) {
    if (!given(one) || !given(other)) continue;
    throw InputError(fmt::format("both --{} and --{}", one, other), "one of them");
  }
  for (const auto& [one, other] : needed_options()) {
    if (!given(one) || given(other)) continue;
    const TakenOption* const needed = find_taken(groups, other);
    if (needed == nullptr) continue;
    throw InputError(fmt::format("--{} without --{}", one, other),
                     fmt::format("--{} {}", other, needed->value.shown));
  }
}

po::positional_options_description arguments_of(const Subcommand& subcommand,
                                                const po::options_description& options) {
  po::positional_options_description bare;
  if (subcommand.argument.empty()) return bare;
  const bool takes_several = options.find(subcommand.argument, false).semantic()->is_composing();
  bare.add(subcommand.argument.c_str(), takes_several ? -1 : 1);
  return bare;
}

/// Prints the help that is asked for, if it is.
bool print_help(const Subcommand& subcommand, const po::parsed_options& given, std::ostream& out) {
  for (const po::option& option : given.options) {
    if (option.string_key != "help") continue;
    const bool is_short = option.original_tokens.front() == "-h";
    out << (is_short ? short_help(subcommand) : manual_of(subcommand));
    return true;
  }
  return false;
}

}  // namespace

std::optional<po::variables_map> parse_options(const Subcommand& subcommand,
                                               std::span<const std::string> args,
                                               std::ostream& out) {
  refuse_old_options(subcommand.name, args);
  const std::vector<TakenGroup> groups = options_of(subcommand);
  const po::options_description options = described(groups);
  po::variables_map values;
  try {
    // No abbreviations: "--rank" would mean "--ranks" today, and another option later.
    constexpr int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    const po::parsed_options given =
        po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
            .options(options)
            .positional(arguments_of(subcommand, options))
            .style(style)
            .run();
    if (print_help(subcommand, given, out)) return std::nullopt;
    po::store(given, values);
    po::notify(values);
    check_words(groups, values);
    check_pairs(groups, values);
    check_output_files(given, values);
  } catch (const po::unknown_option& error) {
    refuse(error, options);
  } catch (const BadOptionValue& error) {
    refuse(error, groups);
  } catch (const po::too_many_positional_options_error&) {
    throw InputError("more arguments than the command takes",
                     fmt::format("collsim {} {}", subcommand.name, subcommand.usages.front()));
  } catch (const po::error& error) {
    throw InputError(error.what(), "--help explains the options");
  }
  refuse_nccl_tests_numbers(values);
  if (!subcommand.needs.empty() && values.count(subcommand.argument) == 0) {
    throw InputError(
        fmt::format("{}: no {}", subcommand.name, subcommand.needs),
        fmt::format("collsim {} {}, or --help", subcommand.name, subcommand.usages.front()));
  }
  static_cast<void>(time_limit(values));
  return values;
}

bool is_given(const po::variables_map& values, const std::string& option) {
  return values.count(option) != 0 && !values[option].defaulted();
}

namespace {

/// The modes of those names as one, which heeds what any of them does.
Mode joined(const Subcommand& subcommand, const std::vector<std::string>& names) {
  Mode all{fmt::format("{}", fmt::join(names, " or ")), {}, {}};
  for (const std::string& name : names) {
    const auto found = std::find_if(subcommand.modes.begin(), subcommand.modes.end(),
                                    [&](const Mode& each) { return each.name == name; });
    if (found == subcommand.modes.end()) {
      throw std::logic_error(fmt::format("{} has no mode {}", subcommand.name, name));
    }
    all.options += ' ' + found->options;
    all.shown += ' ' + found->shown;
  }
  return all;
}

bool has_word(const std::string& words, const std::string& word) {
  const std::vector<std::string> all = split(words, ' ');
  return std::find(all.begin(), all.end(), word) != all.end();
}

}  // namespace

void heed_only(const po::variables_map& values, const Subcommand& subcommand,
               const std::vector<std::string>& names) {
  const Mode mode = joined(subcommand, names);
  for (const auto& [option, value] : values) {
    const bool always = option == "format" || option == "time-limit" || option == "help";
    if (always || !is_given(values, option) || has_word(mode.options, option)) continue;
    if (!has_word(mode.shown, option)) {
      throw InputError(fmt::format("--{} is not heeded by {}", option, mode.name),
                       fmt::format("options of {}: {}", mode.name,
                                   fmt::join(split(mode.options + mode.shown, ' '), ", ")));
    }
    const Format format = values.contains("format") ? format_option(values) : Format::table;
    if (format == Format::table) continue;
    throw InputError(fmt::format("--{} is not heeded by --format {}", option, to_string(format)),
                     "the table");
  }
}

void require_heeded(const po::variables_map& values, std::initializer_list<Condition> conditions) {
  for (const Condition& each : conditions) {
    if (each.holds || !is_given(values, each.option)) continue;
    throw InputError(fmt::format("--{} without {}", each.option, each.needed), each.needed);
  }
}

}  // namespace collsim::command
