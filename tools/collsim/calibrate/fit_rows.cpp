#include "tools/collsim/calibrate/fit_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "sim/base/input_error.h"
#include "sim/base/parallel.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

/// What is said of one that ran: "ring/simple".
std::string describe(std::string_view algorithm, Protocol protocol) {
  return fmt::format("{}/{}", algorithm, lower_case(to_string(protocol)));
}

/// Why a row's time is not that of the point; empty where it is.
std::string why_another(const RecordedRow& row, const FitPoint& point) {
  const bool same_algorithm = !row.algorithm || point.algorithm == "p2p" ||
                              point.algorithm == "none" ||
                              nccl_report_name(*row.algorithm) == point.algorithm;
  if (same_algorithm && (!row.protocol || *row.protocol == point.protocol)) return {};
  return fmt::format("NCCL ran {}, where we think {}",
                     describe(row.algorithm ? nccl_report_name(*row.algorithm) : point.algorithm,
                              row.protocol.value_or(point.protocol)),
                     describe(point.algorithm, point.protocol));
}

}  // namespace

bool is_used(const RecordedRow& row, const FitSelection& selection) {
  if (excluded(row, selection.rows)) return false;
  if (selection.sizes && !selection.sizes->matches(row)) return false;
  return selection.used.empty() || any_matches(selection.used, row);
}

void FitRows::add(const Recording& recording, const MachineOf& machine_of,
                  const FitSelection& selection) {
  pinned_.push_back(selection.pinned);
  for (const RecordedRow& recorded : recording.rows) {
    if (!is_used(recorded, selection)) continue;
    const Topology& topology = machine_of(recorded);
    const Hosts& hosts = hosts_.try_emplace(&topology, topology).first->second;
    const RecordedRow row = hosts.with_defaults(recorded);
    if (subject_ != FitSubject::machine && !gpus_.contains(&topology)) {
      gpus_.emplace(&topology, named_calibration(calibration_name(topology)));
    }
    std::string reason = why_left_out(row, hosts, selection.rows);
    if (reason.empty()) reason = add_row(row, topology, selection);
    if (reason.empty()) continue;
    LeftOut& left_out = left_out_[reason];
    if (left_out.rows++ == 0) left_out.first_id = row.id;
  }
}

Calibration FitRows::cost_on(const Topology& topology, const Calibration& cost) const {
  if (subject_ == FitSubject::machine) return cost;
  Calibration own = gpus_.at(&topology);
  if (subject_ == FitSubject::transport) return with_transport(own, cost);
  own.nvls = cost.nvls;
  return own;
}

std::optional<std::size_t> FitRows::compiler_of(const RecordedCall& call, const Topology& topology,
                                                NcclVersion version, std::string& refusal) {
  const auto [place, is_new] = calls_.try_emplace({call, &topology, version, pinned_.size() - 1});
  Laid& laid = place->second;
  if (is_new) {
    try {
      compilers_.push_back(std::make_unique<CallCompiler>(
          spec_of(call, topology, cost_on(topology, cost_), version)));
      caches_.emplace_back();
      laid.compiler = compilers_.size() - 1;
      const auto& warnings = compilers_.back()->warnings();
      warnings_.insert(warnings.begin(), warnings.end());
    } catch (const InputError& error) {
      laid.refusal = error.what();
    }
  }
  refusal = laid.refusal;
  return laid.compiler;
}

std::string FitRows::add_row(const RecordedRow& row, const Topology& topology,
                             const FitSelection& selection) {
  if (!row.topology.empty() && !cost_.proxy.used && calibration_for(topology).proxy.used) {
    return "over TCP; a calibration to start from must have a proxy, such as h200-tcp";
  }
  const RecordedCall call = call_of(row);
  std::string refusal;
  const auto compiler = compiler_of(call, topology, selection.rows.nccl_version, refusal);
  if (!compiler) return refusal;
  const auto key = std::pair(*compiler, row.size);
  auto found = point_of_.find(key);
  if (found == point_of_.end()) {
    try {
      CompiledCall plan = compilers_[*compiler]->plan(row.size, &caches_[*compiler]);
      const double work =
          static_cast<double>(row.size.count) * call.ranks * std::max(1U, call.calls);
      found = point_of_.emplace(key, points_.size()).first;
      points_.push_back({*compiler, row.size, plan.algorithm, plan.protocol, work});
      plans_.push_back(std::move(plan));
    } catch (const InputError& error) {
      return error.what();
    }
  }
  std::string another = why_another(row, points_[found->second]);
  if (another.empty()) {
    const bool held_out = any_matches(selection.held_out, row) ||
                          (selection.fitted && !any_matches(*selection.fitted, row));
    rows_.push_back(
        {row, pinned_.size() - 1, found->second, held_out, selection.weight, &topology});
  }
  return another;
}

void FitRows::hold_sizes_out(std::size_t one_of) {
  std::map<std::size_t, std::map<Bytes, std::size_t>> points;  // by planner and size
  for (std::size_t i = 0; i < points_.size(); ++i) {
    points[points_[i].compiler].emplace(points_[i].size, i);
  }
  std::vector<bool> held_out(points_.size());
  for (const auto& [compiler, by_size] : points) {
    if (by_size.size() < 3) continue;
    std::size_t place = 0;
    for (auto each = by_size.rbegin(); each != by_size.rend(); ++each) {
      held_out[each->second] = place++ % one_of == 1;
    }
  }
  for (FitRow& row : rows_) row.held_out = row.held_out || held_out[row.point];
}

void FitRows::weigh_machines() {
  std::map<const Topology*, double> counts;
  for (const FitRow& row : rows_) counts[row.machine] += 1;
  for (FitRow& row : rows_) row.weight /= std::sqrt(counts[row.machine]);
}

std::vector<Seconds> FitRows::times(const Calibration& cost, const std::vector<std::size_t>& points,
                                    std::uint32_t threads,
                                    const std::function<bool()>& stop) const {
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return points_[points[a]].work > points_[points[b]].work;  // so that no thread ends late
  });
  std::vector<Calibration> costs(compilers_.size());
  for (const auto& [key, laid] : calls_) {
    if (!laid.compiler) continue;
    Calibration own = cost_on(*std::get<const Topology*>(key), cost);
    for (const PinnedConstant& each : pinned_[std::get<std::size_t>(key)]) {
      each.parameter.in(own) = each.value;
    }
    costs[*laid.compiler] = cost_of(std::get<RecordedCall>(key), own, std::get<NcclVersion>(key));
  }
  std::vector<Seconds> times(points.size());
  for_each_in_parallel(order.size(), threads, [&](std::size_t i) {
    if (stop && stop()) throw FitStopped();
    const std::size_t point = points[order[i]];
    times[order[i]] = mean_time(plans_[point], costs[points_[point].compiler]);
  });
  return times;
}

std::vector<ValidatedRow> FitRows::validated(const std::vector<Seconds>& times,
                                             bool held_out) const {
  std::vector<ValidatedRow> validated;
  for (const FitRow& row : rows_) {
    if (row.held_out != held_out) continue;
    const FitPoint& point = points_[row.point];
    validated.push_back({row.recorded, times[row.point], point.algorithm, point.protocol,
                         row.recorded.channels.value_or(0), row.recorded.nccl_estimate});
  }
  return validated;
}

}  // namespace collsim
