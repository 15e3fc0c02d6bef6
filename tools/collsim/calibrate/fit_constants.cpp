#include "tools/collsim/calibrate/fit_constants.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tools/collsim/calibrate/parameter.h"

namespace collsim {

namespace {

constexpr std::string_view over = ".over.";

/// "ll.over.pcie" of "ll.over.pcie.round.send".
std::string group_of(const std::string& name) {
  return name.substr(0, name.find('.', name.find(over) + over.size()));
}

/// "ll.round.send" of "ll.over.pcie.round.send".
std::string general_name(const std::string& name) {
  return name.substr(0, name.find(over)) + name.substr(group_of(name).size());
}

bool has_value(double value) {
  return value > 0 && std::isfinite(value);
}

/// Whether a constant is of thread blocks with one kind of link.
bool is_of_link_kind(const Parameter& parameter) {
  return parameter.name.find(over) != std::string::npos;
}

/// Thread blocks with one kind of link carry the alphas of their protocol beside their own
/// constants.
void share_alphas(Calibration& cost) {
  for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
    for (auto& own : cost.over[protocol]) {
      if (own) own->alpha = cost.protocols[protocol].alpha;
    }
  }
}

}  // namespace

FitConstants::FitConstants(const CalibrationText& file, Calibration cost,
                           std::vector<Parameter> moved)
    : cost_(std::move(cost)), moved_(std::move(moved)) {
  const std::vector<Parameter> all = fit_parameters();
  for (const Parameter& own : all) {
    if (!is_of_link_kind(own) || file.states(own.name)) continue;
    const std::string group = group_of(own.name);
    const bool is_moved = std::any_of(moved_.begin(), moved_.end(),
                                      [&](const Parameter& each) { return each.name == own.name; });
    const bool group_exists =
        file.states(group) || std::any_of(moved_.begin(), moved_.end(), [&](const Parameter& each) {
          return each.name.starts_with(group + ".");
        });
    if (is_moved || !group_exists) continue;
    const std::string general = general_name(own.name);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Parameter& each) { return each.name == general; });
    if (found != all.end()) following_.emplace_back(own, *found);
  }
  // Those of link kinds last: what they follow must stand by then.
  std::stable_partition(moved_.begin(), moved_.end(),
                        [](const Parameter& each) { return !is_of_link_kind(each); });
}

std::vector<double> FitConstants::start() const {
  std::vector<double> logarithms;
  for (const Parameter& parameter : moved_) {
    const double value = stated(parameter);
    logarithms.push_back(std::log(has_value(value) ? value : nominal_value(parameter)));
  }
  return logarithms;
}

Calibration FitConstants::at(const std::vector<double>& logarithms) const {
  Calibration cost = cost_;
  std::size_t i = 0;
  const auto set = [&](const Parameter& parameter) {
    const ConstantRange range = parameter.accepted;
    parameter.in(cost) = std::clamp(std::exp(logarithms[i++]), range.min, range.max);
  };
  while (i < moved_.size() && !is_of_link_kind(moved_[i])) set(moved_[i]);
  for (const auto& [own, general] : following_) {
    const double value = general.in(cost);
    own.in(cost) = value;
  }
  while (i < moved_.size()) set(moved_[i]);
  share_alphas(cost);
  return cost;
}

double FitConstants::stated(const Parameter& parameter) const {
  Calibration copy = cost_;
  return parameter.in(copy);
}

}  // namespace collsim
