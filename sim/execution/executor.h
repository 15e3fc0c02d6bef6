#pragma once

#include <cstdint>
#include <memory>

#include "sim/base/units.h"
#include "sim/execution/execution.h"
#include "sim/execution/link_contention.h"
#include "sim/execution/timeline.h"
#include "sim/fabric/fabric.h"

namespace collsim {

struct ExecutionResult {
  Seconds time;  ///< per call, from the first until the last rank is done, launches included
  /// The time until each rank's own end, as a mean over ranks: what benchmarks print. Equal to
  /// `time` where there is one call: in benchmarks, calls in a row wait for each other, and who is
  /// done with one early waits in the next.
  Seconds mean_over_ranks;
  /// Messages sent over connections, in all calls; not those of loops that were skipped.
  std::uint64_t transfers = 0;
  bool steady = false;  ///< loops that repeat themselves were skipped
  /// Ranks that were simulated, each for all that are equal to it; all ranks where nothing was
  /// folded.
  std::uint32_t rank_classes = 0;
};

/// Runs every rank's programs on the fabric (a fresh one).
///
/// A primitive waits for one slice on each connection that it receives from and for a credit on
/// each that it sends to. Its thread block then pays the serial cost per slice, its bytes flow to
/// all peers at once (or into the own buffer, where it only stores), and when the last has left the
/// program goes on; the peer sees the slice an alpha later. Protocols with a granule do this piece
/// by piece within a slice. Where the machine has proxies, the bytes flow into a proxy's buffer,
/// and the proxy sends them over the network while the thread block goes on. Lanes of a rank run
/// concurrently and share the channel's rate. A slot in the receiver's FIFO is free again when the
/// primitive that took the message is done, so that a ring needs room for two chunks in its FIFOs,
/// as NCCL has. Switch agents do the same at no cost of their own: they have no thread block, no
/// serial cost, and pass on at what their links carry (hop_alpha() for what their messages cost).
///
/// `timeline`, if given, receives a record per slice and primitive. Throws std::logic_error where a
/// program never ends, which cannot happen to a plan that passed check() with two chunks of
/// credits. Where an event stops a program for ever, throws HangError: which rank waits, at
/// which step, for whom.
ExecutionResult execute(const Execution& execution, Fabric& fabric, Timeline* timeline = nullptr);

/// A call on a fabric that it need not have alone. Whoever runs the fabric tells it of its flows
/// and timers.
class RunningCall : public FabricListener {
 public:
  /// All ranks begin so long from now, by timers.
  virtual void begin(Seconds after) = 0;
  /// The result as execute() returns it, once the fabric is at rest. Throws what execute() throws.
  virtual ExecutionResult result() = 0;
};

/// Lays the call on the fabric, nothing folded. Calls at once share `links`: their wirings have the
/// same resources, which all must outlive it.
std::unique_ptr<RunningCall> lay_beside_others(const Execution& execution, Fabric& fabric,
                                               LinkDemands& links);

}  // namespace collsim
