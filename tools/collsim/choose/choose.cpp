#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/nccl/choice.h"
#include "models/nccl/settings/function.h"
#include "models/nccl/symmetric/symmetric_kernel.h"
#include "models/nccl/symmetric_setting.h"
#include "models/nccl/system/system_topology.h"
#include "models/nccl/system/system_xml.h"
#include "models/predict/predictor.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/choose/choice_report.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::array collectives{Collective::all_reduce, Collective::all_gather,
                                 Collective::reduce_scatter, Collective::broadcast,
                                 Collective::reduce};
constexpr int min_log2_size = 3;
constexpr int max_log2_size = 33;

/// "Ring LL128 x 24": with how many channels.
std::string text_of(const Choice& choice) {
  return fmt::format("{} {} x {}", nccl_name(choice.algorithm), to_string(choice.protocol),
                     choice.channels);
}

/// Calls of one collective under the rules of one release.
class ReleaseCalls {
 public:
  ReleaseCalls(const Nccl& nccl, Collective collective, const Topology* topology,
               const Nccl::Variables& variables)
      : nccl_(nccl), function_(*function_of(collective)) {
    if (topology == nullptr) return;
    CallSpec spec{topology, calibration_for(*topology), collective};
    spec.run.schedule = ScheduleKind::nccl;
    spec.run.algorithm = "auto";
    spec.run.nccl_version = nccl.version();
    spec.run.variables = variables;
    spec.gpus = first_gpus(*topology, nccl.ranks());
    // Up to 300 times are asked, which formulas have at once.
    predictor_.emplace(std::move(spec), by_formulas());
  }

  Choice choice(Bytes size) const { return nccl_.choose(function_, size); }
  std::optional<double> time(Bytes size) {
    if (!predictor_) return std::nullopt;
    return in_microseconds(predictor_->predict(size).time);
  }

 private:
  const Nccl& nccl_;
  NcclFunction function_;
  std::optional<Predictor> predictor_;
};

void add_row(Collective collective, Bytes size, std::pair<ReleaseCalls&, ReleaseCalls&> calls,
             const std::pair<std::string, std::string>& releases, Table& table) {
  const Choice one = calls.first.choice(size);
  const Choice other = calls.second.choice(size);
  if (text_of(one) == text_of(other)) return;
  const auto before = calls.first.time(size);
  const auto after = calls.second.time(size);
  const auto value = [](const std::optional<double>& time) {
    return time ? Record(*time) : Record();
  };
  NewRow add(table);
  add({"collective", "collective"}, to_string(collective));
  add({"size_bytes", "size", "(B)", 0}, size.count);
  add({"choice_1", releases.first}, text_of(one));
  add({"time_1_us", "time", "(us)", 1}, value(before));
  add({"choice_2", releases.second}, text_of(other));
  add({"time_2_us", "time", "(us)", 1}, value(after));
  add({.key = "change", .title = "change", .unit = "(%)", .digits = 0, .scale = 100, .signs = true},
      before && after ? Record(*after / *before - 1) : Record());
}

/// Where two releases of NCCL choose unlike for calls of one machine, by collective and size, and
/// what each choice is predicted to take. `variables`: of both. Without the topology, which a
/// prediction needs, there are no times.
Answer compare_releases(const Nccl& one, const Nccl& other, const Topology* topology,
                        const Nccl::Variables& variables, const std::string& name) {
  const std::string first = "NCCL " + to_string(one.version());
  const std::string second = "NCCL " + to_string(other.version());
  Table table;
  for (const Collective collective : collectives) {
    ReleaseCalls before(one, collective, topology, variables);
    ReleaseCalls after(other, collective, topology, variables);
    for (int log2_size = min_log2_size; log2_size <= max_log2_size; ++log2_size) {
      add_row(collective, Bytes{std::int64_t{1} << log2_size}, {before, after}, {first, second},
              table);
    }
  }
  Answer answer;
  answer.head({comment(fmt::format("{}: {} beside {}, {} and {} channels; times by formulas", name,
                                   first, second, one.channel_count(), other.channel_count()))});
  if (table.rows.empty()) {
    answer.head({comment("they choose alike at every power of two from 8 B to 8 GiB")});
  }
  answer.rows = table.rows;
  answer.sections.push_back({.tables = {std::move(table)}});
  return answer;
}

