#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "tools/recorder/cuda_check.h"
#include "tools/recorder/nccl_call.h"
#include "tools/recorder/nccl_choice.h"
#include "tools/recorder/rank_environment.h"
#include "tools/recorder/rank_recorder.h"
#include "tools/recorder/row_message.h"

namespace collsim::recorder {

namespace {

/// What NCCL says of a call when it is made for the first time.
struct Answer {
  std::optional<NcclChoice> choice;
  std::optional<double> estimate_seconds;
  std::uint64_t wrong = 0;
};

/// NCCL's NCCL_WIN_REQUIRED_ALIGNMENT, which releases before 2.27 do not declare.
constexpr std::size_t window_alignment = 4096;

/// Time per call of one batch of calls.
struct BatchTime {
  double mean = 0;  ///< over ranks
  double slowest = 0;
};

void join_host(const Hosts& hosts, int rank) {
  const std::string path = "/run/netns/" + host_namespace(rank / hosts.gpus);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || setns(file, CLONE_NEWNET) != 0) {
    throw std::runtime_error("cannot join " + path + ": " + std::strerror(errno));
  }
  close(file);
}

/// NCCL's log as a file that grows.
class Log {
 public:
  explicit Log(std::filesystem::path path) : path_(std::move(path)) {}

  /// What was logged since the last time.
  std::string news() {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(read_);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    read_ += static_cast<std::streamoff>(text.size());
    return text;
  }

 private:
  std::filesystem::path path_;
  std::streamoff read_ = 0;
};

/// Stops NCCL's INFO log, which would be timed with every call. The function that makes NCCL read
/// its variables again has been exported since 2.24 but is deprecated: without it the log goes on.
void quieten_log(const std::filesystem::path& timing_log) {
  void* reset = dlsym(RTLD_DEFAULT, "ncclResetDebugInit");
  if (reset == nullptr) return;
  set_variables({{"NCCL_DEBUG", "WARN"}, {"NCCL_DEBUG_FILE", timing_log.string()}});
  reinterpret_cast<void (*)()>(reset)();
}

/// One rank with its GPU, communicator and buffers.
class RankRecorder {
 public:
  RankRecorder(const Run& run, const std::filesystem::path& log, int rank, SharedState& shared)
      : run_(run), rank_(rank), shared_(shared), log_(log) {
    start_cuda();
    start_nccl();
    log_.news();
  }
  RankRecorder(const RankRecorder&) = delete;
  RankRecorder& operator=(const RankRecorder&) = delete;

  /// Makes the first call of every case; cases that only differ in how they are launched share it.
  void ask_all() {
    for (std::size_t i = 0; i < run_.cases.size(); ++i) {
      at_case(i);
      const Case& c = run_.cases[i];
      const auto key = std::tuple{c.collective, c.bytes, c.in_place};
      if (!predictor_.contains(key)) predictor_[key] = ask(c);
    }
  }

  void time_all(const Tell& tell) {
    for (std::size_t i = 0; i < run_.cases.size(); ++i) {
      at_case(i);
      const Case& c = run_.cases[i];
      Row row = time(c);
      const Answer& answer = predictor_.at({c.collective, c.bytes, c.in_place});
      row.choice = answer.choice;
      row.estimate_seconds = answer.estimate_seconds;
      row.wrong = answer.wrong;
      if (rank_ == 0) tell(row_message(i, row));
    }
  }

  void stop() {
    shared_.wait_for_all();
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
    for (const ncclWindow_t window : windows_) {
      check(ncclCommWindowDeregister(communicator_, window), "ncclCommWindowDeregister");
    }
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
    for (void* handle : handles_) {
      check(ncclCommDeregister(communicator_, handle), "ncclCommDeregister");
    }
#endif
    check(ncclCommDestroy(communicator_), "ncclCommDestroy");
  }

