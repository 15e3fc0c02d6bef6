#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/base/units.h"

namespace collsim {

/// What of the work grows with the machine.
enum class Scaling : std::uint8_t {
  weak,    ///< every GPU keeps its work, as where the batch grows with the machine
  strong,  ///< the work is divided among the GPUs
};

/// A machine at one size.
struct ScalingPoint {
  double gpus = 1;
  Seconds communication;
};

/// How long a step of a machine takes, that computes for `compute` at `reference` GPUs:
///   weak    compute + communication
///   strong  compute * reference / gpus + communication
/// Communication is not overlapped.
Seconds step_time(Scaling scaling, Seconds compute, double reference, const ScalingPoint& point);

/// The time of the same work: of a step at strong scaling; at weak scaling, where a step does more
/// the more GPUs there are, of `reference / gpus` of it.
Seconds work_time(Scaling scaling, Seconds compute, double reference, const ScalingPoint& point);

/// How much of its GPUs a machine makes use of, beside a smaller one of the kind:
///   W(first) * gpus(first) / (W(point) * gpus(point)), W as work_time()
/// At weak scaling without compute that is communication(first) / communication(point).
double efficiency(Scaling scaling, Seconds compute, const ScalingPoint& first,
                  const ScalingPoint& point);

/// The first point at which it no longer scales: where more GPUs raise the speed (1 / W) by less
/// than half of what they would if it scaled. Points are of rising size. Nothing where all scale.
std::optional<std::size_t> first_that_does_not_scale(Scaling scaling, Seconds compute,
                                                     std::span<const ScalingPoint> points);

}  // namespace collsim
