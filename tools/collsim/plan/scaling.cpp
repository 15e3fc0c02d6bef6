#include "tools/collsim/plan/scaling.h"

namespace collsim {

namespace {

/// Of the growth in GPUs that has to come out as speed.
constexpr double min_gain = 0.5;

}  // namespace

Seconds step_time(Scaling scaling, Seconds compute, double reference, const ScalingPoint& point) {
  const double share = scaling == Scaling::strong ? reference / point.gpus : 1;
  return share * compute + point.communication;
}

Seconds work_time(Scaling scaling, Seconds compute, double reference, const ScalingPoint& point) {
  const double share = scaling == Scaling::weak ? reference / point.gpus : 1;
  return share * step_time(scaling, compute, reference, point);
}

double efficiency(Scaling scaling, Seconds compute, const ScalingPoint& first,
                  const ScalingPoint& point) {
  const Seconds before = work_time(scaling, compute, first.gpus, first);
  const Seconds now = work_time(scaling, compute, first.gpus, point);
  return before.value * first.gpus / (now.value * point.gpus);
}

std::optional<std::size_t> first_that_does_not_scale(Scaling scaling, Seconds compute,
                                                     std::span<const ScalingPoint> points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Seconds before = work_time(scaling, compute, points[0].gpus, points[i - 1]);
    const Seconds now = work_time(scaling, compute, points[0].gpus, points[i]);
    const double gain = before.value / now.value - 1;
    if (gain < min_gain * (points[i].gpus / points[i - 1].gpus - 1)) return i;
  }
  return std::nullopt;
}

}  // namespace collsim
