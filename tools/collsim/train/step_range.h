#pragma once

namespace collsim {

/// The range of the measured time of a predicted step in eight of ten cases, as multiples of the
/// predicted one: the 10th and the 90th percentile of measured / predicted.
struct StepRange {
  double low = 1;
  double high = 1;
};

/// The range of training: the 503 steps of recordings/steps/published.yaml, none of which is in a
/// fit (`collsim train --validate published`).
inline constexpr StepRange training_range{0.90, 1.27};

/// The range of decoding: published times of whole models, whatever serves them
/// (recordings/inference/published-tokens.tsv).
inline constexpr StepRange decoding_range{0.87, 1.25};

}  // namespace collsim
