#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "sim/algorithms/registry.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/cost/calibration.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

/// Names of one kind that options and files take.
struct NameList {
  std::string kind;
  std::vector<std::string> names;
};

std::vector<NameList> name_lists() {
  std::vector<NameList> lists{{"collectives", {}},
                              {"engines", {}},
                              {"protocols", {}},
                              {"topologies", shipped_names("topologies")},
                              {"scenarios", shipped_names("scenarios")},
                              {"calibrations", shipped_names("models/data/calibrations")},
                              {"transports", transport_names()}};
  for (const Collective each : all_collectives()) lists[0].names.emplace_back(to_string(each));
  for (const Engine each : all_engines()) lists[1].names.emplace_back(to_string(each));
  for (const Protocol each : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    lists[2].names.emplace_back(to_string(each));
  }
  return lists;
}

/// "hierarchical[:A]" for one that takes another between nodes.
std::string shown_name(const Algorithm& algorithm) {
  return std::string(algorithm.name) + (algorithm.composed ? "[:A]" : "");
}

/// All algorithms with a sentence on each, and the names of each kind.
std::vector<AnswerSection> sections() {
  AnswerSection all{"algorithms"};
  const std::string indent(44, ' ');
  for (const Algorithm& each : algorithms()) {
    std::string text(each.description);
    if (each.composed) text += fmt::format(" (A: any other; {} if left out)", each.default_inter);
    all.notes.emplace_back(
        text, fmt::format("  {:<26} {:<14} ", shown_name(each), to_string(each.collective)),
        indent);
  }
  std::vector<AnswerSection> sections{std::move(all)};
  for (const NameList& list : name_lists()) {
    sections.push_back(
        {list.kind, {}, {{fmt::format("{}", fmt::join(list.names, ", ")), "  ", "  "}}});
  }
  return sections;
}

Record document() {
  auto all = Record::object();
  all["algorithms"] = Record::array();
  for (const Algorithm& each : algorithms()) {
    Record entry{{"name", each.name},
                 {"collective", to_string(each.collective)},
                 {"description", each.description}};
    if (each.composed) entry["default_inter"] = each.default_inter;
    all["algorithms"].push_back(std::move(entry));
  }
  for (const NameList& list : name_lists()) all[list.kind] = list.names;
  return all;
}

int run_list(std::span<const std::string> args, std::ostream& out, std::ostream& /*err*/) {
  const auto values = parse_options(list_subcommand, args, out);
  if (!values) return exit_ok;
  Answer answer;
  answer.sections = sections();
  answer.document = document();
  write_answer(format_option(*values), answer, out);
  return exit_ok;
}

}  // namespace

const Subcommand list_subcommand{
    .name = "list",
    .summary = "algorithms, engines, protocols, machines, scenarios",
    .usages = {"[--format table|json]"},
    .answers =
        "Lists algorithms, collectives, engines, protocols, machines, scenarios, calibrations and "
        "transports.",
    .manual = "",
    .examples = {"list", "list --format json"},
    .argument = "",
    .first = "format",
    .modes = {},
    .formats = {Format::table, Format::json},
    .run = run_list,
};

}  // namespace collsim::command
