// NCCL's tuner plug-in, loaded and called as NCCL does.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/tuning/tuner_file.h"
#include "tests/support/temporary_file.h"

namespace collsim::test {
namespace {

using Logger = void (*)(int, unsigned long, const char*, int, const char*, ...);

/// ncclTuner_v4_t and ncclTuner_v5_t of NCCL's tuner_v4.h and tuner_v5.h.
struct TunerV4 {
  const char* name;
  int (*init)(std::size_t, std::size_t, Logger, void**);
  int (*choose)(void*, int, std::size_t, int, float**, int, int, int, int*);
  int (*finish)(void*);
};
struct TunerV5 {
  const char* name;
  int (*init)(void**, std::uint64_t, std::size_t, std::size_t, Logger, void*, void*);
  int (*choose)(void*, int, std::size_t, int, float**, int, int, int, int*);
  int (*finish)(void*);
};

constexpr std::size_t algorithm_count = 7;
constexpr std::size_t protocol_count = 3;
using Table = std::array<float, algorithm_count * protocol_count>;

/// A way that NCCL runs, of the cheapest time of a table.
struct Way {
  std::size_t algorithm = 0;
  std::size_t protocol = 0;
  int channels = 0;
  bool operator==(const Way&) const = default;
};

std::string lines;  // what the plug-in has logged: a logger of C has no other place

void log_line(int /*level*/, unsigned long /*subsystems*/, const char* /*file*/, int /*line*/,
              const char* format, ...) {
  std::array<char, 1024> text{};
  va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  lines += std::string(text.data()) + "\n";
}

/// A communicator whose NCCL has loaded the plug-in with a file of rules.
class TunedCommunicator {
 public:
  explicit TunedCommunicator(const std::string& rules, std::size_t ranks = 8, std::size_t nodes = 1)
      : file_("rules.conf", rules), library_(dlopen(COLLSIM_TUNER_PLUGIN, RTLD_NOW)) {
    lines.clear();
    setenv("NCCL_TUNER_CONFIG_FILE", file_.path().c_str(), 1);
    tuner_ = static_cast<const TunerV5*>(dlsym(library_, "ncclTunerPlugin_v5"));
    EXPECT_EQ(tuner_->init(&context_, 7, ranks, nodes, log_line, nullptr, nullptr), 0);
  }
  ~TunedCommunicator() {
    tuner_->finish(context_);
    dlclose(library_);
    unsetenv("NCCL_TUNER_CONFIG_FILE");
  }
  TunedCommunicator(const TunedCommunicator&) = delete;
  TunedCommunicator& operator=(const TunedCommunicator&) = delete;

  std::string path() const { return file_.path(); }
  /// What NCCL runs for so many bytes: it takes the tree with LL on 24 channels by itself, and
  /// cannot run `impossible`.
  Way way(int function, std::size_t bytes, std::optional<std::size_t> impossible = {}) const {
    Table times{};
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = static_cast<float>(10 + i);
    if (impossible) times[*impossible] = -1;
    int channels = 24;
    EXPECT_EQ(tuner_->choose(context_, function, bytes, 1, reinterpret_cast<float**>(times.data()),
                             algorithm_count, protocol_count, 0, &channels),
              0);
    std::size_t best = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] >= 0 && times[i] < times[best]) best = i;
    }
    return {best / protocol_count, best % protocol_count, channels};
  }

 private:
  TemporaryFile file_;
  void* library_ = nullptr;
  const TunerV5* tuner_ = nullptr;
  void* context_ = nullptr;
};

constexpr int broadcast = 0;
constexpr int all_reduce = 4;
const Way own{0, 0, 24};

// Every rule that collsim can write means the same to the plug-in. NCCL's numbers of functions are
// those of nccl.h's order: broadcast, reduce, all-gather, reduce-scatter, all-reduce.
TEST(TunerPlugin, takes_what_crossover_exports) {
  const std::array<int, nccl_function_count> numbers{4, 2, 3, 0, 1};  // by NcclFunction
  for (const NcclFunction function : all_nccl_functions) {
    for (std::size_t a = 0; a < all_nccl_algorithms.size(); ++a) {
      for (std::size_t p = 0; p < all_nccl_protocols.size(); ++p) {
        const TunerRule rule{
            function, Bytes{100}, Bytes{200}, all_nccl_algorithms[a], all_nccl_protocols[p],
            6,        1,          8};
        const TunedCommunicator communicator("# why\n\n" + tuner_line(rule) + "\n");
        const int number = numbers[static_cast<std::size_t>(function)];
        const Way ruled{a, p, 6};
        EXPECT_EQ(communicator.way(number, 100), ruled) << tuner_line(rule);
        EXPECT_EQ(communicator.way(number, 200), ruled) << tuner_line(rule);
        EXPECT_EQ(communicator.way(number, 99), own);
        EXPECT_EQ(communicator.way(number, 201), own);
        EXPECT_EQ(communicator.way((number + 1) % 5, 150), own);
      }
    }
  }
}

