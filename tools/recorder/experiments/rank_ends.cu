// When the ranks of a tree of two are done, each on its own: who waits for whom.
//   nvcc -std=c++20 -O2 -arch=native -INCCL/include tools/recorder/experiments/rank_ends.cu -o rank-ends
//     NCCL/lib/libnccl.so.2 && LD_LIBRARY_PATH=NCCL/lib ./rank-ends > rank-ends.csv
// A process for each setting, since NCCL reads its environment once. Both kernels are held back
// until both are queued, so that they begin together; the median of 20 calls. NVLS stays off.

#include <cuda_runtime.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int ranks = 2;
constexpr int calls = 20;
constexpr int calls_before = 4;

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result));
}

struct Setting {
  std::string protocol;
  int channels;
  std::string buffer;  // bytes of NCCL_LL_BUFFSIZE; empty: NCCL's own
};

/// What a rank needs; released when its process ends.
struct Rank {
  ncclComm_t communicator{};
  cudaStream_t stream{};
  cudaEvent_t begin{};
  cudaEvent_t end{};
  float* in = nullptr;
  float* out = nullptr;
};
using Ranks = std::array<Rank, ranks>;

/// Keeps a stream from going on until the CPU has counted so far.
__global__ void hold(const volatile int* count, int until) {
  while (*count < until) {
  }
}

void use(int rank) {
  check(cudaSetDevice(rank), "cannot use a GPU");
}

Ranks make_ranks(std::size_t max_bytes) {
  std::array<ncclComm_t, ranks> communicators{};
  check(ncclCommInitAll(communicators.data(), ranks, nullptr), "cannot make communicators");
  Ranks all;
  for (int rank = 0; rank < ranks; ++rank) {
    use(rank);
    Rank& own = all[rank];
    own.communicator = communicators[rank];
    check(cudaStreamCreate(&own.stream), "cannot make a stream");
    check(cudaEventCreate(&own.begin), "cannot make an event");
    check(cudaEventCreate(&own.end), "cannot make an event");
    check(cudaMalloc(&own.in, max_bytes), "cannot have memory");
    check(cudaMalloc(&own.out, max_bytes), "cannot have memory");
    check(cudaMemset(own.in, 0, max_bytes), "cannot clear memory");
  }
  return all;
}

void all_reduce(const Ranks& all, std::size_t bytes) {
  check(ncclGroupStart(), "cannot begin a group");
  for (const Rank& rank : all) {
    check(ncclAllReduce(rank.in, rank.out, bytes / sizeof(float), ncclFloat, ncclSum,
                        rank.communicator, rank.stream),
          "cannot all-reduce");
  }
  check(ncclGroupEnd(), "cannot end a group");
}

void wait_for(const Ranks& all) {
  for (int rank = 0; rank < ranks; ++rank) {
    use(rank);
    check(cudaStreamSynchronize(all[rank].stream), "a call failed");
  }
}

/// By rank, how long a call takes, in microseconds.
std::array<float, ranks> time_call(const Ranks& all, std::size_t bytes, volatile int* count) {
  const int next = *count + 1;
  for (int rank = 0; rank < ranks; ++rank) {
    use(rank);
    hold<<<1, 1, 0, all[rank].stream>>>(count, next);
    check(cudaEventRecord(all[rank].begin, all[rank].stream), "cannot record an event");
  }
  all_reduce(all, bytes);
  for (int rank = 0; rank < ranks; ++rank) {
    use(rank);
    check(cudaEventRecord(all[rank].end, all[rank].stream), "cannot record an event");
  }
  *count = next;
  wait_for(all);
  std::array<float, ranks> times{};
  for (int rank = 0; rank < ranks; ++rank) {
    check(cudaEventElapsedTime(&times[rank], all[rank].begin, all[rank].end), "cannot read events");
    times[rank] *= 1000;
  }
  return times;
}

/// What must be loaded and connected before calls can be held back.
void prepare(const Ranks& all, const std::vector<std::size_t>& sizes, volatile int* count) {
  for (int rank = 0; rank < ranks; ++rank) {
    use(rank);
    hold<<<1, 1, 0, all[rank].stream>>>(count, *count);
  }
  for (const std::size_t bytes : sizes) all_reduce(all, bytes);
  wait_for(all);
}

void measure(const Setting& setting, const std::vector<std::size_t>& sizes) {
  const Ranks all = make_ranks(sizes.back());
  int* count = nullptr;
  check(cudaHostAlloc(&count, sizeof(int), cudaHostAllocPortable | cudaHostAllocMapped),
        "cannot have host memory");
  *count = 0;
  prepare(all, sizes, count);
  for (const std::size_t bytes : sizes) {
    std::array<std::vector<float>, ranks> times;
    for (int call = 0; call < calls_before + calls; ++call) {
      const auto of_call = time_call(all, bytes, count);
      if (call < calls_before) continue;
      for (int rank = 0; rank < ranks; ++rank) times[rank].push_back(of_call[rank]);
    }
    for (auto& of_rank : times) std::sort(of_rank.begin(), of_rank.end());
    std::printf("%s,%d,%s,%zu,%.1f,%.1f\n", setting.protocol.c_str(), setting.channels,
                setting.buffer.c_str(), bytes, times[0][calls / 2], times[1][calls / 2]);
  }
}

void set(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}

/// Whether the setting could be measured; in a process of its own.
bool measured(const Setting& setting, const std::vector<std::size_t>& sizes) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    const std::string channels = std::to_string(setting.channels);
    set("NCCL_NVLS_ENABLE", "0");
    set("NCCL_ALGO", "Tree");
    set("NCCL_PROTO", setting.protocol);
    set("NCCL_MIN_NCHANNELS", channels);
    set("NCCL_MAX_NCHANNELS", channels);
    set("NCCL_LL_BUFFSIZE", setting.buffer);
    int status = 0;
    try {
      measure(setting, sizes);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s on %d channels: %s\n", setting.protocol.c_str(), setting.channels,
                   error.what());
      status = 1;
    }
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

/// 256 KiB a channel, and so on to 64 MiB a channel, but at most a GiB.
std::vector<std::size_t> sizes_on(int channels) {
  std::vector<std::size_t> sizes;
  for (std::size_t each = 256 << 10; each <= 64U << 20; each *= 2) {
    if (each * channels <= 1U << 30) sizes.push_back(each * channels);
  }
  return sizes;
}

}  // namespace

int main() {
  std::printf("protocol,channels,ll_buffer,bytes,rank0_us,rank1_us\n");
  bool all = true;
  for (const int channels : {1, 4, 12, 18, 24}) {
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
      all = measured({protocol, channels, ""}, sizes_on(channels)) && all;
    }
    all = measured({"LL", channels, "262144"}, sizes_on(channels)) && all;
  }
  return all ? 0 : 1;
}
