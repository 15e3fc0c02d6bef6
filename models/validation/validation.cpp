#include "models/validation/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <mutex>
#include <stdexcept>

#include "models/parallel.h"
#include "models/predictor.h"
#include "sim/input_error.h"

namespace collsim {

namespace {

/// Rows that one predictor answers.
struct Family {
  Collective collective;
  std::map<std::string, std::string> variables;
  std::uint32_t nodes;
  Rank ranks;
  Rank root;
  std::uint32_t calls;
  std::uint32_t gpus_per_process;
  auto operator<=>(const Family&) const = default;
};

/// A family's rows by size, as indices into the recording.
using RowsBySize = std::map<Bytes, std::vector<std::size_t>>;

/// What became of a row.
struct Answer {
  std::optional<Prediction> prediction;  ///< what ran in it is what we think NCCL chooses
  std::string left_out;                  ///< why there is none
};

/// What a topology's hosts are like.
struct Hosts {
  std::vector<std::uint32_t> gpus;  ///< of each node
  std::optional<BytesPerSecond> rate;

  explicit Hosts(const Topology& topology) : gpus(topology.node_count()) {
    for (const DeviceId gpu : topology.gpus()) {
      ++gpus[static_cast<std::size_t>(topology.device(gpu).node)];
    }
    for (const Link& link : topology.links()) {
      if (link.kind == LinkKind::network) rate = std::min(rate.value_or(unlimited), link.bandwidth);
    }
  }

  bool hold(std::uint32_t nodes, std::uint32_t per_node) const {
    return nodes <= gpus.size() &&
           *std::min_element(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(nodes)) >=
               per_node;
  }
};

bool excluded(const RecordedRow& row, const ValidationOptions& options) {
  return (options.collective && row.collective != options.collective) ||
         !row.id.starts_with(options.id) ||
         (options.in_place && row.in_place != *options.in_place) ||
         (options.largest && row.size > *options.largest);
}

/// Why a row has no prediction on these hosts; empty where it can have one.
std::string why_left_out(const RecordedRow& row, const Hosts& hosts,
                         const ValidationOptions& options) {
  if (!row.collective) {
    return row.collective_name.empty()
               ? "which collective it is cannot be told"
               : fmt::format("'{}' is no collective of ours", row.collective_name);
  }
  if (options.mode && row.mode != *options.mode) {
    return row.mode == CallMode::graph ? "in a CUDA graph, whose launch is not modelled"
                                       : "not in a CUDA graph";
  }
  if (row.wrong) return "its results were wrong";
  if (row.time.value <= 0 || row.size.count <= 0) return "no time or no bytes";
  if (row.ranks == 0) return "how many ranks it had is not known";
  const std::uint32_t per_node = row.ranks / row.nodes;
  if (per_node * row.nodes != row.ranks) return "hosts of different numbers of ranks";
  if (!hosts.hold(row.nodes, per_node)) {
    return fmt::format("{} host{} of {} GPU{}, which the machine has not", row.nodes,
                       row.nodes == 1 ? "" : "s", per_node, per_node == 1 ? "" : "s");
  }
  if (row.root >= row.ranks) return "a root that is no rank";
  if (!row.hosts_alike) return "hosts whose links are not alike";
  constexpr double tolerance = 0.02;
  if (row.host_rate && hosts.rate &&
      std::abs(hosts.rate->value / row.host_rate->value - 1) > tolerance) {
    return fmt::format("hosts on links of {}; the machine's have {}", to_string(*row.host_rate),
                       to_string(*hosts.rate));
  }
  return {};
}

Family family_of(const RecordedRow& row) {
  constexpr std::uint32_t iterations_of_benchmarks = 20;  // nccl-tests' -n
  const std::uint32_t calls =
      has_root(*row.collective) ? row.iterations.value_or(iterations_of_benchmarks) : 0;
  return {*row.collective, row.variables, row.nodes,           row.ranks,
          row.root,        calls,         row.gpus_per_process};
}

Predictor make_predictor(const Family& family, const Topology& topology, const TransferCost& cost,
                         NcclVersion version) {
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  run.nccl_version = version;
  run.variables = family.variables;
  if (family.calls > 0) run.calls = family.calls;
  TransferCost cost_of_process = cost;
  cost_of_process.issue.value *= family.gpus_per_process;  // it issues for each in turn
  return {topology,     cost_of_process, family.collective,          run,
          family.ranks, family.root,     family.ranks / family.nodes};
}

/// Where NCCL chooses an algorithm that is not simulated, another's time stands for it.
void set_choice(const Predictor& predictor, Prediction& prediction) {
  if (predictor.nccl() == nullptr || !predictor.nccl_function()) return;
  const Choice choice = predictor.nccl()->choose(*predictor.nccl_function(), prediction.size);
  const std::string algorithm = nccl_report_name(choice.algorithm);
  if (algorithm == prediction.algorithm && choice.protocol == prediction.protocol) return;
  prediction.algorithm = algorithm;
  prediction.protocol = choice.protocol;
  prediction.channels = choice.channels;
}

/// Predicts families on several threads. Each answer has a place of its own.
class Evaluation {
 public:
  Evaluation(const Topology& topology, const TransferCost& cost, const ValidationOptions& options,
             std::vector<Answer>& answers)
      : topology_(topology), cost_(cost), options_(options), answers_(answers) {}

