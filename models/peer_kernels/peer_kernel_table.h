#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/error_table.h"
#include "models/peer_kernels/engine_release.h"
#include "sim/base/units.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// GPUs of which calls of a kernel were recorded, by how many of them.
struct RecordedGpus {
  std::string gpu;  ///< the name of its GpuModel: "H100"
  std::vector<Rank> ranks;
};

/// What a kernel costs that adds up in peers' memory. A call of N ranks in a CUDA graph takes
///
///   flags + doubling log2 N
///     + hypot(wait + (N - 1) peer_wait, wire / port_share, wire / (N - 1) / peer_share)
///
/// where `wire` is what its bytes take at line rate on the busiest port.
/// models/data/peer-kernels.yaml says how each was fitted.
struct PeerKernelCost {
  std::string kernels;    ///< whose: "custom", those of vLLM and SGLang
  std::string kernel;     ///< the algorithm: "one_shot"
  int gpu = 0;            ///< compute capability, 10 major + minor
  Seconds flags;          ///< that it takes to launch and to exchange flags with peers
  Seconds doubling;       ///< that every doubling of the ranks adds to `flags`
  Seconds wait;           ///< between its halves, hidden where bytes take longer
  Seconds peer_wait;      ///< that each peer adds to `wait`
  double port_share = 1;  ///< share of a port's rate that its loads reach
  /// Share of the port's rate that loads from one peer reach, however few peers there are; 0: as
  /// much as from all.
  double peer_share = 0;
  /// Share of the port's rate that one thread block reaches; 0: thread blocks limit nothing.
  double block_share = 0;
  Seconds uneven;  ///< on top where thread blocks do not divide the data equally
  std::vector<RecordedGpus> recorded;  ///< in recordings/inference and recordings/h200x4
};

/// The thread blocks of a kernel.
struct KernelBlocks {
  std::uint32_t count = 0;  ///< 0: so many that they limit nothing
  bool even = true;         ///< each has as much to do
};

/// The time of flags and their doublings for `ranks` ranks.
Seconds flag_time(const PeerKernelCost& kernel, double ranks);
/// The whole formula, for bytes that take `wire` at line rate.
Seconds kernel_time(const PeerKernelCost& kernel, double ranks, Seconds wire);
/// The time on thread blocks, which would take `handled` at line rate for what they handle, bytes
/// of the rank itself included. Where they matter, hypot(wire / port_share, handled / (count
/// block_share)) stands for what bytes take; else hypot(wait, handled / port_share).
Seconds kernel_time(const PeerKernelCost& kernel, double ranks, Seconds wire, Seconds handled,
                    KernelBlocks blocks);

/// What a call costs that the CPU issues by itself: max(calls host, call + gap + bytes / copy),
/// where `host` is the `call` of its HostCall.
struct PeerKernelLaunch {
  std::string kernels;
  int gpu = 0;
  double calls = 1;     ///< as many times as long as `custom` the CPU takes for a call
  Seconds gap;          ///< between the copy and the kernel
  BytesPerSecond copy;  ///< at which data comes into the registered buffer
};

/// How long the CPU of a host takes to issue a call of the kernels `custom`.
struct HostCall {
  std::string gpu;  ///< of hosts with this GPU, whatever their CPU is; empty: any
  std::string cpu;  ///< of CPUs whose model has this word in its name; empty: any
  Seconds call;
};

/// A kernel, and below which size it runs; without one, where it is fastest.
struct PeerKernelStep {
  std::string kernels;
  std::string kernel;
  std::optional<Bytes> below;
};

/// What an engine runs from a release on, on some GPUs and for some counts of ranks: the first step
/// that a size is below of, else NCCL's.
struct PeerKernelChoice {
  std::string engine;
  ReleaseNumbers since;
  std::vector<int> gpus;
  std::vector<Rank> ranks;
  std::vector<PeerKernelStep> runs;
};

/// What models/data/peer-kernels.yaml holds.
struct PeerKernelTable {
  std::vector<PeerKernelCost> costs;
  std::vector<PeerKernelLaunch> launches;
  std::vector<HostCall> hosts;  ///< the first that fits counts
  /// Ranges of times, in classes of `measured`, `derived` and `guessed` over peer_medium().
  std::vector<ErrorClass> errors;
  std::vector<PeerKernelChoice> choices;
};

/// Reads the shipped table. Throws InputError at the place of a mistake.
PeerKernelTable load_peer_kernels();

/// The engines of the table, in its order, once each.
std::vector<std::string> engines_of(const PeerKernelTable& table);

/// The row of the engine's latest release that is not after the one asked for; null where it has
/// none for such GPUs and `ranks` ranks, so that NCCL runs.
const PeerKernelChoice* find_choice(const PeerKernelTable& table, const EngineRelease& engine,
                                    int gpu, Rank ranks);

/// Whose kernels the engine has up to that release, the latest first, and then those of PyTorch,
/// which every engine can call.
std::vector<std::string> kernels_of(const PeerKernelTable& table, const EngineRelease& engine);

/// The cost among these kernels, the first that has it: of such GPUs, else of the generation
/// before, else of the next. That of `multimem_one_shot`, which nobody has measured, is that of
/// `multimem_two_shot`. Null: of no GPUs.
const PeerKernelCost* find_cost(const PeerKernelTable& table,
                                const std::vector<std::string>& kernels, std::string_view kernel,
                                int gpu);

/// What the CPU costs those kernels on such GPUs, or on the nearest of which it was measured; null
/// where it was measured of none.
const PeerKernelLaunch* find_launch(const PeerKernelTable& table, std::string_view kernels,
                                    int gpu);

/// The name of the GPUs' model (GpuModel::name); empty where they are of several, or of none that
/// is known.
std::string common_gpu(const Topology& topology, const std::vector<DeviceId>& gpus);

/// The `call` of the first host that fits.
Seconds host_call(const PeerKernelTable& table, std::string_view gpu, std::string_view cpu);

/// What a kernel's cost rests on for `ranks` GPUs of that name: `measured` where calls of both were
/// recorded, `derived` where those of other counts or GPUs of the same major compute capability
/// were, else `guessed`.
Trust trust_of(const PeerKernelCost& cost, std::string_view kernel, std::string_view gpu,
               Rank ranks);

/// Says on what a kernel was recorded: "H100 on 2, 4 and 8 ranks".
std::string describe_recorded(const PeerKernelCost& cost);

/// What the errors of such calls are found by, as the medium of a prediction.
std::string_view peer_medium(bool graph);

}  // namespace collsim
