#include "tools/collsim/core/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "sim/base/text.h"
#include "tools/collsim/core/wrap.h"

namespace collsim::command {

namespace {

constexpr std::size_t examples_of_short_help = 3;
/// Where the texts of options begin.
constexpr std::size_t text_column = 26;

/// The options of all modes, and those that every command has.
std::set<std::string> names_of(const Subcommand& subcommand) {
  std::set<std::string> names{"help", "time-limit"};
  if (!subcommand.formats.empty()) names.insert("format");
  for (const Mode& mode : subcommand.modes) {
    for (const std::string& name : split(mode.options + ' ' + mode.shown, ' ')) names.insert(name);
  }
  return names;
}

OptionValue value_in(const Subcommand& subcommand, const Option& option) {
  if (option.name == "format") return format_value(subcommand.formats);
  const auto other = subcommand.values.find(option.name);
  return other == subcommand.values.end() ? option.value : other->second;
}

/// "usage: collsim plan MACHINE", a line for each way to call it.
std::string usage_lines(const Subcommand& subcommand) {
  std::string lines;
  for (const std::string& usage : subcommand.usages) {
    lines += fmt::format("{}collsim {} {}\n", lines.empty() ? "usage: " : "       ",
                         subcommand.name, usage);
  }
  return lines;
}

std::string paragraphs(const std::string& text) {
  std::string lines;
  std::istringstream all(text);
  for (std::string paragraph; std::getline(all, paragraph);) {
    lines += '\n';
    lines += wrapped(paragraph, "", "");
  }
  return lines;
}

/// How the command is called, what it answers, and its actions.
std::string opening_of(const Subcommand& subcommand) {
  const std::string opening = usage_lines(subcommand) + paragraphs(subcommand.answers);
  return subcommand.actions == nullptr ? opening
                                       : opening + "\n" + help_lines(subcommand.actions());
}

std::string option_lines(const TakenOption& taken) {
  const std::string letter = taken.letter.empty() ? "" : fmt::format("-{}, ", taken.letter);
  std::string name = fmt::format("  {}--{}", letter, taken.option->name);
  if (!taken.value.shown.empty()) name += " " + taken.value.shown;
  std::string text = taken.option->text;
  if (!taken.value.fallback.empty()) {
    // What the subcommand takes stands in place of what most take.
    text = fmt::format("{} (default {})", text.substr(0, text.find(" (default")),
                       taken.value.fallback);
  }
  const std::string indent(text_column, ' ');
  if (name.size() + 2 > text_column) return name + "\n" + wrapped(text, indent, indent);
  return wrapped(text, fmt::format("{:<{}}", name, text_column), indent);
}

std::string example_lines(const Subcommand& subcommand, std::size_t most) {
  if (subcommand.examples.empty()) return "";
  std::string lines = "\nexamples:\n";
  for (std::size_t i = 0; i < std::min(most, subcommand.examples.size()); ++i) {
    lines += fmt::format("  collsim {}\n", subcommand.examples[i]);
  }
  return lines;
}

}  // namespace

std::vector<TakenGroup> options_of(const Subcommand& subcommand) {
  std::set<std::string> names = names_of(subcommand);
  std::set<std::string> letters;
  std::vector<TakenGroup> groups;
  for (const OptionGroup& group : option_groups()) {
    TakenGroup taken{group.title, {}};
    for (const Option& option : group.options) {
      if (names.erase(option.name) == 0) continue;
      const bool has_letter = !option.letter.empty() && letters.insert(option.letter).second;
      taken.options.push_back(
          {&option, has_letter ? option.letter : "", value_in(subcommand, option)});
    }
    if (!taken.options.empty()) groups.push_back(std::move(taken));
  }
  if (names.empty()) return groups;
  throw std::logic_error(fmt::format("{} takes options that there are not: {}", subcommand.name,
                                     fmt::join(names, ", ")));
}

std::string help_lines(Subcommands all) {
  constexpr std::size_t summary_column = 10;
  std::string lines;
  for (const Subcommand& each : all) {
    lines += fmt::format("  {:<{}} {}\n", each.last_word(), summary_column, each.summary);
  }
  return lines;
}

std::string short_help(const Subcommand& subcommand) {
  std::string page = opening_of(subcommand) + "\n";
  const std::vector<TakenGroup> groups = options_of(subcommand);
  for (const std::string& name : split(subcommand.first, ' ')) {
    for (const TakenGroup& group : groups) {
      for (const TakenOption& taken : group.options) {
        if (taken.option->name == name) page += option_lines(taken);
      }
    }
  }
  page += example_lines(subcommand, examples_of_short_help);
  return page +
         fmt::format("\n`collsim {} --help` is the manual, with all options.\n", subcommand.name);
}

std::string manual_of(const Subcommand& subcommand) {
  std::string page = opening_of(subcommand) + paragraphs(subcommand.manual);
  for (const TakenGroup& group : options_of(subcommand)) {
    page += fmt::format("\n{}:\n", group.title);
    for (const TakenOption& taken : group.options) page += option_lines(taken);
  }
  return page + example_lines(subcommand, subcommand.examples.size());
}

}  // namespace collsim::command
