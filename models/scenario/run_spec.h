#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/nccl/settings/version.h"
#include "models/nccl/tuning/reduction.h"
#include "sim/cost/calibration.h"
#include "sim/execution/data_partition.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The place of the real times of a run.
struct MeasuredSource {
  std::filesystem::path file;
  std::string id;
};

/// Who decides what runs: the run itself, as textbooks have it, or NCCL's rules.
enum class ScheduleKind : std::uint8_t { textbook, nccl };
std::string_view to_string(ScheduleKind kind);

/// One way of running a collective. What is left open, a CallCompiler fills in. Channels and
/// chunking are the textbook's; NCCL chooses its own, for which `variables` has words. What a
/// textbook run leaves open of them is one channel and one message per transfer on a machine that
/// is a textbook's itself (calibration `ideal`), and elsewhere what NCCL would do there
/// (textbook_pipeline.h).
struct RunSpec {
  std::optional<ScheduleKind> schedule;
  std::string algorithm;  ///< empty: the first of the collective, or what NCCL would choose
  NcclVersion nccl_version = default_nccl_version;
  std::map<std::string, std::string> variables;  ///< NCCL_*
  std::optional<Protocol> protocol;              ///< textbook: Simple if not given
  Reduction reduction{};
  std::optional<std::uint32_t> channels;
  std::optional<Chunking> chunking;
  /// Calls in a row whose mean time is asked for, as nccl-tests' -n. Where not given: 20 under
  /// NCCL's rules for collectives with a root, in which later calls overtake; else 1.
  std::optional<std::uint32_t> calls;
  bool in_place = false;  ///< under NCCL's rules: send and receive buffer are one
  bool graph = false;     ///< the calls are those of a CUDA graph
  std::optional<MeasuredSource> measured;
};

/// The algorithm of NCCL's that reports, options and NCCL_ALGO call so: "nvls_tree", "NVLSTree".
std::optional<NcclAlgorithm> find_nccl_run(std::string_view name);

/// The run with everything decided. Where it does not say whose schedule it means: the textbook's
/// for an algorithm that only the textbook has, and on a machine that is a textbook's itself
/// (calibration `ideal`); else NCCL's. Under NCCL's rules a protocol becomes NCCL_PROTO. Throws
/// InputError for NCCL's variables and calls in place in a textbook schedule, and for algorithms
/// that NCCL does not have under its own.
RunSpec with_defaults(RunSpec run, Collective collective, const Topology& topology);

}  // namespace collsim
