#include "tools/collsim/diagnose/setting_gain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/variable_reach.h"

namespace collsim {

namespace {

constexpr double worth_saying = 1.1;
constexpr Bytes max_simulated{1LL << 30};  // larger calls are as fast, and take longer to simulate

Bytes size_of(const EvidenceSeries& series) {
  return std::min(series.points.back().size, max_simulated);
}

std::string gain(const RecordedCall& call, Bytes size, Seconds with, Seconds without) {
  const double factor = busbw_factor(call.collective, call.ranks);
  return fmt::format("{:.1f} GB/s instead of {:.1f} for {}",
                     in_gigabytes_per_second(size / without) * factor,
                     in_gigabytes_per_second(size / with) * factor, to_string(size));
}

/// "gpu4" of "node0/gpu4".
std::string device_in_node(const Topology& topology, DeviceId device) {
  const std::string name = topology.device_name(device);
  return name.substr(name.find('/') + 1);
}

/// Without one of the call's settings, or with another value of it.
void add_gain_of(const LogPredictor& predictor, const RecordedCall& call, const std::string& name,
                 const std::string& instead, std::vector<std::string>& gains) {
  const Bytes size = size_of(predictor.evidence().series.front());
  RecordedCall other = call;
  if (instead.empty()) {
    other.variables.erase(name);
  } else {
    other.variables[name] = instead;
  }
  const auto as_it_is = predictor.time_of(call, {}, size, by_formulas());
  const auto changed = predictor.time_of(other, {}, size, by_formulas());
  if (!as_it_is || !changed || as_it_is->value < worth_saying * changed->value) return;
  const auto with = predictor.time_of(call, {}, size, by_quick_simulation());
  const auto without = predictor.time_of(other, {}, size, by_quick_simulation());
  if (!with || !without || with->value < worth_saying * without->value) return;
  const std::string what =
      instead.empty() ? fmt::format("without {}", name) : fmt::format("with {}={}", name, instead);
  gains.push_back(fmt::format("{}={} is set and heeded; {} a healthy machine has {}, by simulation",
                              name, call.variables.at(name), what,
                              gain(call, size, *with, *without)));
}

/// What is known of rings that keep to one NIC of a host, where the simulation sees no difference.
void add_note_of_cross_nic(const LogPredictor& predictor, const RecordedCall& call,
                           std::vector<std::string>& gains) {
  const CallCompiler& compiler = predictor.compiler_of(call);
  if (compiler.nccl() == nullptr || call.nodes == 1) return;
  const std::size_t nics = compiler.nccl()->system().of_kind(NcclNodeKind::net).size();
  const std::size_t gpus = predictor.topology().node(0).graph->gpus().size();
  if (nics < 2 || nics >= gpus) return;
  gains.push_back(fmt::format(
      "NCCL_CROSS_NIC=0 is set: rings leave a host by the NIC that they came by. With {} "
      "NICs for {} GPUs 1 or 2 has been faster (NVIDIA/nccl issue 1411), though the "
      "simulation sees no difference",
      nics, gpus));
}

/// Whether the call's messages go from rank to rank, so that channels between peers matter.
bool is_point_to_point(const RecordedCall& call) {
  return call.collective == Collective::all_to_all || call.collective == Collective::send_recv ||
         call.collective == Collective::gather || call.collective == Collective::scatter;
}

/// What is known of the releases that halved the channels between peers, where the simulated
/// network is full with either.
void add_note_of_halved_channels(const RecordedCall& call, NcclVersion version,
                                 std::vector<std::string>& gains) {
  const bool is_halved = NcclVersion{2, 19} <= version && version < NcclVersion{2, 21};
  constexpr std::uint32_t min_hosts = 3;
  if (!is_halved || call.nodes < min_hosts) return;
  gains.push_back(fmt::format(
      "NCCL {} uses half of the channels that 2.18 did between peers on three hosts and more: "
      "all_to_all of 8 x H800 a host fell from 50 to 37 GB/s (NVIDIA/nccl issue 1316), though the "
      "simulation sees no difference; try NCCL_NCHANNELS_PER_NET_PEER, or a later release",
      to_string(version)));
}

/// NCCL 2.19 halved the channels between peers of several hosts.
void add_gain_of_release(const LogPredictor& predictor, const RecordedCall& call,
                         NcclVersion version, std::vector<std::string>& gains) {
  const NcclVersion before = oldest_nccl_version;
  if (!is_point_to_point(call) || call.nodes == 1 || !(before < version)) return;
  const Bytes size = size_of(predictor.evidence().series.front());
  const LogPredictor older = predictor.of_release(before);
  const auto now = predictor.time_of(call, {}, size, by_formulas());
  const auto then = older.time_of(call, {}, size, by_formulas());
  if (!now || !then) return;
  if (now->value < worth_saying * then->value) {
    add_note_of_halved_channels(call, version, gains);
    return;
  }
  gains.push_back(fmt::format(
      "by estimate NCCL {} has {}: releases from 2.19 on use fewer channels between hosts; try "
      "NCCL_NCHANNELS_PER_NET_PEER",
      to_string(before), gain(call, size, *now, *then)));
}

}  // namespace

std::vector<std::string> unpriced_settings(const CallCompiler& compiler, const RecordedCall& call,
                                           Bytes size) {
  std::optional<NcclAlgorithm> algorithm;
  if (const auto decision = compiler.decide(size).candidate) algorithm = decision->algorithm;
  std::vector<std::string> unpriced;
  for (const auto& [name, value] : call.variables) {
    if (unmodelled_price(name, algorithm)) unpriced.push_back(fmt::format("{}={}", name, value));
  }
  return unpriced;
}

std::vector<std::string> setting_gains(const LogPredictor& predictor, NcclVersion version) {
  std::vector<std::string> gains;
  if (predictor.evidence().series.empty()) return gains;
  const RecordedCall& call = predictor.evidence().series.front().call;
  const std::vector<std::string> modelled = modelled_nccl_variables();
  for (const auto& [name, value] : call.variables) {
    if (std::find(modelled.begin(), modelled.end(), name) == modelled.end()) continue;
    const std::size_t before = gains.size();
    add_gain_of(predictor, call, name, {}, gains);
    if (name == "NCCL_CROSS_NIC" && value != "1" && gains.size() == before) {
      add_gain_of(predictor, call, name, "1", gains);
    }
    if (name == "NCCL_CROSS_NIC" && value == "0" && gains.size() == before) {
      add_note_of_cross_nic(predictor, call, gains);
    }
  }
  add_gain_of_release(predictor, call, version, gains);
  return gains;
}

std::string other_gpus(const LogPredictor& predictor) {
  if (predictor.evidence().series.empty()) return {};
  const EvidenceSeries& series = predictor.evidence().series.front();
  const EvidencePoint& point = series.points.back();
  const auto spread = spread_gpus(predictor.topology(), series.call.ranks, series.call.nodes);
  if (spread.empty() || point.size > max_simulated) return {};
  Deviation far;
  far.spread_out = true;
  const auto first = predictor.time_of(series.call, {}, point.size, by_quick_simulation());
  const auto other = predictor.time_of(series.call, far, point.size, by_quick_simulation());
  if (!first || !other) return {};
  const double off = std::log(point.measured.value / other->value);
  constexpr double too_fast = 0.75;
  const bool explains = std::abs(off) < std::abs(std::log(point.measured.value / first->value));
  if (point.measured.value > too_fast * first->value || !explains) return {};
  const std::size_t per_node = series.call.ranks / series.call.nodes;
  std::string names;
  for (std::size_t i = 0; i < per_node && i < spread.size(); ++i) {
    names += (i == 0 ? "" : ", ") + device_in_node(predictor.topology(), spread[i]);
  }
  return fmt::format(
      "the ranks sat on other GPUs than the first of each host: with {} of each, busbw would be "
      "{:.2f} of the expected one",
      names, other->value / point.measured.value);
}

}  // namespace collsim
