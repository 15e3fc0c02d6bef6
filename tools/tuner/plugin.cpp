// NCCL's tuner plug-in: gives NCCL the choices of the file that NCCL_TUNER_CONFIG_FILE names, whose
// form is that of NCCL's example plug-in (`collsim crossover --export-tuner`). A call that no line
// fits, and a file that cannot be read, leave NCCL's own choice as it is.
//
// The interface is NCCL's, versions 4 and 5 (src/include/plugin/tuner/tuner_v4.h and tuner_v5.h of
// NCCL 2.30, 2026-05), which is declared here so that building needs neither NCCL nor CUDA.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// ncclResult_t's ncclSuccess, the one result that the plug-in gives: a tuner that fails ends a
/// job, or takes NCCL's own tuning along.
constexpr int success = 0;
/// ncclDebugLogLevel, and the subsystem NCCL_TUNING of its lines.
constexpr int warn = 2;
constexpr int info = 3;
constexpr unsigned long tuning = 0x40;

/// ncclDebugLogger_t: level, subsystems, function or file, line, printf's format and values.
using Logger = void (*)(int, unsigned long, const char*, int, const char*, ...);

/// By ncclFunc_t, NCCL_ALGO_* and NCCL_PROTO_*.
constexpr std::array<std::string_view, 5> functions{"broadcast", "reduce", "allgather",
                                                    "reducescatter", "allreduce"};
