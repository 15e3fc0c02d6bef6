#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "sim/algorithms/registry.h"
#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/cost/calibration.h"
#include "sim/fabric/engine.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/train/transformer_file.h"

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

/// Models of `--model` that have a shape, and what follows from it.
Table model_table() {
  constexpr double billion = 1e-9;
  constexpr double bytes = 2;  // of a weight in 16 bits
  Table table;
  for (const Transformer& each : load_transformers()) {
    NewRow add(table);
    add({"name", "name"}, each.name);
    add({"parameters", "parameters", "(1e9)", 2, billion}, all_parameters(each));
    add({"active_parameters", "active", "(1e9)", 2, billion}, active_parameters(each));
    add({"layers", "layers"}, each.layers);
    add({"hidden", "hidden"}, each.hidden);
    add({"weights", "16 bits", "(GB)", 1, billion}, bytes * all_parameters(each));
    add({"experts", "experts"}, each.experts);
  }
  return table;
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
  sections.push_back({.title = "models", .tables = {model_table()}});
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
  all["models"] = model_table().rows;
  return all;
}

/// Leaves one section.
void show_only(const std::string& kind, Answer& answer) {
  std::vector<std::string> kinds;
  kinds.reserve(answer.sections.size());
  for (const AnswerSection& each : answer.sections) kinds.push_back(each.title);
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found == kinds.end()) {
    throw InputError(fmt::format("list: no kind '{}'", kind), names_instead_of(kind, kinds));
  }
  answer.sections = {answer.sections[static_cast<std::size_t>(found - kinds.begin())]};
  answer.document = Record{{kind, answer.document[kind]}};
}

int run_list(std::span<const std::string> args, std::ostream& out, std::ostream& /*err*/) {
  const auto values = parse_options(list_subcommand, args, out);
  if (!values) return exit_ok;
  Answer answer;
  answer.sections = sections();
  answer.document = document();
  if (values->contains("kind")) show_only((*values)["kind"].as<std::string>(), answer);
  write_answer(format_option(*values), answer, out);
  return exit_ok;
}

}  // namespace

const Subcommand list_subcommand{
    .name = "list",
    .summary = "algorithms, engines, protocols, machines, scenarios, models",
    .usages = {"[KIND] [--format table|json]"},
    .answers =
        "Says which algorithms, collectives, engines, protocols, machines, scenarios, "
        "calibrations, transports and models there are, or which of one kind.",
    .manual = "",
    .examples = {"list", "list models", "list --format json"},
    .argument = "kind",
    .first = "format",
    .modes = {{"", "kind"}},
    .formats = {Format::table, Format::json},
    .run = run_list,
};

}  // namespace collsim::command
