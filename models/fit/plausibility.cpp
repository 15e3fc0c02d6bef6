#include "models/fit/plausibility.h"

#include <fmt/format.h>

#include <cmath>

#include "models/calibration/calibration_file.h"
#include "models/fit/parameter.h"
#include "models/prediction/prediction.h"
#include "models/prediction/rank_gpus.h"
#include "sim/base/data_directory.h"

namespace collsim {

namespace {

/// Links are full long before.
constexpr Bytes large{256 << 20};

std::string describe(const Parameter& parameter, const ConstantRange& range) {
  const std::string least = text_of(parameter, range.least);
  return std::isinf(range.most) ? fmt::format("at least {}", least)
                                : fmt::format("{} to {}", least, text_of(parameter, range.most));
}

}  // namespace

std::vector<std::string> implausible_constants(const CalibrationFit& fit) {
  constexpr double rounding = 1e-6;
  std::vector<std::string> sentences;
  for (const FittedConstant& constant : fit.constants) {
    if (constant.determination != Determination::fitted) continue;
    const ConstantRange range = constant.parameter.plausible;
    if (constant.value >= range.least * (1 - rounding) &&
        constant.value <= range.most * (1 + rounding)) {
      continue;
    }
    sentences.push_back(fmt::format("{} is {}, plausible is {}", constant.parameter.name,
                                    text_of(constant.parameter, constant.value),
                                    describe(constant.parameter, range)));
  }
  return sentences;
}

double link_share(const Topology& topology, Rank ranks, const Calibration& cost) {
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  const Calibration perfect = load_calibration(shipped_file("ideal", "models/calibrations"));
  const CallSpec spec{
      .topology = &topology, .cost = cost, .run = run, .gpus = first_gpus(topology, ranks)};
  CallSpec on_perfect_links = spec;
  on_perfect_links.cost = perfect;
  return outline(Planner(on_perfect_links).plan(large)).floor.largest().value /
         simulate(Planner(spec).plan(large)).time.value;
}

std::vector<std::string> objections_to(const CalibrationFit& fit, const Topology& topology,
                                       Rank ranks, const Calibration& fitted) {
  std::vector<std::string> objections = implausible_constants(fit);
  constexpr double min_share = 0.5;
  if (ranks < 2) return objections;
  const double share = link_share(topology, ranks, fitted);
  if (share < min_share) {
    objections.push_back(
        fmt::format("an all_reduce of {} MiB would reach {:.0f}% of the links' nominal rate, a "
                    "healthy machine at least {:.0f}%",
                    large.count >> 20, 100 * share, 100 * min_share));
  }
  return objections;
}

}  // namespace collsim
