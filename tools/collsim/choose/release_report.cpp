#include "tools/collsim/choose/release_report.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/predict/predictor.h"
#include "tools/collsim/core/numbers.h"

namespace collsim::command {

namespace {

constexpr std::array collectives{Collective::all_reduce, Collective::all_gather,
                                 Collective::reduce_scatter, Collective::broadcast,
                                 Collective::reduce};
constexpr int min_log2_size = 3;
constexpr int max_log2_size = 33;

/// "Ring LL128 x 24": with how many channels.
std::string text_of(const Choice& choice) {
  return fmt::format("{} {} x {}", nccl_name(choice.algorithm), to_string(choice.protocol),
                     choice.channels);
}

/// Calls of one collective under the rules of one release.
class ReleaseCalls {
 public:
  ReleaseCalls(const Nccl& nccl, Collective collective, const Topology* topology,
               const Nccl::Variables& variables)
      : nccl_(nccl), function_(*function_of(collective)) {
    if (topology == nullptr) return;
    CallSpec spec{topology, calibration_for(*topology), collective};
    spec.run.schedule = ScheduleKind::nccl;
    spec.run.algorithm = "auto";
    spec.run.nccl_version = nccl.version();
    spec.run.variables = variables;
    spec.gpus = first_gpus(*topology, nccl.ranks());
    // Up to 300 times are asked, which formulas have at once.
    predictor_.emplace(std::move(spec), by_formulas());
  }

  Choice choice(Bytes size) const { return nccl_.choose(function_, size); }
  std::optional<double> time(Bytes size) {
    if (!predictor_) return std::nullopt;
    return in_microseconds(predictor_->predict(size).time);
  }

 private:
  const Nccl& nccl_;
  NcclFunction function_;
  std::optional<Predictor> predictor_;
};

void add_row(Collective collective, Bytes size, std::pair<ReleaseCalls&, ReleaseCalls&> calls,
             const std::pair<std::string, std::string>& releases, Table& table) {
  const Choice one = calls.first.choice(size);
  const Choice other = calls.second.choice(size);
  if (text_of(one) == text_of(other)) return;
  const auto before = calls.first.time(size);
  const auto after = calls.second.time(size);
  const auto value = [](const std::optional<double>& time) {
    return time ? Record(*time) : Record();
  };
  NewRow add(table);
  add({"collective", "collective"}, to_string(collective));
  add({"size_bytes", "size", "(B)", 0}, size.count);
  add({"choice_1", releases.first}, text_of(one));
  add({"time_1_us", "time", "(us)", 1}, value(before));
  add({"choice_2", releases.second}, text_of(other));
  add({"time_2_us", "time", "(us)", 1}, value(after));
  add({.key = "change", .title = "change", .unit = "(%)", .digits = 0, .scale = 100, .signs = true},
      before && after ? Record(*after / *before - 1) : Record());
}

}  // namespace

Answer compare_releases(const Nccl& one, const Nccl& other, const Topology* topology,
                        const Nccl::Variables& variables, const std::string& name) {
  const std::string first = "NCCL " + to_string(one.version());
  const std::string second = "NCCL " + to_string(other.version());
  Table table;
  for (const Collective collective : collectives) {
    ReleaseCalls before(one, collective, topology, variables);
    ReleaseCalls after(other, collective, topology, variables);
    for (int log2_size = min_log2_size; log2_size <= max_log2_size; ++log2_size) {
      add_row(collective, Bytes{std::int64_t{1} << log2_size}, {before, after}, {first, second},
              table);
    }
  }
  Answer answer;
  answer.head({comment(fmt::format("{}: {} beside {}, {} and {} channels; times by formulas", name,
                                   first, second, one.channel_count(), other.channel_count()))});
  if (table.rows.empty()) {
    answer.head({comment("they choose alike at every power of two from 8 B to 8 GiB")});
  }
  answer.rows = table.rows;
  answer.sections.push_back({.tables = {std::move(table)}});
  return answer;
}

}  // namespace collsim::command
