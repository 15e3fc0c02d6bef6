#include "tools/collsim/calibrate/network_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/yaml/yaml_reader.h"
#include "tools/collsim/calibrate/fit_constants.h"
#include "tools/collsim/calibrate/fit_sample.h"
#include "tools/collsim/calibrate/least_squares.h"

namespace collsim {

namespace {

constexpr std::string_view of_any = "any";

YamlMapping load_spreads() {
  return load_yaml(shipped_file("network-spread", "models/data"), "network-spread")
      .mapping({"spreads"})
      .at("spreads")
      .free_mapping();
}

NetworkSpread read_spread(const YamlValue& value) {
  constexpr int max_machines = 1'000'000;
  const YamlMapping keys = value.mapping({"rate", "latency", "machines"});
  return {keys.at("rate").fraction(), keys.at("latency").time(),
          static_cast<int>(keys.at("machines").integer(0, max_machines))};
}

}  // namespace

NetworkSpread load_network_spread(std::string_view transport) {
  const YamlMapping spreads = load_spreads();
  const auto own = spreads.find(transport);
  return read_spread(own ? *own : spreads.at(of_any));
}

namespace {

constexpr auto network_kind = static_cast<std::size_t>(LinkKind::network);
/// Of Cauchy's loss. Wider than rows scatter: what a transport leaves off differs from size to size
/// and protocol to protocol, by about this much (docs/transports.md), and must not be taken for
/// noise.
constexpr double scale = 0.1;
/// A message takes at least this part of what the start says.
constexpr double min_alpha = 0.1;
/// Steps of the finite differences, in standard deviations of the prior: simulated times jump.
constexpr double difference = 0.2;
/// A residual of so small a part of the loss's scale is squared by it, as a normal prior asks.
constexpr double small_part = 0.1;
constexpr double deviations_of_95_percent = 1.96;

/// The rate and the latency, each in standard deviations of its prior.
using Deviations = std::array<double, 2>;

class NetworkSearch {
 public:
  NetworkSearch(FitRows& rows, const Calibration& cost, const NetworkSpread& spread,
                const CalibrationFitOptions& options)
      : rows_(rows), cost_(cost), spread_(spread), options_(options), sample_(rows, options.sizes) {
    if (sample_.rows().empty()) {
      throw InputError("no recorded rows are left to fit to", "rows that are not held out");
    }
    for (const FitClass& each : sample_.classes()) {
      points_.insert(points_.end(), each.begin(), each.end());
    }
  }

  std::size_t row_count() const { return sample_.rows().size(); }
  const FitSample& sample() const { return sample_; }

  Calibration at(const std::vector<double>& deviations) const {
    return with_network(cost_, std::exp(deviations[0] * spread_.rate),
                        deviations[1] * spread_.latency);
  }

  /// The best end of several searches: where PCIe limits, a network that carries more changes
  /// nothing, and only a search from below finds one that carries less.
  LeastSquaresFit run(std::uint32_t& steps) {
    LeastSquaresFit best = run_from({0, 0}, steps);
    constexpr double far_below = -2;
    LeastSquaresFit other = run_from({far_below, 0}, steps);
    return other.loss < best.loss ? other : best;
  }

  /// Where the search was stopped: the best that it has seen.
  const std::vector<double>& best() const { return best_; }

 private:
  LeastSquaresFit run_from(const std::vector<double>& start, std::uint32_t& steps) {
    LeastSquaresOptions options;
    options.scale = scale;
    options.difference = difference;
    options.weights = weights();
    options.progress = [&](std::uint32_t step, double loss) {
      ++steps;
      if (options_.progress) {
        options_.progress(
            fmt::format("network, {} rows: step {}, loss {:.4f}", row_count(), step, loss));
      }
      return true;
    };
    return fit_least_squares([this](const std::vector<double>& each) { return residuals(each); },
                             start, options);
  }