 private:
  void start_cuda() {
    check(cudaSetDevice(run_.gpus.at(static_cast<std::size_t>(rank_))), "cudaSetDevice");
    std::int64_t bytes = 4096;
    for (const Case& c : run_.cases) bytes = std::max(bytes, c.bytes);
    first_ = allocate(static_cast<std::size_t>(bytes));
    second_ = allocate(static_cast<std::size_t>(bytes));
    check(cudaMalloc(&wrong_, sizeof(*wrong_)), "cudaMalloc");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }

  /// Only memory that other processes can map can be registered, which NCCL allocates.
  float* allocate(std::size_t bytes) {
    buffer_bytes_ = (bytes + window_alignment - 1) / window_alignment * window_alignment;
    void* buffer = nullptr;
    if (run_.buffers != Buffers::plain) {
      check(ncclMemAlloc(&buffer, buffer_bytes_), "ncclMemAlloc");
    } else {
      check(cudaMalloc(&buffer, buffer_bytes_), "cudaMalloc");
    }
    return static_cast<float*>(buffer);
  }

  /// Makes both buffers symmetric windows of the communicator.
  void make_windows() {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
    for (float* buffer : {first_, second_}) {
      ncclWindow_t window{};
      check(ncclCommWindowRegister(communicator_, buffer, buffer_bytes_, &window,
                                   NCCL_WIN_COLL_SYMMETRIC),
            "ncclCommWindowRegister", communicator_);
      windows_.push_back(window);
    }
#else
    throw std::runtime_error("registered buffers need NCCL 2.27 or newer");
#endif
  }

  /// Tells NCCL of both buffers, as ncclCommRegister() does.
  void register_buffers() {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
    for (float* buffer : {first_, second_}) {
      void* handle = nullptr;
      check(ncclCommRegister(communicator_, buffer, buffer_bytes_, &handle), "ncclCommRegister",
            communicator_);
      handles_.push_back(handle);
    }
#else
    throw std::runtime_error("user-registered buffers need NCCL 2.19 or newer");
#endif
  }

  void start_nccl() {
    static_assert(sizeof(ncclUniqueId) <= sizeof(SharedState::unique_id));
    ncclUniqueId id{};
    if (rank_ == 0) {
      check(ncclGetUniqueId(&id), "ncclGetUniqueId");
      std::memcpy(shared_.unique_id.data(), &id, sizeof(id));
    }
    shared_.wait_for_all();
    std::memcpy(&id, shared_.unique_id.data(), sizeof(id));
    check(ncclCommInitRank(&communicator_, run_.ranks, id, rank_), "ncclCommInitRank");
    if (run_.buffers == Buffers::registered) make_windows();
    if (run_.buffers == Buffers::user_registered) register_buffers();
    shared_.wait_for_all();
    if (rank_ == 0) ++shared_.progress;
  }

  void at_case(std::size_t index) {
    shared_.wait_for_all();
    if (rank_ != 0) return;
    shared_.current_case = static_cast<std::int64_t>(index);
    ++shared_.progress;
  }

  /// Waits, spinning, for all that is on the stream; also looks for what NCCL's own threads met.
  void finish() {
    cudaError_t state = cudaErrorNotReady;
    for (unsigned turns = 1; (state = cudaStreamQuery(stream_)) == cudaErrorNotReady; ++turns) {
      if (turns % 1024 != 0) continue;
      ncclResult_t result = ncclSuccess;
      check(ncclCommGetAsyncError(communicator_, &result), "ncclCommGetAsyncError");
      check(result, "NCCL's threads", communicator_);
    }
    check(state, "wait for the stream");
    static_cast<void>(cudaGetLastError());  // forgets cudaErrorNotReady, which is no error
  }

  NcclCall call_of(const Case& c) const {
    return lay_out(c, run_.ranks, rank_, first_, second_);
  }

