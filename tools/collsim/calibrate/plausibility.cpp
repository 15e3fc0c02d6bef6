#include "tools/collsim/calibrate/plausibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "tools/collsim/calibrate/parameter.h"

namespace collsim {

namespace {

/// Plausible ranges are round numbers: 50 % is what is nearer to it than to 40 or 60. Healthy L40S
/// are fitted to 49.6 to 57 % of their PCIe, by which rows are taken.
constexpr double rounding_of_limits = 0.1;
/// Links are full long before.
constexpr Bytes large{256 << 20};

std::string describe(const Parameter& parameter, const ConstantRange& range) {
  const std::string least = text_of(parameter, range.min);
  return std::isinf(range.max) ? fmt::format("at least {}", least)
                               : fmt::format("{} to {}", least, text_of(parameter, range.max));
}

Prediction predict_large(const Topology& topology, Rank ranks, const Calibration& cost) {
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  const CallSpec spec{
      .topology = &topology, .cost = cost, .run = run, .gpus = first_gpus(topology, ranks)};
  return simulate(CallCompiler(spec).plan(large));
}

}  // namespace

std::vector<std::string> implausible_constants(const CalibrationFit& fit) {
  std::vector<std::string> sentences;
  for (const FittedConstant& constant : fit.constants) {
    if (constant.determination != Determination::fitted) continue;
    const ConstantRange range = constant.parameter.plausible;
    // What the rows leave open, and what a limit does, objects to nobody.
    const double least = constant.max > 0 ? std::min(constant.min, constant.value) : constant.value;
    const double most = std::max(constant.max, constant.value);
    if (most >= range.min * (1 - rounding_of_limits) &&
        least <= range.max * (1 + rounding_of_limits)) {
      continue;
    }
    sentences.push_back(fmt::format("{} is {}, plausible is {}", constant.parameter.name,
                                    text_of(constant.parameter, constant.value),
                                    describe(constant.parameter, range)));
  }
  return sentences;
}

DiagnosedSize large_call(const Topology& topology, Rank ranks, const Calibration& cost) {
  const Prediction expected = predict_large(topology, ranks, calibration_for(topology));
  DiagnosedSize size;
  size.point.size = large;
  size.point.measured = predict_large(topology, ranks, cost).time;
  size.point.fastest = size.point.measured;
  size.expected = expected.time;
  size.trust = expected.trust;
  size.medium = expected.medium;
  size.spread = load_spread().healthy(size.trust, size.medium, large);
  size.verdict = verdict_of(size);
  return size;
}

std::vector<std::string> objections_to(const CalibrationFit& fit, const Topology& topology,
                                       Rank ranks, const Calibration& fitted) {
  std::vector<std::string> objections = implausible_constants(fit);
  if (ranks < 2) return objections;
  const DiagnosedSize call = large_call(topology, ranks, fitted);
  if (call.verdict == Verdict::low || call.verdict == Verdict::not_this_machine) {
    objections.push_back(fmt::format(
        "an all_reduce of {} MiB would have {:.2f} times the busbw that is expected of such a "
        "machine; healthy is {:.2f} to {:.2f} times",
        large.count >> 20, call.ratio(), call.healthy_from(), call.healthy_to()));
  }
  return objections;
}

}  // namespace collsim
