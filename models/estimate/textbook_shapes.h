#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "models/bounds/estimate.h"
#include "models/call/call_compiler.h"
#include "models/estimate/hop_classes.h"
#include "models/estimate/textbook_patterns.h"
#include "models/estimate/textbook_time.h"
#include "models/machine/hop_wires.h"
#include "models/machine/link_state.h"

namespace collsim {

/// A textbook's algorithm on a machine by classes of hops, for each number of channels found once.
class TextbookShapes {
 public:
  /// The machine as it is at one instant. Adds the kinds of links that hops use to `kinds`. Refers
  /// to both.
  TextbookShapes(const CallCompiler& compiler, Seconds at, std::set<LinkKind>& kinds);

  /// Whether the algorithm has a pattern; without one there are no shapes.
  bool has_pattern() { return !patterns().empty(); }
  const TextbookShape& shape(std::uint32_t channels);
  /// The algorithm's closed form, where it has one on this machine.
  std::optional<Estimate> closed(const DataPartition& partition, const ProtocolConstants& cost);

 private:
  struct Laid {
    std::uint32_t channel = 0;
    PlaceHop hop;
    Rank from = 0;
    Rank to = 0;
    std::uint32_t lane = 0;
    Wire wire;
  };
  /// By order; none where the algorithm has no pattern.
  const std::vector<TextbookPattern>& patterns();
  std::vector<TextbookPattern> made_patterns() const;
  class Usage;
  /// Of each rank on each channel, in all phases.
  using SlowestLinks = std::map<std::pair<std::uint32_t, Rank>, LinkKind>;
  std::vector<Ring> circuits(const PhasePattern& pattern, const std::vector<Laid>& hops,
                             const Usage& usage, const SlowestLinks& slowest) const;
  double speed(const Laid& each) const {
    return speeds_.empty() ? 1 : std::min(speeds_[each.from], speeds_[each.to]);
  }
  HopWires wires() const {
    return {compiler_.topology(), compiler_.spec().gpus, compiler_.cost(), {}, states_};
  }
  TextbookShape made(std::uint32_t channels);
  std::vector<std::vector<Laid>> laid(const std::vector<TextbookPattern>& patterns,
                                      std::uint32_t channels, HopWires& wires);

  const CallCompiler& compiler_;
  std::set<LinkKind>& kinds_;
  LinkStates states_;
  std::vector<double> speeds_;  // by rank; empty: of all 1
  std::vector<std::vector<Rank>> orders_;
  std::optional<std::vector<TextbookPattern>> patterns_;  // once they were asked for
  std::map<std::uint32_t, TextbookShape> shapes_;
};

}  // namespace collsim