constexpr std::array functions{NcclFunction::all_reduce, NcclFunction::all_gather,
                               NcclFunction::reduce_scatter};
constexpr int min_log2_symmetric = 8;

/// From this size on.
struct SymmetricSwitch {
  Bytes from;
  SymmetricChoice choice;
};

std::vector<SymmetricSwitch> sweep(NcclFunction function, const SymmetricSetting& setting) {
  std::vector<SymmetricSwitch> switches;
  for (int log2_size = min_log2_symmetric; log2_size <= max_log2_size; ++log2_size) {
    const Bytes size{std::int64_t{1} << log2_size};
    if (why_not_symmetric(function, size, setting)) continue;
    const SymmetricChoice choice = choose_symmetric(function, size, setting);
    if (!switches.empty()) {
      const SymmetricChoice& last = switches.back().choice;
      if (last.chosen.kernel == choice.chosen.kernel && last.used_blocks == choice.used_blocks) {
        continue;
      }
    }
    switches.push_back({size, choice});
  }
  return switches;
}

void print_function(NcclFunction function, const SymmetricSetting& setting, std::ostream& out) {
  const Bytes smallest{std::int64_t{1} << min_log2_symmetric};
  if (const auto reason = why_not_symmetric(function, smallest, setting)) {
    fmt::print(out, "symmetric {}: none, {}\n", nccl_name(function), *reason);
    return;
  }
  std::string_view last;
  for (const SymmetricSwitch& each : sweep(function, setting)) {
    const std::string_view name = nccl_name(each.choice.chosen.kernel);
    if (name != last) {
      fmt::print(out, "{}symmetric {}: {} from {}, thread blocks", last.empty() ? "" : "\n",
                 nccl_name(function), name, to_string(each.from));
    }
    last = name;
    fmt::print(out, " {} ({}, {:.1f}us)", each.choice.used_blocks, to_string(each.from),
               each.choice.chosen.time);
  }
  fmt::print(out, "\n");
}

/// Which symmetric kernels NCCL runs where both buffers are registered: for each function the sizes
/// from which another kernel, or another number of thread blocks, runs; or why none does.
void print_symmetric_choices(const SymmetricSetting& setting, std::ostream& out) {
  fmt::print(out, "\nkernels on symmetric memory, both buffers registered as windows\n");
  for (const NcclFunction function : functions) print_function(function, setting, out);
}

/// The same as JSON.
Record symmetric_record(const SymmetricSetting& setting) {
  Record rows = Record::array();
  for (const NcclFunction function : functions) {
    for (const SymmetricSwitch& each : sweep(function, setting)) {
      Record candidates = Record::array();
      for (const SymmetricCandidate& candidate : each.choice.candidates) {
        candidates.push_back({{"kernel", nccl_name(candidate.kernel)},
                              {"thread_blocks", candidate.thread_blocks},
                              {"estimate_us", candidate.time}});
      }
      rows.push_back({{"function", nccl_name(function)},
                      {"from_size_bytes", each.from.count},
                      {"kernel", nccl_name(each.choice.chosen.kernel)},
                      {"thread_blocks", each.choice.used_blocks},
                      {"estimate_us", each.choice.chosen.time},
                      {"candidates", std::move(candidates)}});
    }
  }
  return rows;
}

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
        "Says what NCCL chooses on a machine: channels, rings, trees, and the algorithm and "
        "protocol for each size. The estimates are NCCL's own, by which it chooses.",
    .manual =
        "MACHINE may also be a topology file of NCCL's (*.xml). --registered adds the kernels on "
        "symmetric memory. Two releases after --nccl-version are compared: where they choose "
        "unlike, and what each choice is predicted to take. docs/choose.md explains the output.",
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