TEST(TunerPlugin, takes_the_first_line_that_fits) {
  const TunedCommunicator communicator(
      "allreduce,0,100,ring,ll128,2,-1,-1\n"
      "allreduce,50,1000,nvls,simple,-1,1,8,1,0\n");  // with the two fields that may follow
  EXPECT_EQ(communicator.way(all_reduce, 60), (Way{1, 1, 2}));
  EXPECT_EQ(communicator.way(all_reduce, 101), (Way{4, 2, 24}));  // -1: NCCL's channels
}

TEST(TunerPlugin, leaves_other_communicators_to_NCCL) {
  const std::string rules = "broadcast,0,1000,ring,simple,2,2,16\n";
  EXPECT_EQ(TunedCommunicator(rules, 16, 2).way(broadcast, 10), (Way{1, 2, 2}));
  EXPECT_EQ(TunedCommunicator(rules, 16, 4).way(broadcast, 10), own);
  EXPECT_EQ(TunedCommunicator(rules, 8, 2).way(broadcast, 10), own);
}

// NVLS, where the switch has no multicast.
TEST(TunerPlugin, leaves_what_NCCL_cannot_run) {
  const TunedCommunicator communicator("allreduce,0,1000,nvls,simple,16,1,8\n");
  EXPECT_EQ(communicator.way(all_reduce, 10), (Way{4, 2, 16}));
  EXPECT_EQ(communicator.way(all_reduce, 10, 4 * protocol_count + 2), own);
}

TEST(TunerPlugin, names_each_line_that_is_no_rule) {
  const std::vector<std::string> bad{
      "allreduce",
      "allreduce,0,100,ring,ll,2,1",
      "allreduce,0,100,ring,ll,2,1,",
      "alltoall,0,100,ring,ll,2,1,8",
      "allreduce,-1,100,ring,ll,2,1,8",
      "allreduce,0,1M,ring,ll,2,1,8",
      "allreduce,0,100,rings,ll,2,1,8",
      "allreduce,0,100,ring,ll64,2,1,8",
      "allreduce,0,100,ring,ll,two,1,8",
      "allreduce,0,99999999999999999999999,ring,ll,2,1,8",
      "allreduce, 0,100,ring,ll,2,1,8",
      "AllReduce,0,100,ring,ll,2,1,8",
  };
  for (const std::string& line : bad) {
    const TunedCommunicator communicator("# one bad line\n" + line +
                                         "\nallreduce,0,100,ring,ll128,2,1,8\n");
    EXPECT_NE(lines.find(communicator.path() + ":2: \"" + line + "\" is left out: expected "),
              std::string::npos)
        << lines;
    EXPECT_EQ(communicator.way(all_reduce, 10), (Way{1, 1, 2})) << line;
  }
}

TEST(TunerPlugin, leaves_all_to_NCCL_without_a_file) {
  void* const library = dlopen(COLLSIM_TUNER_PLUGIN, RTLD_NOW);
  const auto* const tuner = static_cast<const TunerV4*>(dlsym(library, "ncclTunerPlugin_v4"));
  for (const char* const path : {"", "/nowhere/rules.conf"}) {
    lines.clear();
    setenv("NCCL_TUNER_CONFIG_FILE", path, 1);
    if (*path == '\0') unsetenv("NCCL_TUNER_CONFIG_FILE");
    void* context = nullptr;
    EXPECT_EQ(tuner->init(8, 1, log_line, &context), 0);
    EXPECT_NE(lines.find("NCCL chooses"), std::string::npos) << lines;
    Table times{};
    int channels = 24;
    EXPECT_EQ(tuner->choose(context, all_reduce, 10, 1, reinterpret_cast<float**>(times.data()),
                            algorithm_count, protocol_count, 0, &channels),
              0);
    EXPECT_EQ(times, Table{});
    EXPECT_EQ(tuner->finish(context), 0);
  }
  unsetenv("NCCL_TUNER_CONFIG_FILE");
  dlclose(library);
}

}  // namespace
}  // namespace collsim::test
