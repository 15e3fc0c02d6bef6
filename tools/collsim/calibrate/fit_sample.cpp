#include "tools/collsim/calibrate/fit_sample.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "models/calibration/calibration_file.h"
#include "tools/collsim/calibrate/parameter.h"

namespace collsim {

namespace {

/// A residual of so small a part of the loss's scale is squared by it, as a normal prior asks.
constexpr double small_part_of_scale = 0.1;

/// `count` of them, evenly spread, both ends among them.
FitClass spread(const FitClass& points, std::size_t count) {
  if (count == 0 || points.size() <= count) return points;
  FitClass chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(points[count == 1 ? 0 : i * (points.size() - 1) / (count - 1)]);
  }
  return chosen;
}

/// The largest size that is sampled of a protocol.
Bytes max_sampled(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return Bytes{4 << 20};
    case Protocol::ll128:
      return Bytes{16 << 20};
    case Protocol::simple:
      break;
  }
  return Bytes{std::numeric_limits<std::int64_t>::max()};
}

/// A protocol's constants do nothing to another one.
bool concerns(const Parameter& parameter, Protocol protocol) {
  const std::string first = parameter.name.substr(0, parameter.name.find('.'));
  for (const Protocol each : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    if (first == calibration_key(each)) return each == protocol;
  }
  return true;
}

}  // namespace

FitSample::FitSample(const FitRows& rows, std::uint32_t sizes) {
  std::vector<bool> wanted(rows.points().size());
  for (const FitRow& row : rows.rows()) {
    if (!row.held_out) wanted[row.point] = true;
  }
  std::map<std::tuple<std::size_t, std::string, Protocol>, FitClass> classes;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const FitPoint& point = rows.points()[i];
    if (sizes > 0 && point.size > max_sampled(point.protocol)) continue;
    if (wanted[i]) classes[{point.compiler, point.algorithm, point.protocol}].push_back(i);
  }
  std::vector<bool> sampled(wanted.size());
  for (auto& [key, points] : classes) {
    std::sort(points.begin(), points.end(), [&](std::size_t a, std::size_t b) {
      return rows.points()[a].size < rows.points()[b].size;
    });
    classes_.push_back(spread(points, sizes));
    protocols_.push_back(std::get<Protocol>(key));
    for (const std::size_t point : classes_.back()) sampled[point] = true;
  }
  for (std::size_t i = 0; i < rows.rows().size(); ++i) {
    const FitRow& row = rows.rows()[i];
    if (!row.held_out && sampled[row.point]) rows_.push_back(i);
  }
}

FitResiduals::FitResiduals(FitMachine machine, const FitSample& sample,
                           const FitConstants& constants)
    : machine_(std::move(machine)),
      sample_(sample),
      constants_(constants),
      known_(sample.classes().size()) {
  if (machine_.prior > 0) starts_ = constants.start();
}

std::vector<double> FitResiduals::relevant(std::size_t of_class,
                                           const std::vector<double>& logarithms) const {
  std::vector<double> relevant;
  for (std::size_t i = 0; i < logarithms.size(); ++i) {
    if (concerns(constants_.moved()[i], sample_.protocol(of_class))) {
      relevant.push_back(logarithms[i]);
    }
  }
  return relevant;
}

void FitResiduals::simulate(const std::vector<double>& logarithms) {
  std::vector<std::size_t> points;
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].contains(relevant(i, logarithms))) continue;
    missing.push_back(i);
    points.insert(points.end(), sample_.classes()[i].begin(), sample_.classes()[i].end());
  }
  if (points.empty()) return;
  const std::vector<Seconds> times =
      machine_.rows.times(constants_.at(logarithms), points, machine_.threads, machine_.stop);
  std::size_t next = 0;
  for (const std::size_t i : missing) {
    const std::size_t max_known = 4 * logarithms.size() + 16;
    if (known_[i].size() >= max_known) known_[i].clear();
    Times& answers = known_[i][relevant(i, logarithms)];
    while (answers.size() < sample_.classes()[i].size()) answers.push_back(times[next++].value);
  }
}

std::vector<double> FitResiduals::operator()(const std::vector<double>& logarithms) {
  simulate(logarithms);
  std::vector<double> times(machine_.rows.points().size());
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const Times& answers = known_[i].at(relevant(i, logarithms));
    for (std::size_t k = 0; k < answers.size(); ++k) times[sample_.classes()[i][k]] = answers[k];
  }
  std::vector<double> residuals;
  double loss = 0;
  for (const std::size_t i : sample_.rows()) {
    const FitRow& row = machine_.rows.rows()[i];
    residuals.push_back(std::log(times[row.point] / row.recorded.time.value));
    const double scaled = residuals.back() / machine_.scale;
    loss += row.weight * std::log1p(scaled * scaled);
  }
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    loss += std::pow((logarithms[i] - starts_[i]) / machine_.prior, 2) / 2;
  }
  if (loss < best_loss_) {
    best_loss_ = loss;
    best_ = logarithms;
  }
  add_prior(logarithms, residuals);
  return residuals;
}

void FitResiduals::add_prior(const std::vector<double>& logarithms,
                             std::vector<double>& residuals) const {
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    const double deviations = (logarithms[i] - starts_[i]) / machine_.prior;
    residuals.push_back(machine_.scale * small_part_of_scale * deviations);
  }
}

std::vector<double> FitResiduals::weights() const {
  std::vector<double> weights;
  for (const std::size_t i : sample_.rows()) {
    weights.push_back(machine_.rows.rows()[i].weight);
  }
  // log(1 + (small_part_of_scale z)^2) times this is z^2 / 2, a normal distribution's.
  constexpr double of_prior = 1 / (2 * small_part_of_scale * small_part_of_scale);
  weights.insert(weights.end(), starts_.size(), of_prior);
  return weights;
}

}  // namespace collsim
