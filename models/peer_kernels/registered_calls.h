#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/nccl/symmetric/symmetric_kernel.h"
#include "models/peer_kernels/kernel_plans.h"
#include "models/peer_kernels/peer_kernel_table.h"

namespace collsim {

/// Calls of NCCL's whose buffers are registered as windows: its symmetric kernels where NCCL runs
/// one, and else what it runs without. A kernel costs what PeerKernelCost says of it; its bytes
/// take what the textbook's plan takes that does the same, on the machine with its faults. Not for
/// several threads at once.
class RegisteredCalls {
 public:
  /// What a kernel moves: as the textbook's algorithm of that name, which handles a buffer of each
  /// peer, and so many buffers of the rank's own beside them.
  struct Wire {
    const char* algorithm;
    double own_buffers = 0;
  };

  /// `spec` is the call under NCCL's rules. `simulated`: all else is simulated, and not estimated.
  RegisteredCalls(CallSpec spec, bool simulated);

  /// Nothing, or why no symmetric kernel runs for a size.
  std::optional<std::string> why_not(Bytes size) const;
  /// Whether copy engines move the data, and no kernel, which leaves all multiprocessors to others:
  /// NCCL_CTA_POLICY=2 (ZERO), 2.28 on, for all_gather inside a host with NVLink.
  bool uses_copy_engines() const;
  /// What NCCL runs; only where not why_not(), and not uses_copy_engines().
  SymmetricChoice choose(Bytes size) const;
  Prediction predict(Bytes size);
  /// What NCCL would take had the buffers not been registered.
  Prediction without(Bytes size) { return plans_.nccl().predict(size); }
  /// The time of a kernel, chosen or not, on `blocks` thread blocks.
  Seconds time_of(SymmetricKernel kernel, std::uint32_t blocks, Bytes size);
  /// The call without registered buffers.
  const CallCompiler& compiler() { return plans_.nccl().compiler(); }

 private:
  Seconds time_of(std::string_view kernel, const Wire& wire, KernelBlocks blocks, Bytes size);

  KernelPlans plans_;
  PeerKernelTable table_;
  SymmetricSetting setting_;
};

}  // namespace collsim