  Answer ask(const Case& c) {
    if (c.collective == "launch") return {};
    const NcclCall call = call_of(c);
    Answer answer;
    answer.estimate_seconds = estimate(call);
    // All bits set is a NaN: what the call does not write shows.
    check(cudaMemsetAsync(second_, 0xff, static_cast<std::size_t>(c.bytes), stream_), "cudaMemset");
    check(cudaMemsetAsync(wrong_, 0, sizeof(*wrong_), stream_), "cudaMemset");
    fill_values(const_cast<float*>(call.send), call.send_count, rank_, stream_);
    log_.news();
    enqueue(call, communicator_, stream_);
    count_wrong(call.receive, call.expected, wrong_, stream_);
    unsigned long long wrong = 0;
    check(cudaMemcpyAsync(&wrong, wrong_, sizeof(wrong), cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpy");
    finish();
    if (!is_point_to_point(c)) answer.choice = last_choice(log_.news());
    shared_.wrong += wrong;
    shared_.wait_for_all();
    answer.wrong = shared_.wrong;
    shared_.wait_for_all();
    if (rank_ == 0) shared_.wrong = 0;
    return answer;
  }

  std::optional<double> estimate(const NcclCall& call) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 22, 0)
    if (is_point_to_point(call.measured)) return std::nullopt;
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    check(ncclGroupStart(), "ncclGroupStart", communicator_);
    enqueue(call, communicator_, stream_);
    const ncclResult_t result = ncclGroupSimulateEnd(&info);
    if (result != ncclSuccess || !(info.estimatedTime > 0)) return std::nullopt;
    return info.estimatedTime * 1e-6;
#else
    static_cast<void>(call);
    return std::nullopt;
#endif
  }

  /// Time per call of `calls` calls that `launch` puts on the stream.
  template <typename Launch>
  BatchTime time_batch(int calls, const Launch& launch) {
    using Clock = std::chrono::steady_clock;
    shared_.wait_for_all();
    const auto start = Clock::now();
    launch();
    finish();
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    shared_.rank_seconds.at(static_cast<std::size_t>(rank_)) = elapsed.count() / calls;
    shared_.wait_for_all();
    BatchTime time;
    for (int rank = 0; rank < run_.ranks; ++rank) {
      const double seconds = shared_.rank_seconds.at(static_cast<std::size_t>(rank));
      time.mean += seconds / run_.ranks;
      time.slowest = std::max(time.slowest, seconds);
    }
    shared_.wait_for_all();
    if (rank_ == 0) ++shared_.progress;
    return time;
  }

  /// Every rank sees the same times, so all decide alike on how many calls to make.
  Row time(const Case& c) {
    const NcclCall call = call_of(c);
    const auto launch_plain = [&](int calls) {
      return [this, &call, calls] {
        for (int i = 0; i < calls; ++i) enqueue(call, communicator_, stream_);
      };
    };
    const auto within = [](double most, double seconds_each, int min_count, int count) {
      return static_cast<int>(std::clamp(most / std::max(seconds_each, 1e-9),
                                         static_cast<double>(std::min(min_count, count)),
                                         static_cast<double>(count)));
    };
    double call_seconds = time_batch(1, launch_plain(1)).slowest;
    const int warmup = within(run_.case_seconds / 4, call_seconds, 0, run_.warmup);
    if (warmup > 0) call_seconds = time_batch(warmup, launch_plain(warmup)).slowest;

    Row row;
    row.measured = c;
    row.repeats = within(run_.case_seconds, call_seconds, 3, run_.repeats);
    row.iterations = within(run_.case_seconds, call_seconds * row.repeats, 1, run_.iterations);
    const std::vector<BatchTime> times = c.graph ? time_graph(row, launch_plain(row.iterations))
                                                 : time_repeats(row, launch_plain(row.iterations));
    std::vector<double> means;
    std::vector<double> slowest;
    for (const BatchTime& time : times) {
      means.push_back(time.mean);
      slowest.push_back(time.slowest);
    }
    row.seconds = statistics_of(means);
    row.slowest_rank_seconds = statistics_of(slowest).median;
    return row;
  }