  /// Of the rows, then of the two priors.
  std::vector<double> residuals(const std::vector<double>& deviations) {
    const std::vector<Seconds> times =
        rows_.times(at(deviations), points_, options_.threads, options_.stop);
    std::vector<double> by_point(rows_.points().size());
    for (std::size_t i = 0; i < points_.size(); ++i) by_point[points_[i]] = times[i].value;
    std::vector<double> residuals;
    double loss = 0;
    for (const std::size_t i : sample_.rows()) {
      const FitRow& row = rows_.rows()[i];
      residuals.push_back(std::log(by_point[row.point] / row.recorded.time.value));
      loss += std::log1p(std::pow(residuals.back() / scale, 2));
    }
    for (const double deviation : deviations) {
      residuals.push_back(scale * small_part * deviation);
      loss += deviation * deviation / 2;
    }
    if (best_.empty() || loss < best_loss_) {
      best_ = deviations;
      best_loss_ = loss;
    }
    return residuals;
  }

  std::vector<double> weights() const {
    std::vector<double> weights(row_count(), 1);
    // log(1 + (small_part z)^2) times this is z^2 / 2, a normal distribution's.
    const double of_prior = 1 / (2 * small_part * small_part);
    weights.insert(weights.end(), {of_prior, of_prior});
    return weights;
  }

  FitRows& rows_;
  const Calibration& cost_;
  const NetworkSpread& spread_;
  const CalibrationFitOptions& options_;
  FitSample sample_;
  std::vector<std::size_t> points_;
  std::vector<double> best_;
  double best_loss_ = 0;
};

/// What the posterior's curvature says of the two.
struct Posterior {
  Deviations deviations{};
  double correlation = 0;
};

/// The loss, a log-likelihood, curves by 2 / scale^2 times the weighted squares.
Posterior posterior_of(const LeastSquaresFit& fit) {
  const double factor = 2 / (scale * scale);
  const double rate = factor * fit.curvature[0];
  const double both = factor * fit.curvature[1];
  const double latency = factor * fit.curvature[3];
  const double determinant = rate * latency - both * both;
  return {{std::sqrt(latency / determinant), std::sqrt(rate / determinant)},
          -both / std::sqrt(rate * latency)};
}

bool is_of_network(const Parameter& parameter) {
  return parameter.name == "efficiency.network" || parameter.name.ends_with(".alpha.network") ||
         parameter.name == "proxy.copy";
}

/// All constants, those that differ between the two costs as fitted.
std::vector<FittedConstant> constants_of(const CalibrationText& start, const Calibration& cost,
                                         Calibration fitted) {
  std::vector<FittedConstant> constants;
  const FitConstants stated(start, cost, {});
  for (const Parameter& parameter : fit_parameters()) {
    FittedConstant each{parameter, stated.stated(parameter), stated.stated(parameter)};
    const bool copies = cost.proxy.used && std::isfinite(cost.proxy.copy.value);
    if (is_of_network(parameter) && (parameter.name != "proxy.copy" || copies)) {
      each.value = parameter.in(fitted);
      each.determination = Determination::fitted;
    }
    constants.push_back(std::move(each));
  }
  return constants;
}

/// Ends of 95 % intervals: of the rate's constants with the rate moved, of alphas with the latency.
void set_intervals(std::vector<FittedConstant>& constants, std::array<Calibration, 2> low,
                   std::array<Calibration, 2> high) {
  for (FittedConstant& each : constants) {
    if (each.determination != Determination::fitted) continue;
    const std::size_t which = each.parameter.name.ends_with(".alpha.network") ? 1 : 0;
    each.min = each.parameter.in(low.at(which));
    each.max = each.parameter.in(high.at(which));
  }
}

/// How much a fit scatters: the median of its rows' absolute residuals.
double scatter_of(const NetworkSearch& search, const FitRows& rows, const Calibration& fitted,
                  std::uint32_t threads) {
  std::vector<std::size_t> points;
  std::vector<double> residuals;
  for (const std::size_t i : search.sample().rows()) points.push_back(rows.rows()[i].point);
  const std::vector<Seconds> times = rows.times(fitted, points, threads);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const FitRow& row = rows.rows()[search.sample().rows()[i]];
    residuals.push_back(std::abs(std::log(times[i].value / row.recorded.time.value)));
  }
  const auto middle = residuals.begin() + static_cast<std::ptrdiff_t>(residuals.size() / 2);
  std::nth_element(residuals.begin(), middle, residuals.end());
  return *middle;
}

std::vector<std::string> cautions_of(const NetworkSearch& search, const FitRows& rows,
                                     const Posterior& posterior, double scatter) {
  constexpr std::size_t few_sizes = 4;
  constexpr double much_scatter = 0.2;
  constexpr double nearly_prior = 0.8;
  constexpr double strong_correlation = 0.9;
  std::vector<std::string> cautions;
  std::set<Bytes> sizes;
  for (const std::size_t i : search.sample().rows()) sizes.insert(rows.rows()[i].recorded.size);
  if (sizes.size() < few_sizes) {
    cautions.push_back(
        fmt::format("only {} sizes are fitted to; {} or more tell more", sizes.size(), few_sizes));
  }
  if (scatter > much_scatter) {
    cautions.push_back(fmt::format(
        "half of the fitted rows stay more than {:.0f} % off: they scatter, or what is off is "
        "neither rate nor latency",
        100 * scatter));
  }
  const std::array<std::string_view, 2> unknown{
      "the rows say little of the network's rate, which stays near that of other machines; large "
      "calls would show it",
      "the rows say little of the network's latency, which stays near that of other machines; "
      "small calls would show it"};
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (posterior.deviations.at(i) > nearly_prior) cautions.emplace_back(unknown.at(i));
  }
  if (std::abs(posterior.correlation) > strong_correlation) {
    cautions.push_back(
        fmt::format("the rows hardly tell the network's rate from its latency (correlation {:.2f})",
                    posterior.correlation));
  }
  return cautions;
}

}  // namespace