constexpr std::array<std::string_view, 7> algorithms{
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, 3> protocols{"ll", "ll128", "simple"};

/// A line of the file. Sizes are in bytes, as NCCL tunes them: the larger of what a rank sends and
/// what it receives. -1 for channels lets NCCL choose them, for nodes and ranks it fits all.
struct Rule {
  int function = 0;
  std::uint64_t min = 0;
  std::uint64_t max = 0;  ///< included
  std::size_t algorithm = 0;
  std::size_t protocol = 0;
  int channels = -1;
  int nodes = -1;
  int ranks = -1;
};

/// The rules that fit one communicator.
struct Tuner {
  std::vector<Rule> rules;
};

template <typename Number>
bool read(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end;
}

template <typename Index, std::size_t count>
bool read(std::string_view text, const std::array<std::string_view, count>& names, Index& index) {
  const auto* const found = std::find(names.begin(), names.end(), text);
  index = static_cast<Index>(found - names.begin());
  return found != names.end();
}

/// The fields of a line, cut at its commas.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

/// "allreduce,2097152,4194304,ring,ll128,24,1,2"; nothing where a field is not what it should be.
/// Fields behind the eighth, numbers of calls in a group and of buffers, do not count.
std::optional<Rule> rule_of(std::string_view line) {
  constexpr std::size_t field_count = 8;
  const std::vector<std::string_view> fields = fields_of(line);
  if (fields.size() < field_count) return std::nullopt;
  Rule rule;
  const bool whole = read(fields[0], functions, rule.function) && read(fields[1], rule.min) &&
                     read(fields[2], rule.max) && read(fields[3], algorithms, rule.algorithm) &&
                     read(fields[4], protocols, rule.protocol) && read(fields[5], rule.channels) &&
                     read(fields[6], rule.nodes) && read(fields[7], rule.ranks);
  return whole ? std::optional(rule) : std::nullopt;
}

/// The rules of the file at `path` for a communicator. Lines that are none are told to `log`.
std::unique_ptr<Tuner> tuner_of(const char* path, std::size_t ranks, std::size_t nodes,
                                Logger log) {
  auto tuner = std::make_unique<Tuner>();
  std::ifstream file(path);
  if (!file)
    log(warn, tuning, __FILE_NAME__, __LINE__, "collsim: %s: cannot be read: NCCL chooses", path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    const std::optional<Rule> rule = rule_of(line);
    if (!rule) {
      log(warn, tuning, __FILE_NAME__, __LINE__,
          "collsim: %s:%d: \"%s\" is left out: expected "
          "collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks",
          path, number, line.c_str());
    } else if ((rule->nodes < 0 || static_cast<std::size_t>(rule->nodes) == nodes) &&
               (rule->ranks < 0 || static_cast<std::size_t>(rule->ranks) == ranks)) {
      tuner->rules.push_back(*rule);
    }
  }
  log(info, tuning, __FILE_NAME__, __LINE__,
      "collsim: %zu lines of %s are for %zu ranks on %zu nodes", tuner->rules.size(), path, ranks,
      nodes);
  return tuner;
}

/// No exception may reach NCCL, which is C to its plug-ins.
int start(void** context, std::size_t ranks, std::size_t nodes, Logger log) noexcept {
  *context = nullptr;
  const char* const path = std::getenv("NCCL_TUNER_CONFIG_FILE");
  if (path == nullptr) {
    log(warn, tuning, __FILE_NAME__, __LINE__,
        "collsim: NCCL_TUNER_CONFIG_FILE names no file of `collsim crossover --export-tuner`: NCCL "
        "chooses");
    return success;
  }
  try {
    *context = tuner_of(path, ranks, nodes, log).release();
  } catch (const std::exception& error) {
    log(warn, tuning, __FILE_NAME__, __LINE__, "collsim: %s: %s: NCCL chooses", path, error.what());
  }
  return success;
}

int start_v4(std::size_t ranks, std::size_t nodes, Logger log, void** context) noexcept {
  return start(context, ranks, nodes, log);
}

/// NCCL's constants, the last argument, stay its own: what the plug-in knows are whole times.
int start_v5(void** context, std::uint64_t /*communicator*/, std::size_t ranks, std::size_t nodes,
             Logger log, void* /*nvlink_domains*/, void* /*constants*/) noexcept {
  return start(context, ranks, nodes, log);
}

/// Makes the first rule that fits the cheapest way of `table`, a row of `protocol_count` times for
/// each algorithm, where NCCL can run it: what it cannot has a negative time.
int choose(void* context, int function, std::size_t bytes, int /*calls_in_group*/, float** table,
           int algorithm_count, int protocol_count, int /*registered*/, int* channels) noexcept {
  if (context == nullptr) return success;
  const std::vector<Rule>& rules = static_cast<const Tuner*>(context)->rules;
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& each) {
    return each.function == function && each.min <= bytes && bytes <= each.max;
  });
  if (rule == rules.end() || rule->algorithm >= static_cast<std::size_t>(algorithm_count) ||
      rule->protocol >= static_cast<std::size_t>(protocol_count)) {
    return success;
  }
  // NCCL passes the first of its times as float**.
  float& time = reinterpret_cast<float*>(
      table)[rule->algorithm * static_cast<std::size_t>(protocol_count) + rule->protocol];
  if (time < 0) return success;
  time = 0;
  if (rule->channels > 0) *channels = rule->channels;
  return success;
}

int finish(void* context) noexcept {
  delete static_cast<Tuner*>(context);
  return success;
}

using Choose = decltype(&choose);
using Finish = decltype(&finish);

struct PluginV4 {
  const char* name;
  decltype(&start_v4) start;
  Choose choose;
  Finish finish;
};

struct PluginV5 {
  const char* name;
  decltype(&start_v5) start;
  Choose choose;
  Finish finish;
};

}  // namespace

// NCCL looks for these names.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
/// By releases that do not know version 5.
extern const PluginV4 ncclTunerPlugin_v4 __attribute__((visibility("default")));
const PluginV4 ncclTunerPlugin_v4{"collsim", start_v4, choose, finish};
/// By NCCL 2.28 and later.
extern const PluginV5 ncclTunerPlugin_v5 __attribute__((visibility("default")));
const PluginV5 ncclTunerPlugin_v5{"collsim", start_v5, choose, finish};
}
// NOLINTEND(readability-identifier-naming)
