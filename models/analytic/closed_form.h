#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/algorithms/registry.h"
#include "sim/base/units.h"

namespace collsim {

/// One hop of an algorithm on a machine whose hops are all alike: what the alpha-beta model knows.
struct HopCost {
  Seconds alpha;                    ///< from the last byte sent until the peer sees it
  Seconds serial;                   ///< of the sender, per message
  BytesPerSecond rate = unlimited;  ///< of one connection that is alone on its sender
  BytesPerSecond port = unlimited;  ///< of all connections of one rank together, each direction
  std::uint32_t slices = 1;         ///< messages per chunk
  std::uint32_t credits = 8;        ///< messages that a sender may be ahead
};

/// What a closed form is evaluated at.
struct ClosedFormInput {
  Placement placement;
  double bytes = 0;         ///< of one channel, on the wire
  std::uint32_t loops = 1;  ///< how often the program is repeated
  HopCost intra;            ///< between ranks of one node
  HopCost inter;            ///< between nodes; the same as intra where the machine is uniform
};

/// The time that docs/algorithms.md derives for an algorithm, without launch. Exact where the hops
/// of each level are alike and, but for the port of a rank, no link is shared: the simulated time
/// then agrees to 1e-9. Nothing for an algorithm that has no closed form.
std::optional<Seconds> closed_form(std::string_view algorithm, const ClosedFormInput& input);

/// A closed form of one loop of whole messages that cost nothing but alpha and bandwidth: T =
/// alphas * alpha + transfers * S / B.
struct FormTerms {
  std::string symbols;  ///< "2(N-1) alpha + 2(N-1)/N S/B"
  double alphas = 0;
  double transfers = 0;
  Seconds alpha;     ///< of one hop
  Seconds transfer;  ///< S / B
};

/// The terms of that algorithm's form; nothing where it has none, or the call is cut further, or
/// has more than two kinds of cost.
std::optional<FormTerms> form_terms(std::string_view algorithm, const ClosedFormInput& input);

/// Whether the algorithm's form holds only where every connection has links of its own, or the
/// ranks have one port each and every message is whole (HopCost::port, one loop, one slice). So it
/// is for the trees, whose inner ranks talk to several peers at a time, and for recursive halving
/// and doubling on other than 2^k ranks, where the folding of the excess overlaps with the
/// exchanges.
bool needs_private_links(std::string_view algorithm, const Placement& placement);

}  // namespace collsim
