#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/algorithms/registry.h"
#include "sim/base/units.h"

namespace collsim {

/// The cost of one hop in the alpha-beta model, on a machine whose hops are all alike.
struct HopCost {
  Seconds alpha;                    ///< from the last byte sent until the peer sees it
  Seconds serial;                   ///< of the sender, per message
  BytesPerSecond rate = unlimited;  ///< of one connection that is alone on its sender
  BytesPerSecond port = unlimited;  ///< of all connections of one rank together, each direction
  std::uint32_t slices = 1;         ///< messages per chunk
  std::uint32_t credits = 8;        ///< messages that a sender may be ahead
};

/// The call that a closed form is evaluated for.
struct ClosedFormInput {
  Placement placement;
  double bytes = 0;         ///< of one channel, on the wire
  std::uint32_t loops = 1;  ///< how often the program is repeated
  HopCost intra;            ///< between ranks of one node
  HopCost inter;            ///< between nodes; the same as intra where the machine is uniform
};

/// The time that docs/algorithms.md derives for an algorithm, without launch. Exact if the hops of
/// each level are alike, no link is shared except the port of a rank, and all chunks are equally
/// large: the simulated time then agrees to 1e-9. Nothing for an algorithm without a closed form.
std::optional<Seconds> closed_form(std::string_view algorithm, const ClosedFormInput& input);

/// A closed form of one loop of whole messages that cost only alpha and bandwidth:
/// T = alphas * alpha + transfers * S / B.
struct FormulaTerms {
  std::string symbols;  ///< "2(N-1) alpha + 2(N-1)/N S/B"
  double alphas = 0;
  double transfers = 0;
  Seconds alpha;     ///< of one hop
  Seconds transfer;  ///< S / B
};

/// The terms of the algorithm's closed form. Nothing if it has none, if messages are cut further,
/// or if there are more than two kinds of cost.
std::optional<FormulaTerms> form_terms(std::string_view algorithm, const ClosedFormInput& input);

/// Whether the closed form holds only if every connection has links of its own, or if each rank has
/// one port and every message is whole (HopCost::port, one loop, one slice). True for the trees,
/// whose inner ranks talk to several peers at a time, and for recursive halving and doubling on
/// other than 2^k ranks, where the folding of the excess overlaps with the exchanges. Behind ports,
/// that one is no formula but the course of its messages (models/bounds/one_port.h).
bool needs_private_links(std::string_view algorithm, const Placement& placement);

/// Whether the form of one loop on one channel also holds for chunks of unequal size, if each is
/// taken to be as large as the largest. Only so where that chunk waits for nothing on its whole
/// way, which is the longest: in a ring.
bool goes_by_largest_chunk(std::string_view algorithm);

}  // namespace collsim
