#include "tools/recorder/plan_cost.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace collsim::recorder {

namespace {

/// What a byte and a call cost about.
struct Speed {
  double bytes_per_second = 0;
  double call_seconds = 0;
};

/// Read off recordings of 8 x H200 (recordings/h200.csv), rounded.
constexpr Speed nvlink{300e9, 20e-6};
constexpr Speed host_memory{15e9, 30e-6};
constexpr double tcp_call_seconds = 300e-6;
constexpr double memory_bytes_per_second = 2e12;
/// CUDA, NCCL's start and a rank's share of it (processes start at once, but share the CPU).
constexpr double start_seconds = 3;
constexpr double start_seconds_per_rank = 0.5;
constexpr double host_setup_seconds = 0.5;
constexpr double graph_seconds = 0.01;

Speed speed_of(const Run& run) {
  if (run.hosts) {
    std::int64_t slowest = run.hosts->bits_per_second;
    if (run.hosts->slow) slowest = std::min(slowest, run.hosts->slow->bits_per_second);
    if (run.hosts->uplink_bits_per_second) {
      slowest = std::min(slowest, *run.hosts->uplink_bits_per_second);
    }
    return {static_cast<double>(slowest) / 8, tcp_call_seconds};
  }
  const auto disabled = run.environment.find("NCCL_P2P_DISABLE");
  if (disabled != run.environment.end() && disabled->second == "1") return host_memory;
  Speed speed = nvlink;
  // One channel carries about 20 GB/s.
  if (const auto channels = run.environment.find("NCCL_MAX_NCHANNELS");
      channels != run.environment.end()) {
    const double count = std::max(1, std::atoi(channels->second.c_str()));
    speed.bytes_per_second = std::min(speed.bytes_per_second, 20e9 * count);
  }
  return speed;
}

double call_seconds(const Case& c, const Speed& speed) {
  const double bytes = static_cast<double>(c.bytes);
  if (c.collective == "launch") return 3e-6;
  const double passes = c.collective == "all_reduce" ? 2 : 1;
  return speed.call_seconds + passes * bytes / speed.bytes_per_second;
}

}  // namespace

double guessed_seconds(const Run& run) {
  const Speed speed = speed_of(run);
  double seconds = start_seconds + start_seconds_per_rank * run.ranks;
  if (run.hosts) seconds += host_setup_seconds * run.hosts->count;
  for (const Case& c : run.cases) {
    const double call = call_seconds(c, speed);
    const double warmup = std::min(run.case_seconds / 4, run.warmup * call);
    const double least = std::min(run.repeats, 3) * call;
    const double calls = call * run.iterations * run.repeats;
    seconds += 2 * call + warmup + std::max(least, std::min(calls, run.case_seconds));
    // The first call comes with filling and checking the buffers.
    seconds += 4 * static_cast<double>(c.bytes) / memory_bytes_per_second;
    if (c.graph) seconds += graph_seconds + run.iterations * call;
  }
  return seconds;
}

}  // namespace collsim::recorder