  template <typename Launch>
  std::vector<BatchTime> time_repeats(const Row& row, const Launch& launch) {
    std::vector<BatchTime> times;
    for (int i = 0; i < row.repeats; ++i) times.push_back(time_batch(row.iterations, launch));
    return times;
  }

  template <typename Launch>
  std::vector<BatchTime> time_graph(const Row& row, const Launch& launch) {
    cudaGraph_t graph{};
    cudaGraphExec_t executable{};
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin capture");
    launch();
    check(cudaStreamEndCapture(stream_, &graph), "end capture");
    check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    const auto launch_graph = [&] {
      check(cudaGraphLaunch(executable, stream_), "cudaGraphLaunch");
    };
    time_batch(row.iterations, launch_graph);  // the first launch uploads the graph
    const std::vector<BatchTime> times = time_repeats(row, launch_graph);
    check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return times;
  }

  const Run& run_;
  int rank_;
  SharedState& shared_;
  Log log_;
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  float* first_ = nullptr;
  float* second_ = nullptr;
  std::size_t buffer_bytes_ = 0;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  std::vector<ncclWindow_t> windows_;
#endif
  std::vector<void*> handles_;  // of registered buffers
  unsigned long long* wrong_ = nullptr;
  std::map<std::tuple<std::string, std::int64_t, bool>, Answer> predictor_;
};

std::string version_text(int version, int major, int minor) {
  return std::to_string(version / major) + '.' + std::to_string(version % major / minor);
}

/// The value of the first line "key ...: value" or "key ... value" in a file of /proc.
std::string value_in(const char* path, const std::string& key, const std::string& separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto place = line.find(separator, key.size());
    if (place != std::string::npos) return line.substr(place + separator.size());
  }
  return "unknown";
}

std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  return std::getline(file, version) ? version : "unknown";
}

}  // namespace

void record_rank(const Run& run, const std::filesystem::path& logs, const std::string& label,
                 int rank, SharedState& shared, const Tell& tell) {
  const std::string stem = label + '-' + std::to_string(rank);
  const std::filesystem::path log = logs / (stem + ".log");
  if (run.hosts) join_host(*run.hosts, rank);
  set_variables(variables_of(run, rank));
  set_variables({{"NCCL_DEBUG", "INFO"},
                 {"NCCL_DEBUG_SUBSYS", "INIT,GRAPH,TUNING,ENV"},
                 {"NCCL_DEBUG_FILE", log.string()}});
  RankRecorder recorder(run, log, rank, shared);
  recorder.ask_all();
  quieten_log(logs / (stem + "-timing.log"));
  recorder.time_all(tell);
  if (rank == 0) tell("done");
  recorder.stop();
}

void tell_machine(SharedState& shared, const Tell& tell) {
  const auto fact = [&](const std::string& name, const std::string& value) {
    tell("fact " + name + ' ' + value);
  };
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  fact("gpu", properties.name);
  fact("gpus", std::to_string(gpus));
  fact("gpu_multiprocessors", std::to_string(properties.multiProcessorCount));
  fact("gpu_architecture",
       "sm_" + std::to_string(properties.major) + std::to_string(properties.minor));
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  fact("cuda_of_driver", version_text(version, 1000, 10));
  check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  fact("cuda", version_text(version, 1000, 10));
  check(ncclGetVersion(&version), "ncclGetVersion");
  fact("nccl", version_text(version, 10000, 100) + '.' + std::to_string(version % 100));
  fact("driver", driver_version());
  fact("cpu", value_in("/proc/cpuinfo", "model name", ": "));
  fact("cpus", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  utsname names{};
  if (uname(&names) == 0) fact("kernel", names.release);
  ++shared.progress;
  tell("done");
}

}  // namespace collsim::recorder
