// What links between GPUs carry while thread blocks write to peers as NCCL's do, by who writes to whom:
//   nvcc -std=c++20 -O2 -arch=native tools/links/link_patterns.cu -o link-patterns && ./link-patterns > links.csv
// One process, all GPUs that reach each other. Nothing but stores: what is lost, the links lose.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr unsigned threads = 512;
constexpr unsigned cluster = 4;  // thread blocks that NCCL launches together on Hopper and later
constexpr int first_with_clusters = 9;
constexpr std::size_t slice = 512 << 10;   // bytes that a thread block writes to a peer before the next
constexpr std::size_t region = 4 * slice;  // that it has at each peer, so that all stays in caches
constexpr int max_gpus = 8;
constexpr unsigned max_blocks = 32;
constexpr unsigned long long duration = 5'000'000;  // of a measurement, in nanoseconds
constexpr int repeats = 5;

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

struct Targets {
  char* peers[max_gpus];
  int count;
};

__device__ unsigned long long nanoseconds() {
  unsigned long long time = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

/// Writes slice after slice to one peer after the other until the time is over. `written` counts
/// the bytes of each thread block.
__global__ void write_to_peers(Targets targets, unsigned long long* written) {
  const unsigned long long end = nanoseconds() + duration;
  const uint4 value{blockIdx.x, threadIdx.x, 0, 0};
  std::size_t slices = 0;
  bool over = false;
  while (!over) {
    char* peer = targets.peers[(blockIdx.x + slices) % targets.count] + blockIdx.x * region;
    auto* out = reinterpret_cast<uint4*>(peer + slices % (region / slice) * slice);
    for (std::size_t i = threadIdx.x; i < slice / sizeof(uint4); i += 4 * threads) {
      out[i] = value;
      out[i + threads] = value;
      out[i + 2 * threads] = value;
      out[i + 3 * threads] = value;
    }
    __threadfence_system();
    ++slices;
    over = __syncthreads_or(threadIdx.x == 0 && nanoseconds() > end) != 0;
  }
  if (threadIdx.x == 0) written[blockIdx.x] = slices * slice;
}

/// Who writes to whom.
struct Pattern {
  std::string name;
  std::vector<std::vector<int>> peers;  // by GPU
};

std::vector<Pattern> patterns_of(int gpus) {
  const auto none = std::vector<std::vector<int>>(gpus);
  std::vector<Pattern> patterns{{"one", none}, {"pair", none}, {"ring", none}, {"chain", none},
                                {"all", none}, {"from_one", none}};
  patterns[0].peers[0] = {1};
  patterns[1].peers[0] = {1};
  patterns[1].peers[1] = {0};
  for (int gpu = 0; gpu < gpus; ++gpu) {
    patterns[2].peers[gpu] = {(gpu + 1) % gpus};
    if (gpu > 0) patterns[3].peers[gpu].push_back(gpu - 1);
    if (gpu + 1 < gpus) patterns[3].peers[gpu].push_back(gpu + 1);
    for (int peer = 0; peer < gpus; ++peer) {
      if (peer != gpu) patterns[4].peers[gpu].push_back(peer);
    }
    if (gpu > 0) patterns[5].peers[0].push_back(gpu);
  }
  for (int sources = 2; sources < gpus; ++sources) {
    Pattern to_one{"to_one_from_" + std::to_string(sources), none};
    for (int gpu = 1; gpu <= sources; ++gpu) to_one.peers[gpu] = {0};
    patterns.push_back(to_one);
  }
  return patterns;
}

/// A GPU and the buffers in it that others write to.
struct Gpu {
  char* buffer = nullptr;  // a region for each thread block of each GPU
  unsigned long long* written = nullptr;
  bool clusters = false;
};

std::vector<Gpu> open_gpus(int count) {
  std::vector<Gpu> gpus(count);
  for (int gpu = 0; gpu < count; ++gpu) {
    check(cudaSetDevice(gpu), "choose a GPU");
    for (int peer = 0; peer < count; ++peer) {
      if (peer != gpu) check(cudaDeviceEnablePeerAccess(peer, 0), "reach a peer");
    }
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "ask what the GPU is");
    gpus[gpu].clusters = properties.major >= first_with_clusters;
    check(cudaMalloc(&gpus[gpu].buffer, count * max_blocks * region), "allocate");
    check(cudaMalloc(&gpus[gpu].written, max_blocks * sizeof(unsigned long long)), "allocate");
  }
  return gpus;
}

