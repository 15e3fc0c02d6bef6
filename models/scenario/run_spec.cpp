#include "models/scenario/run_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/nccl/settings/function.h"
#include "sim/algorithms/registry.h"
#include "sim/base/input_error.h"
#include "sim/nccl/nccl_plan.h"

namespace collsim {

namespace {

constexpr std::string_view nccls_choice = "auto";

bool textbook_has(Collective collective, const std::string& name) {
  const auto names = algorithm_names(collective);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether the name is one of NCCL's that NCCL runs for the collective, as far as we know how.
bool nccl_has(Collective collective, std::string_view name) {
  if (name == nccls_choice) return true;
  const auto algorithm = find_nccl_run(name);
  return algorithm && !why_no_nccl_plan(collective, *algorithm);
}

ScheduleKind schedule_meant(const RunSpec& run, Collective collective, const Topology& topology) {
  const bool only_textbook =
      !run.algorithm.empty() && !nccl_has(collective, run.algorithm) &&
      (textbook_has(collective, run.algorithm) || !find_nccl_run(run.algorithm));
  const bool only_nccl =
      !run.variables.empty() || run.in_place ||
      (!run.algorithm.empty() && !only_textbook && !textbook_has(collective, run.algorithm));
  if (only_textbook) return ScheduleKind::textbook;
  return topology.calibration() == "ideal" && !only_nccl ? ScheduleKind::textbook
                                                         : ScheduleKind::nccl;
}

void settle_textbook(RunSpec& run, Collective collective) {
  if (!run.variables.empty()) {
    throw InputError(fmt::format("{} in a textbook schedule of {}", run.variables.begin()->first,
                                 run.algorithm.empty() ? "textbook algorithms" : run.algorithm),
                     "NCCL's variables with NCCL's schedule and algorithms");
  }
  if (run.in_place) {
    throw InputError("in place in a textbook schedule, which copies nothing besides",
                     "that with NCCL's schedule and algorithms");
  }
  if (run.algorithm.empty()) run.algorithm = algorithm_names(collective).front();
  if (!run.protocol) run.protocol = Protocol::simple;
}

void settle_nccl(RunSpec& run) {
  if (run.algorithm.empty()) run.algorithm = nccls_choice;
  if (run.algorithm != nccls_choice && !find_nccl_run(run.algorithm)) {
    throw InputError(fmt::format("algorithm '{}' under NCCL's rules", run.algorithm),
                     "auto, ring, tree, nvls, nvls_tree, collnet_direct, collnet_chain or pat; "
                     "others with the textbook schedule");
  }
  if (run.protocol) run.variables.emplace("NCCL_PROTO", to_string(*run.protocol));
}

}  // namespace

std::string_view to_string(ScheduleKind kind) {
  return kind == ScheduleKind::textbook ? "textbook" : "nccl";
}

std::optional<NcclAlgorithm> find_nccl_run(std::string_view name) {
  for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
    if (name == to_string(algorithm)) return algorithm;
  }
  return find_nccl_algorithm(name);
}

RunSpec with_defaults(RunSpec run, Collective collective, const Topology& topology) {
  if (!run.schedule) run.schedule = schedule_meant(run, collective, topology);
  if (run.schedule == ScheduleKind::textbook) {
    settle_textbook(run, collective);
  } else {
    settle_nccl(run);
  }
  return run;
}

}  // namespace collsim
