#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/validation/validation.h"

namespace collsim {

/// How far predictions are off: of the absolute relative errors, and in which direction.
struct Score {
  std::size_t rows = 0;
  double median = 0;
  double mean = 0;
  double p90 = 0;  ///< nearest rank
  double worst = 0;
  double bias = 0;  ///< mean of the signed errors; above 0: predicted too slow
};

/// The score of some errors; of no errors, all is 0.
Score score(const std::vector<double>& errors);

/// Bands of sizes that are judged apart.
inline constexpr std::size_t size_band_count = 4;
inline constexpr std::array<std::string_view, size_band_count> size_band_names{"<64 KiB", "<1 MiB",
                                                                               "<64 MiB", "rest"};
std::size_t size_band(Bytes size);

/// Rows that are alike but for size and place.
struct ValidationFamily {
  Collective collective = Collective::all_reduce;
  std::uint32_t nodes = 1;
  Rank ranks = 0;
  std::string algorithm;       ///< recorded, or forced, or "auto"
  std::string protocol;        ///< recorded, or forced, or "auto"
  std::uint32_t channels = 0;  ///< forced; 0: NCCL's choice
  std::string environment;     ///< what else was set, "P2P_DISABLE=1"
  CallMode mode = CallMode::plain;
  std::string recording{};  ///< file; only where several have such rows
  auto operator<=>(const ValidationFamily&) const = default;
};
ValidationFamily family_of(const ValidatedRow& row);
/// The family of a row whatever channels were forced.
ValidationFamily family_of_any_channels(const ValidatedRow& row);
using FamilyOf = std::function<ValidationFamily(const ValidatedRow&)>;
/// Rows by family, as `family` says; where several recordings have rows of one, each has a family
/// of its own, since they may be of different machines or days.
std::map<ValidationFamily, std::vector<const ValidatedRow*>> by_family(
    const std::vector<ValidatedRow>& rows, const FamilyOf& family = family_of);
/// Hosts and GPUs of each as "4x2" where there are several hosts, else the GPUs as "8".
std::string shape_of(std::uint32_t nodes, Rank ranks);

/// Scores of a family: by band, and all together; NCCL's own estimates where there are some.
struct FamilyScore {
  ValidationFamily family;
  std::array<Score, size_band_count> bands;
  Score all;
  Score nccl;
};
std::vector<FamilyScore> family_scores(const std::vector<ValidatedRow>& rows,
                                       const FamilyOf& family = family_of);
/// The score of all rows together; its family says nothing.
FamilyScore total_score(const std::vector<ValidatedRow>& rows);

/// How often what we think NCCL chose is what the recording says it chose.
struct Agreement {
  std::size_t rows = 0;  ///< where the recording says, and nothing was forced
  std::size_t same = 0;

  double share() const {
    return rows == 0 ? 1 : static_cast<double>(same) / static_cast<double>(rows);
  }
};
struct ChoiceAgreement {
  Agreement algorithm;
  Agreement protocol;
  Agreement channels;  ///< where algorithm and protocol agree
};
ChoiceAgreement choice_agreement(const std::vector<ValidatedRow>& rows);

}  // namespace collsim
