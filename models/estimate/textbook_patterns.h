#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/estimate/textbook_time.h"
#include "sim/algorithms/registry.h"
#include "sim/plan/collective.h"

namespace collsim {

/// A message from one place in an algorithm to another. Hops of one circuit wait for each other in
/// turn; those that begin at equal positions do so at the same time.
struct PlaceHop {
  std::uint32_t circuit = 0;
  std::uint32_t position = 0;
  Rank from = 0;
  Rank to = 0;
  double weight = 1;       ///< it stands for so many
  std::uint32_t lane = 0;  ///< of the connection
};

/// A TextbookPhase not yet on a machine.
struct PhasePattern {
  std::vector<PlaceHop> hops;
  StepProgram program;
  double chunks = 1;
  std::uint32_t lane = 0;
  bool one_by_one = false;
  bool streams = false;
};

/// A textbook's algorithm by phases, as sim/algorithms has it, with the hops of the first places
/// only where there are many alike.
struct TextbookPattern {
  std::vector<PhasePattern> phases;
  bool pipelined = false;
  std::vector<std::vector<MemoryOps>> blocks{};  ///< as in TextbookShape
};

/// The places whose hops are looked at, where there are many alike.
struct ShownPlaces {
  Rank window = 0;              ///< those of the first so many nodes,
  std::vector<bool> touched{};  ///< and, by place, those that are not like others
};

/// `algorithm` as in make_plan(); `root` is a place.
/// Nothing for an algorithm that nobody has written a pattern for: its estimate is that of the plan
/// itself (estimate_by_plan()).
std::optional<TextbookPattern> textbook_pattern(Collective collective, std::string_view algorithm,
                                                const Placement& placement, Rank root,
                                                const ShownPlaces& shown);

}  // namespace collsim
