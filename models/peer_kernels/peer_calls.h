#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/peer_kernels/kernel_plans.h"
#include "models/peer_kernels/peer_kernel_table.h"

namespace collsim {

/// The parts of the time of a call by a peer kernel.
struct PeerCallParts {
  const PeerKernelCost* cost = nullptr;
  Seconds flags;   ///< for as many ranks
  Seconds wire;    ///< time of the bytes at line rate
  Seconds kernel;  ///< flags and bytes together
  Seconds launch;  ///< what the CPU adds; none in a CUDA graph
};

/// What runs for a size, and why.
struct PeerCallChoice {
  std::string kernels;  ///< whose; empty: NCCL's
  std::string kernel;   ///< the algorithm; "nccl"
  std::string reason;   ///< "vllm 0.19 runs one_shot below 256 KiB on 8 ranks"
};

/// All-reduces of one machine by the kernels of an inference engine, which add up in peers' memory.
/// Bytes take what a textbook's plan of the same name takes on the machine with its faults where
/// links alone cost anything (PeerKernelCost has the rest). What the engine leaves to NCCL, the
/// models of NCCL answer for. Not for several threads at once.
class PeerCalls {
 public:
  /// `spec` is the call under NCCL's rules. `simulated`: bytes and NCCL's calls are simulated, and
  /// not estimated. `small_call`: what the engine's smallest call takes on the host outside CUDA
  /// graphs; nothing: that of the table's host. Throws InputError for another collective than
  /// all_reduce, several nodes, GPUs that no peer kernel is known of, and an engine that is not in
  /// the table.
  PeerCalls(const CallSpec& spec, EngineRelease engine, bool simulated,
            std::optional<Seconds> small_call = std::nullopt);

  const EngineRelease& engine() const { return engine_; }
  /// The compute capability by which costs are looked up: of GPUs without NVLink that of a PCIe
  /// card, whatever they are.
  int gpu() const { return gpu_; }
  Rank ranks() const { return static_cast<Rank>(plans_.spec().gpus.size()); }

  /// What the engine runs for a size.
  PeerCallChoice choose(Bytes size);
  /// The time of what the engine runs, of a named kernel ("one_shot"; "multimem" is the faster of
  /// both), or of NCCL ("nccl"). Throws InputError where the machine or the table does not have it.
  Prediction predict(Bytes size);
  Prediction predict(std::string_view kernel, Bytes size);
  /// The parts of the time of a kernel.
  PeerCallParts parts(std::string_view kernel, Bytes size);
  /// The parts of the kernel that choose() says; only where that is no call of NCCL's.
  PeerCallParts chosen_parts(Bytes size);
  /// Names kernels, such as "two_shot of H100 on 4, 8 ranks", whose costs calls that were predicted
  /// so far have taken over, as none like them were recorded.
  const std::set<std::string>& taken_over() const { return taken_over_; }
  /// Nothing, or why the machine cannot run a kernel.
  std::optional<std::string> why_not(std::string_view kernel) const;

 private:
  PeerCallParts parts(const std::vector<std::string>& kernels, std::string_view kernel, Bytes size);
  Prediction predict(const std::vector<std::string>& kernels, std::string_view kernel, Bytes size);
  PeerCallChoice fastest(const PeerKernelChoice& row, Bytes size);
  Predictor& predictor_of(std::string_view kernel);
  Seconds launch_of(const PeerKernelCost& cost, Seconds kernel, Bytes size) const;

  KernelPlans plans_;
  EngineRelease engine_;
  PeerKernelTable table_;
  int gpu_ = 0;
  std::string gpu_name_;  ///< common_gpu()
  Seconds host_call_;     ///< HostCall::call
  bool adds_in_switch_ = false;
  std::set<std::string> taken_over_;
};

}  // namespace collsim