void launch(const std::vector<Gpu>& gpus, int gpu, const std::vector<int>& peers, unsigned blocks) {
  Targets targets{};
  targets.count = static_cast<int>(peers.size());
  for (std::size_t i = 0; i < peers.size(); ++i) {
    targets.peers[i] = gpus[peers[i]].buffer + gpu * max_blocks * region;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = gpus[gpu].clusters ? 1 : 0;
  check(cudaLaunchKernelEx(&config, write_to_peers, targets, gpus[gpu].written), "launch");
}

/// GB/s that a GPU has written, once its kernel is over.
double rate_of(const Gpu& gpu, unsigned blocks) {
  std::vector<unsigned long long> written(blocks);
  check(cudaMemcpy(written.data(), gpu.written, blocks * sizeof(written[0]),
                   cudaMemcpyDeviceToHost),
        "read the counts");
  const auto bytes = std::accumulate(written.begin(), written.end(), 0ULL);
  return static_cast<double>(bytes) / static_cast<double>(duration);
}

/// GB/s that each GPU writes.
std::vector<double> measure(const std::vector<Gpu>& gpus, const Pattern& pattern, unsigned blocks) {
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (pattern.peers[gpu].empty()) continue;
    check(cudaSetDevice(static_cast<int>(gpu)), "choose a GPU");
    launch(gpus, static_cast<int>(gpu), pattern.peers[gpu], blocks);
  }
  std::vector<double> rates(gpus.size(), 0);
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (pattern.peers[gpu].empty()) continue;
    check(cudaSetDevice(static_cast<int>(gpu)), "choose a GPU");
    rates[gpu] = rate_of(gpus[gpu], blocks);
  }
  return rates;
}

/// Of several measurements, what each GPU writes in the median.
std::vector<double> median_of(const std::vector<Gpu>& gpus, const Pattern& pattern,
                              unsigned blocks) {
  std::vector<std::vector<double>> of_gpus(gpus.size());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const std::vector<double> rates = measure(gpus, pattern, blocks);
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) of_gpus[gpu].push_back(rates[gpu]);
  }
  std::vector<double> medians;
  for (std::vector<double>& rates : of_gpus) {
    std::sort(rates.begin(), rates.end());
    medians.push_back(rates[repeats / 2]);
  }
  return medians;
}

void print_row(const Pattern& pattern, unsigned blocks, const std::vector<double>& written) {
  std::vector<double> received(written.size(), 0);
  for (std::size_t gpu = 0; gpu < written.size(); ++gpu) {
    for (const int peer : pattern.peers[gpu]) {
      received[peer] += written[gpu] / static_cast<double>(pattern.peers[gpu].size());
    }
  }
  for (std::size_t gpu = 0; gpu < written.size(); ++gpu) {
    std::printf("%s,%u,%zu,%.1f,%.1f\n", pattern.name.c_str(), blocks, gpu, written[gpu],
                received[gpu]);
  }
}

void run() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "count GPUs");
  if (count < 2) throw std::runtime_error("there is one GPU, where two are needed");
  const std::vector<Gpu> gpus = open_gpus(std::min(count, max_gpus));
  std::puts("pattern,thread_blocks,gpu,GBps_written,GBps_received");
  for (const Pattern& pattern : patterns_of(static_cast<int>(gpus.size()))) {
    measure(gpus, pattern, cluster);  // warms up
    for (unsigned blocks = cluster; blocks <= max_blocks; blocks += cluster) {
      print_row(pattern, blocks, median_of(gpus, pattern, blocks));
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "link-patterns: %s\n", error.what());
    return 1;
  }
  return 0;
}
