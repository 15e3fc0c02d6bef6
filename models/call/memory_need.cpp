#include "models/call/memory_need.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "models/nccl/point_to_point.h"
#include "sim/base/input_error.h"
#include "sim/plan/program.h"

namespace collsim {

namespace {

/// A worker, its FIFO, its wire and its flows: ring, tree and NVLSTree of 512 ranks on 64 DGX H100
/// take 800 to 1,300 bytes a connection.
constexpr double bytes_per_connection = 1300;
constexpr double usable_share = 0.8;

/// Connections of one channel where NCCL runs a collective.
double nccl_connections(const Nccl& nccl, NcclAlgorithm algorithm) {
  const double ranks = nccl.ranks();
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return ranks;
    case NcclAlgorithm::tree:
    case NcclAlgorithm::collnet_chain:
      return 2 * ranks;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
    case NcclAlgorithm::collnet_direct:
      return 2 * ranks * (nccl.channels().nvls.stripes() + 2.0);
    case NcclAlgorithm::pat:
      return ranks * std::log2(ranks);
  }
  return ranks;
}

/// Of sends and receives, each message of which is cut into so many parts. A channel that carries
/// any has a program for each lane of each rank, empty or not: neighbours meet in two rounds,
/// others in so many that no channel is idle.
double memory_of_messages(const CallCompiler& compiler, std::uint32_t parts) {
  constexpr double lanes = 16;
  const Collective collective = compiler.spec().collective;
  const double ranks = compiler.ranks();
  const double messages = collective == Collective::all_to_all ? ranks * ranks : ranks;
  const double channels = compiler.nccl()->point_to_point().channels;
  const double used =
      collective == Collective::send_recv ? std::min(channels, 2.0 * parts) : channels;
  return bytes_per_connection * messages * parts + sizeof(RunList) * lanes * ranks * used;
}

double textbook_connections(std::string_view algorithm, double ranks) {
  const bool every_pair =
      algorithm == "one_shot" || algorithm == "two_shot" || algorithm == "direct";
  if (every_pair) return ranks * ranks;
  if (algorithm.find("recursive") != std::string_view::npos) return ranks * std::log2(ranks);
  return 2 * ranks;
}

double connections_of(const CallCompiler& compiler, Bytes size) {
  const CallSpec& spec = compiler.spec();
  const double ranks = compiler.ranks();
  if (!compiler.is_nccl()) {
    return spec.run.channels.value_or(1) * textbook_connections(spec.run.algorithm, ranks);
  }
  if (compiler.nccl() == nullptr) return ranks;
  const Choice choice = compiler.nccl()->choose(*compiler.nccl_function(), size);
  return choice.channels * nccl_connections(*compiler.nccl(), choice.algorithm);
}

/// The number behind `key` of a file such as /proc/meminfo, or in a file that has just one.
double number_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (!key.empty() && word != key) continue;
    double number = 0;
    if (key.empty()) {
      char* end = nullptr;
      number = std::strtod(word.c_str(), &end);
      return *end == '\0' ? number : std::numeric_limits<double>::infinity();
    }
    if (file >> number) return number;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

double memory_needed(const CallCompiler& compiler, Bytes size) {
  if (compiler.nccl() != nullptr && !compiler.nccl_function()) {
    return memory_of_messages(compiler, compiler.decide(size).parts);
  }
  return bytes_per_connection * connections_of(compiler, size);
}

double memory_available() {
  constexpr double kibibyte = 1024;
  double bytes = kibibyte * number_in("/proc/meminfo", "MemAvailable:");
  bytes = std::min(bytes, number_in("/sys/fs/cgroup/memory.max", ""));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
  }
  return bytes;
}

double memory_needed(const CallCompiler& compiler, std::optional<NcclAlgorithm> algorithm,
                     std::uint32_t channels) {
  if (!algorithm) return memory_of_messages(compiler, channels);
  return bytes_per_connection * channels * nccl_connections(*compiler.nccl(), *algorithm);
}

void require_memory(double needed, const std::string& what, const std::string& accepted,
                    double available) {
  if (needed <= usable_share * available) return;
  throw InputError(fmt::format("{} needs about {:.1f} GB of memory, {:.1f} are available", what,
                               1e-9 * needed, 1e-9 * available),
                   accepted);
}

void require_memory(const CallCompiler& compiler, Bytes size, double available) {
  require_memory(memory_needed(compiler, size),
                 fmt::format("simulating {} on {} ranks", to_string(compiler.spec().collective),
                             compiler.ranks()),
                 "`collsim estimate`, fewer ranks (-n), or no --exact", available);
}

void require_memory_of_layout(const CallCompiler& compiler, double needed) {
  require_memory(
      needed,
      fmt::format("laying out {} on {} ranks", to_string(compiler.spec().collective),
                  compiler.ranks()),
      "fewer ranks (-n); `collsim run` without --exact and `collsim estimate` need less");
}

}  // namespace collsim
