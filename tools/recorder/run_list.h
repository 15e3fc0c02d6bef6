#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collsim::recorder {

/// One thing to measure. `collective` is a name of collsim::Collective, or `launch`: an empty
/// kernel, which is what a call costs before NCCL does anything.
struct Case {
  std::string collective;
  std::int64_t bytes = 0;  ///< nccl-tests' size, a multiple of what the collective can divide
  bool in_place = false;
  bool graph = false;  ///< the calls captured in one CUDA graph, instead of launched one by one
  auto operator<=>(const Case&) const = default;
};

/// As people read it: "all_reduce of 8 bytes, in place, in a graph".
std::string to_string(const Case& c);

/// A rate of one host that differs from the others'.
struct SlowHost {
  int host = 0;
  std::int64_t bits_per_second = 0;
  bool operator==(const SlowHost&) const = default;
};

/// Hosts that are played by network namespaces of one machine (tools/recorder/hosts sets them up).
/// Rank r is on host r / gpus.
struct Hosts {
  int count = 0;
  int gpus = 0;  ///< of each host
  std::int64_t bits_per_second = 0;
  std::int64_t burst = 0;  ///< bytes that pass a shaped link at wire speed after an idle moment
  std::optional<SlowHost> slow;
  /// The two halves of the hosts are on two bridges, joined by one link of this rate.
  std::optional<std::int64_t> uplink_bits_per_second;
  bool operator==(const Hosts&) const = default;
};

/// What NCCL knows of a run's buffers before the calls.
enum class Buffers : std::uint8_t {
  plain,
  registered,       ///< symmetric windows, which NCCL's symmetric kernels need (2.27 on)
  user_registered,  ///< by ncclCommRegister(), so that peers may move data straight into them (2.19
                    ///< on)
};

/// Cases that share one set of processes, since NCCL reads its environment once.
struct Run {
  std::string name;  ///< unique in its list
  int ranks = 0;
  std::vector<int> gpus;  ///< CUDA device of each rank
  std::optional<Hosts> hosts;
  std::map<std::string, std::string> environment;
  bool allow_nvls = false;  ///< else NVLink multicast stays off
  Buffers buffers = Buffers::plain;
  int warmup = 0;            ///< calls before the first repeat
  int iterations = 0;        ///< most calls of one repeat
  int repeats = 0;           ///< most repeats
  double case_seconds = 0;   ///< fewer calls and repeats are made of a case that would take longer
  double stall_seconds = 0;  ///< a run that makes no progress for so long has failed
  std::vector<Case> cases;
};

/// Writes and reads the run list: what a plan comes down to, one fact per line, so that the
/// recorder itself needs no YAML. docs/formats.md has its grammar. Reading throws InputError with
/// file:line; `file` is for messages.
void write_run_list(std::ostream& out, const std::vector<Run>& runs);
std::vector<Run> read_run_list(std::istream& in, const std::string& file);

/// Throws InputError when the environment of a run would turn NVLink multicast on without
/// `allow_nvls`: it can put the GPUs of a shared server out of service.
void check_nvls(const Run& run);

}  // namespace collsim::recorder