  void run(const std::map<Family, RowsBySize>& families) {
    std::vector<const Work*> work;
    for (const auto& family : families) work.push_back(&family);
    std::stable_sort(work.begin(), work.end(), [](const Work* a, const Work* b) {
      return cost_of(*a) > cost_of(*b);  // the longest first, so that no thread ends late
    });
    for_each_in_parallel(work.size(), options_.threads, [&](std::size_t i) { answer(*work[i]); });
  }

  const std::set<std::string>& warnings() const { return warnings_; }

 private:
  using Work = std::map<Family, RowsBySize>::value_type;

  /// About how long it takes: what all ranks send.
  static double cost_of(const Work& work) {
    double bytes = 0;
    for (const auto& [size, rows] : work.second) bytes += static_cast<double>(size.count);
    return bytes * work.first.ranks * std::max(1U, work.first.calls);
  }

  void answer(const Work& work) {
    const auto& [family, sizes] = work;
    try {
      const Predictor predictor = make_predictor(family, topology_, cost_, options_.nccl_version);
      {
        const std::scoped_lock lock(mutex_);
        warnings_.insert(predictor.warnings().begin(), predictor.warnings().end());
      }
      for (const auto& [size, rows] : sizes) predict(predictor, size, rows);
    } catch (const InputError& error) {
      for (const auto& [size, rows] : sizes) leave_out(rows, error.what());
    }
  }

  void predict(const Predictor& predictor, Bytes size, const std::vector<std::size_t>& rows) {
    try {
      Prediction prediction = predictor.simulate(size, Engine::native);
      set_choice(predictor, prediction);
      for (const std::size_t row : rows) answers_[row].prediction = prediction;
    } catch (const InputError& error) {
      leave_out(rows, error.what());
    } catch (const std::logic_error& error) {
      // Below its bounds, a bug of ours: the other rows are worth showing all the same.
      leave_out(rows, fmt::format("a bug in collsim: {}", error.what()));
    }
  }

  void leave_out(const std::vector<std::size_t>& rows, const std::string& reason) {
    for (const std::size_t row : rows) {
      if (!answers_[row].prediction) answers_[row].left_out = reason;
    }
  }

  const Topology& topology_;
  const TransferCost& cost_;
  const ValidationOptions& options_;
  std::vector<Answer>& answers_;
  std::mutex mutex_;
  std::set<std::string> warnings_;
};

ValidatedRow validated(const RecordedRow& row, const Prediction& prediction) {
  return {row,
          prediction.time,
          prediction.algorithm,
          prediction.protocol,
          prediction.channels,
          row.nccl_estimate ? row.nccl_estimate : prediction.nccl_estimate};
}

}  // namespace

std::string nccl_report_name(NcclAlgorithm algorithm) {
  std::string name(nccl_name(algorithm));
  for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
  return name;
}

Validation validate(const Recording& recording, const Topology& topology, const TransferCost& cost,
                    const ValidationOptions& options) {
  const Hosts hosts(topology);
  std::vector<Answer> answers(recording.rows.size());
  std::map<Family, RowsBySize> families;
  for (std::size_t i = 0; i < recording.rows.size(); ++i) {
    const RecordedRow& row = recording.rows[i];
    if (excluded(row, options)) continue;
    answers[i].left_out = why_left_out(row, hosts, options);
    if (answers[i].left_out.empty()) families[family_of(row)][row.size].push_back(i);
  }
  Evaluation evaluation(topology, cost, options, answers);
  evaluation.run(families);

  Validation validation;
  validation.warnings = evaluation.warnings();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const RecordedRow& row = recording.rows[i];
    if (answers[i].prediction) {
      validation.rows.push_back(validated(row, *answers[i].prediction));
    } else if (!answers[i].left_out.empty()) {
      LeftOut& left_out = validation.left_out[answers[i].left_out];
      if (left_out.rows++ == 0) left_out.first_id = row.id;
    }
  }
  return validation;
}

}  // namespace collsim