Calibration with_network(Calibration cost, double rate, Seconds latency) {
  double& efficiency = cost.efficiency[network_kind];
  efficiency = std::min(std::max(1.0, efficiency), efficiency * rate);
  if (cost.proxy.used) cost.proxy.copy = rate * cost.proxy.copy;
  for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
    Seconds& alpha = cost.protocols[protocol].alpha[network_kind];
    alpha = std::max(min_alpha * alpha, alpha + latency);
    // Costs of thread blocks with one kind of link have alphas beside their own.
    for (auto& own : cost.over[protocol]) {
      if (own) own->alpha[network_kind] = alpha;
    }
  }
  return cost;
}

CalibrationFit fit_network(FitRows& rows, const CalibrationText& start,
                           const Calibration& start_cost, const NetworkSpread& spread,
                           const CalibrationFitOptions& options) {
  NetworkSearch search(rows, start_cost, spread, options);
  CalibrationFit result;
  result.rows = search.row_count();
  try {
    const LeastSquaresFit fit = search.run(result.steps);
    const Posterior posterior = posterior_of(fit);
    const auto moved = [&](std::size_t which, double deviations) {
      std::vector<double> place = fit.parameters;
      place[which] += deviations * posterior.deviations.at(which);
      return search.at(place);
    };
    const double far = deviations_of_95_percent;
    result.constants = constants_of(start, start_cost, search.at(fit.parameters));
    set_intervals(result.constants, {moved(0, -far), moved(1, -far)},
                  {moved(0, far), moved(1, far)});
    const double scatter = scatter_of(search, rows, search.at(fit.parameters), options.threads);
    result.cautions = cautions_of(search, rows, posterior, scatter);
  } catch (const FitStopped&) {
    result.stopped = true;
    const std::vector<double> best =
        search.best().empty() ? std::vector<double>{0, 0} : search.best();
    result.constants = constants_of(start, start_cost, search.at(best));
  }
  return result;
}

}  // namespace collsim
