#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "models/nccl/choice.h"
#include "models/nccl/symmetric_setting.h"
#include "models/nccl/system/system_topology.h"
#include "models/nccl/system/system_xml.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/choose/choice_report.h"
#include "tools/collsim/choose/release_report.h"
#include "tools/collsim/choose/symmetric_report.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// The machine as NCCL's file has it, or as a topology does.
struct ChoiceMachine {
  std::string name;
  std::optional<Topology> topology{};
  std::optional<std::uint32_t> nodes{};
};

ChoiceMachine read_machine(const po::variables_map& values, std::ostream& err) {
  ChoiceMachine machine{values["topology"].as<std::string>()};
  if (values.contains("nodes")) machine.nodes = bounded_option(values, "nodes", 1, gpu_limit);
  if (std::filesystem::path(machine.name).extension() != ".xml") {
    machine.topology = load_with_warnings(machine.name, err);
  }
  return machine;
}

Nccl make_nccl(const ChoiceMachine& machine, const Nccl::Variables& variables, NcclVersion version,
               std::ostream& err) {
  const Waiting waiting(err, "searching for channels on " + machine.name);
  if (machine.topology) return Nccl(*machine.topology, variables, version, machine.nodes);
  return {read_nccl_topology(machine.name, version), machine.nodes.value_or(1), variables, version};
}

/// Two releases side by side.
int compare(const ChoiceMachine& machine, const NcclVersions& versions,
            const po::variables_map& values, std::ostream& out, std::ostream& err) {
  if (versions.named.size() > 2) throw InputError("--nccl-version with three releases", "two");
  const Format format = format_option(values);
  if (format == Format::golden) throw InputError("--format golden of two releases", "one");
  const Nccl::Variables variables = variables_option(values);
  const Nccl one = make_nccl(machine, variables, versions.named.front(), err);
  const Nccl other = make_nccl(machine, variables, versions.named.back(), err);
  print_warnings(other.environment().warnings, err);
  const Waiting waiting(err, "predicting what the choices take");
  // Times are those of the topology's own nodes.
  const bool timed = machine.topology && !machine.nodes;
  const std::string name = std::filesystem::path(machine.name).filename().string();
  write_answer(format,
               compare_releases(one, other, timed ? &*machine.topology : nullptr, variables, name),
               out);
  return exit_ok;
}

/// Throws InputError if the variables exclude everything that NCCL could run.
void require_choice(const Nccl& nccl) {
  if (nccl.ranks() < 2) return;
  const bool any =
      std::any_of(all_nccl_functions.begin(), all_nccl_functions.end(),
                  [&](NcclFunction function) { return !selection_sweep(nccl, function).empty(); });
  if (!any) nccl.require_any(NcclFunction::all_reduce);
}

int run_choose(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(choose_subcommand, args, out);
  if (!values) return exit_ok;
  const ChoiceMachine machine = read_machine(*values, err);
  const auto asked = values->contains("nccl-version") ? (*values)["nccl-version"].as<NcclVersions>()
                                                      : NcclVersions{{default_nccl_version}};
  const bool registered = (*values)["registered"].as<bool>();
  if (asked.named.size() > 1) {
    require_heeded(*values, {{"registered", !registered, "one release"}});
    return compare(machine, asked, *values, out, err);
  }
  const Nccl nccl = make_nccl(machine, variables_option(*values), asked.named.front(), err);
  const std::vector<std::string>& warnings = nccl.environment().warnings;
  print_warnings(registered ? warnings_of_registered(warnings) : warnings, err);
  require_choice(nccl);
  const std::string name = std::filesystem::path(machine.name).filename().string();
  const Format format = format_option(*values);
  require_heeded(*values, {{"registered", format != Format::golden, "--format table or json"}});
  if (format == Format::golden) {
    print_golden(nccl, name, out);
    return exit_ok;
  }
  std::optional<SymmetricSetting> setting;
  if (registered) setting = symmetric_setting(nccl, variables_option(*values));
  Answer answer;
  answer.draw([&](std::ostream& to) {
    print_choice_table(nccl, name, to);
    if (setting) print_symmetric_choices(*setting, to);
  });
  if (format == Format::json) {
    answer.document = choice_record(nccl, name);
    if (setting) answer.document["symmetric"] = symmetric_record(*setting);
  }
  write_answer(format, answer, out);
  return exit_ok;
}

}  // namespace

const Subcommand choose_subcommand{
    .name = "choose",
    .summary = "NCCL's choices on a machine: rings, trees, algorithm by size",
    .usages = {"MACHINE [--nodes N] [--nccl-version V] [--env K=V ...]"},
    .answers =
        "Prints NCCL's choices on a machine: channels, rings, trees, and the algorithm and "
        "protocol for each size. The estimates are NCCL's own, by which it chooses.",
    .manual =
        "MACHINE may also be a topology file of NCCL's (*.xml). --registered adds the kernels on "
        "symmetric memory. Two releases after --nccl-version are compared: where they choose "
        "unlike, and what each choice is predicted to take.",
    .examples = {"choose hgx-h200", "choose dgx-b200-x2 --nccl-version 2.28,2.31",
                 "choose dgx-h100 --nodes 4 --env NCCL_ALGO=Ring", "choose hgx-h200 --registered"},
    .argument = "topology",
    .needs = "machine",
    .first = "topology nodes nccl-version env registered format",
    .modes = {{"", "topology nodes nccl-version env registered"}},
    .formats = {Format::table, Format::json, Format::golden},
    .run = run_choose,
};

}  // namespace collsim::command
