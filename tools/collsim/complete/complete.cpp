#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/nccl/settings/function.h"
#include "models/nccl/tuning/reduction.h"
#include "models/planning/workload.h"
#include "models/workload/transformer.h"
#include "sim/algorithms/registry.h"
#include "sim/base/data_directory.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

namespace {

using Words = std::vector<std::string>;

Words machine_names() {
  return shipped_names("topologies");
}

Words machine_and_scenario_names() {
  Words names = machine_names();
  for (std::string& name : shipped_names("scenarios")) names.push_back(std::move(name));
  return names;
}

Words collective_names() {
  Words names;
  for (const Collective each : all_collectives()) names.emplace_back(to_string(each));
  return names;
}

Words algorithm_names() {
  Words names;
  for (const NcclAlgorithm each : all_nccl_algorithms) names.emplace_back(to_string(each));
  for (const Algorithm& each : algorithms()) names.emplace_back(each.name);
  return names;
}

Words datatype_names() {
  Words names;
  constexpr auto last = static_cast<int>(Datatype::float8_e5m2);
  for (int each = 0; each <= last; ++each)
    names.emplace_back(to_string(static_cast<Datatype>(each)));
  return names;
}

Words model_names() {
  Words names;
  for (const Transformer& each : load_transformers()) names.push_back(each.name);
  for (const TrainedModel& each : load_trained_models()) names.push_back(each.name);
  return names;
}

struct NamedValues {
  std::string_view option;
  Words (*names)();
};

/// Options whose values are names. Others say in their help which words they take, or take a
/// number, or a file.
constexpr std::array named_values{
    NamedValues{"topology", machine_names},
    NamedValues{"scenario", machine_and_scenario_names},
    NamedValues{"subject", machine_names},
    NamedValues{"collective", collective_names},
    NamedValues{"algorithm", algorithm_names},
    NamedValues{"model", model_names},
    NamedValues{"node", [] { return shipped_names("topologies/nodes"); }},
    NamedValues{"fabric", [] { return shipped_names("topologies/fabrics"); }},
    NamedValues{"calibration", [] { return shipped_names("models/data/calibrations"); }},
    NamedValues{"datatype", datatype_names},
};

/// "table, csv or json (a page)" are three words; "number of ranks" is none.
Words words_of_help(const std::string& help) {
  static const std::regex list(R"(^([\w.-]+(?:, [\w.-]+)* or [\w.-]+)(?:[ ;:].*)?$)");
  std::smatch found;
  if (!std::regex_match(help, found, list)) return {};
  static const std::regex separator(", | or ");
  const std::string words = found[1];
  return {std::sregex_token_iterator(words.begin(), words.end(), separator, -1), {}};
}

std::optional<Words> values_of(const ListedOption& option) {
  for (const NamedValues& each : named_values) {
    if (each.option == option.name) return each.names();
  }
  Words words = words_of_help(option.help);
  if (words.empty()) return std::nullopt;
  return words;
}

const ListedOption* find_option(const std::vector<ListedOption>& options, std::string_view word) {
  for (const ListedOption& each : options) {
    if (word == "--" + each.name || (!each.letter.empty() && word == "-" + each.letter))
      return &each;
  }
  return nullptr;
}

/// Prints the words that begin as the last one does. Of a list, "ring,tr", the last name counts.
void print_matching(Words words, std::string_view begun, std::string_view before,
                    std::ostream& out) {
  const std::size_t comma = begun.rfind(',');
  const std::string listed(comma == std::string_view::npos ? "" : begun.substr(0, comma + 1));
  const std::string_view last = begun.substr(listed.size());
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (const std::string& word : words) {
    if (word.starts_with(last)) out << before << listed << word << '\n';
  }
}

void print_values(const ListedOption& option, std::string_view begun, std::string_view before,
                  std::ostream& out) {
  const std::optional<Words> values = values_of(option);
  if (values) print_matching(*values, begun, before, out);
  const bool is_path = begun.find('/') != std::string_view::npos || begun.starts_with('.');
  if (!values || is_path) out << ":files\n";
}

/// The subcommand of those words, and how many of them name it; of `topo` its action.
std::pair<const Subcommand*, std::size_t> find_named(std::span<const std::string> words) {
  const auto find = [](std::span<const Subcommand> all,
                       const std::string& name) -> const Subcommand* {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Subcommand& each) { return each.name == name; });
    return found == all.end() ? nullptr : &*found;
  };
  if (words.size() < 2) return {nullptr, 0};
  const Subcommand* const subcommand = find(subcommands(), words.front());
  if (subcommand == nullptr || subcommand->name != "topo") return {subcommand, 1};
  return words.size() < 3 ? std::pair{subcommand, std::size_t{1}}
                          : std::pair{find(topo_actions(), words[1]), std::size_t{2}};
}

void print_names(std::span<const Subcommand> all, std::string_view begun, std::ostream& out) {
  Words names;
  for (const Subcommand& each : all) names.emplace_back(each.name);
  print_matching(std::move(names), begun, "", out);
}

std::vector<ListedOption> options_of(const Subcommand& subcommand, std::ostream& err) {
  std::ostringstream printed;
  const Words ask{"--list-options"};
  subcommand.run(ask, printed, err);
  return read_listed_options(printed.str());
}

void print_options_or_files(const std::vector<ListedOption>& options, std::string_view begun,
                            std::ostream& out) {
  if (begun.starts_with('-')) {
    Words names;
    for (const ListedOption& each : options) names.push_back("--" + each.name);
    print_matching(std::move(names), begun, "", out);
    return;
  }
  const auto positional = std::find_if(options.begin(), options.end(),
                                       [](const ListedOption& each) { return each.is_positional; });
  if (positional != options.end()) print_values(*positional, begun, "", out);
}

}  // namespace

int run_complete(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  // Bash makes three words of --format=json.
  Words words;
  std::copy_if(args.begin(), args.end(), std::back_inserter(words),
               [](const std::string& word) { return word != "="; });
  if (words.size() < 2) {
    print_names(subcommands(), words.empty() ? "" : words.front(), out);
    return exit_ok;
  }
  const auto [subcommand, named] = find_named(words);
  if (subcommand == nullptr) return exit_ok;
  const std::string& begun = words.back();
  if (subcommand->name == "topo" && !begun.starts_with('-')) {
    print_names(topo_actions(), begun, out);
    return exit_ok;
  }
  const std::vector<ListedOption> options = options_of(*subcommand, err);
  const std::size_t equals = begun.find('=');
  if (begun.starts_with("--") && equals != std::string::npos) {
    const ListedOption* const option = find_option(options, begun.substr(0, equals));
    if (option != nullptr) {
      print_values(*option, begun.substr(equals + 1), begun.substr(0, equals + 1), out);
    }
    return exit_ok;
  }
  const ListedOption* const before =
      words.size() > named + 1 ? find_option(options, words[words.size() - 2]) : nullptr;
  if (before != nullptr && before->takes_value) {
    print_values(*before, begun, "", out);
  } else {
    print_options_or_files(options, begun, out);
  }
  return exit_ok;
}

}  // namespace collsim::command
