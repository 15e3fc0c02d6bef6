#include "models/validation/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "models/predict/predictor.h"
#include "models/validation/recorded_call.h"
#include "sim/base/input_error.h"
#include "sim/base/parallel.h"

namespace collsim {

namespace {

/// A call's rows by size, as indices into the recording.
using RowsBySize = std::map<Bytes, std::vector<std::size_t>>;

/// What became of a row.
struct Answer {
  std::optional<Prediction> prediction;  ///< what ran in it is what we think NCCL chooses
  std::string left_out;                  ///< why there is none
};

/// Why a row cannot be of this machine; empty where its time is possible.
std::string why_impossible(const RecordedRow& row, Seconds bound) {
  if (row.longest() >= bound) return {};
  return fmt::format(
      "impossible: line {}, {} B in {:.2f} us, and no algorithm on this machine can beat {:.2f} us",
      row.line, row.size.count, in_microseconds(row.time), in_microseconds(bound));
}

/// Predicts families on several threads. Each answer has a place of its own.
class Evaluation {
 public:
  Evaluation(const Topology& topology, const Calibration& cost, const ValidationOptions& options,
             std::vector<Answer>& answers)
      : topology_(topology), cost_(cost), options_(options), answers_(answers) {}

  void run(const std::map<RecordedCall, RowsBySize>& families) {
    std::vector<const Work*> work;
    work.reserve(families.size());
    for (const auto& family : families) work.push_back(&family);
    std::stable_sort(work.begin(), work.end(), [](const Work* a, const Work* b) {
      return cost_of(*a) > cost_of(*b);  // the longest first, so that no thread ends late
    });
    for_each_in_parallel(work.size(), options_.threads, [&](std::size_t i) { answer(*work[i]); });
  }

  const std::set<std::string>& warnings() const { return warnings_; }

 private:
  using Work = std::map<RecordedCall, RowsBySize>::value_type;

  /// About how long it takes: what all ranks send.
  static double cost_of(const Work& work) {
    double bytes = 0;
    for (const auto& [size, rows] : work.second) bytes += static_cast<double>(size.count);
    return bytes * work.first.ranks * std::max(1U, work.first.calls);
  }

  void answer(const Work& work) {
    const auto& [call, sizes] = work;
    try {
      Predictor predictor(spec_of(call, topology_, cost_, options_.nccl_version),
                          options_.analytic ? by_formulas() : by_simulation());
      {
        const std::scoped_lock lock(mutex_);
        const std::vector<std::string>& warnings = predictor.compiler().warnings();
        warnings_.insert(warnings.begin(), warnings.end());
      }
      for (const auto& [size, rows] : sizes) predict(predictor, size, rows);
    } catch (const InputError& error) {
      for (const auto& [size, rows] : sizes) leave_out(rows, error.what());
    }
  }

  void predict(Predictor& predictor, Bytes size, const std::vector<std::size_t>& rows) {
    try {
      Prediction prediction = predictor.predict(size);
      if (options_.analytic) prediction.mean_over_ranks = prediction.time;
      for (const std::size_t row : rows) answers_[row].prediction = prediction;
    } catch (const InputError& error) {
      leave_out(rows, error.what());
    }
  }

  void leave_out(const std::vector<std::size_t>& rows, const std::string& reason) {
    for (const std::size_t row : rows) {
      if (!answers_[row].prediction) answers_[row].left_out = reason;
    }
  }

  const Topology& topology_;
  const Calibration& cost_;
  const ValidationOptions& options_;
  std::vector<Answer>& answers_;
  std::mutex mutex_;
  std::set<std::string> warnings_;
};

ValidatedRow validated(const RecordedRow& row, const Prediction& prediction,
                       const std::string& machine, const ValidationOptions& options) {
  return {row,
          prediction.mean_over_ranks,
          prediction.algorithm,
          prediction.protocol,
          prediction.channels,
          row.nccl_estimate ? row.nccl_estimate : prediction.nccl_estimate,
          machine,
          options.nccl_version,
          options.analytic,
          prediction.trust,
          prediction.medium};
}

}  // namespace

Validation validate(const Recording& recording, const Topology& topology, const Calibration& cost,
                    const ValidationOptions& options) {
  const Hosts hosts(topology);
  std::vector<Answer> answers(recording.rows.size());
  std::map<RecordedCall, RowsBySize> families;
  std::map<RecordedCall, RecordedBounds> bounds;
  for (std::size_t i = 0; i < recording.rows.size(); ++i) {
    const RecordedRow row = hosts.with_defaults(recording.rows[i]);
    if (excluded(row, options)) continue;
    answers[i].left_out = why_left_out(row, hosts, options);
    if (!answers[i].left_out.empty()) continue;
    const RecordedCall call = call_of(row);
    const RecordedBounds& bound = bounds.try_emplace(call, call, topology).first->second;
    answers[i].left_out = why_impossible(row, bound.of(row.size));
    if (answers[i].left_out.empty()) families[call][row.size].push_back(i);
  }
  Evaluation evaluation(topology, cost, options, answers);
  evaluation.run(families);

  Validation validation;
  validation.warnings = evaluation.warnings();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const RecordedRow row = hosts.with_defaults(recording.rows[i]);
    if (answers[i].prediction) {
      validation.rows.push_back(validated(row, *answers[i].prediction, topology.name(), options));
    } else if (!answers[i].left_out.empty()) {
      LeftOut& left_out = validation.left_out[answers[i].left_out];
      if (left_out.rows++ == 0) left_out.first_id = row.id;
    }
  }
  return validation;
}

}  // namespace collsim
