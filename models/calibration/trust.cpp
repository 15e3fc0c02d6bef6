#include "models/calibration/trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "models/calibration/calibration_file.h"
#include "models/machine/gpu_model.h"
#include "sim/base/words.h"

namespace collsim {

namespace {

constexpr std::array link_kinds{LinkKind::nvlink, LinkKind::pcie, LinkKind::cpu, LinkKind::network};

CalibrationTrust all_guessed() {
  CalibrationTrust trust;
  trust.gpu = Trust::guessed;
  trust.links.fill(Trust::guessed);
  trust.nvls = Trust::guessed;
  trust.algorithms = {"ring", "tree", "p2p", "none"};
  return trust;
}

Trust read_class(const YamlValue& value) {
  const std::string name = value.string();
  if (const auto trust = find_trust(name)) return *trust;
  value.fail(fmt::format("'{}' is no class of trust", name), trust_classes);
}

std::vector<std::string> read_names(const YamlValue& value) {
  std::vector<std::string> names;
  for (const YamlValue& each : value.sequence()) names.push_back(each.string());
  return names;
}

bool is_exact(const CalibrationTrust& trust) {
  return trust.gpu == Trust::exact && std::all_of(trust.links.begin(), trust.links.end(),
                                                  [](Trust link) { return link == Trust::exact; });
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A GPU that the topology does not name is one that the calibration is about.
bool is_about(const CalibrationTrust& trust, const Device& gpu) {
  if (trust.models.empty()) return true;
  const GpuModel* const model = find_gpu_model(gpu.model);
  return model == nullptr || contains(trust.models, model->name);
}

}  // namespace

std::optional<Trust> find_trust(std::string_view name) {
  return value_called(name, {Trust::exact, Trust::measured, Trust::derived, Trust::guessed});
}

CalibrationTrust read_trust(const YamlValue& value) {
  if (value.is_scalar()) {
    if (read_class(value) == Trust::exact) return {};
    value.fail("one class of trust is given for all that a calibration says",
               "exact, or { gpu: ..., nvlink: ..., pcie: ..., cpu: ..., network: ..., nvls: ... }");
  }
  const YamlMapping keys =
      value.mapping({"models", "gpu", "nvlink", "pcie", "cpu", "network", "nvls", "algorithms"});
  CalibrationTrust trust = all_guessed();
  if (const auto gpu = keys.find("gpu")) trust.gpu = read_class(*gpu);
  for (const LinkKind kind : link_kinds) {
    const auto link = keys.find(calibration_key(kind));
    if (link) trust.links[static_cast<std::size_t>(kind)] = read_class(*link);
  }
  if (const auto nvls = keys.find("nvls")) trust.nvls = read_class(*nvls);
  if (const auto models = keys.find("models")) trust.models = read_names(*models);
  if (const auto algorithms = keys.find("algorithms")) trust.algorithms = read_names(*algorithms);
  return trust;
}

CalibrationTrust trust_of_fitted(const std::vector<std::string>& fitted) {
  CalibrationTrust trust = all_guessed();
  if (!fitted.empty()) trust.gpu = Trust::measured;
  for (const LinkKind kind : link_kinds) {
    const std::string part = "." + std::string(calibration_key(kind));
    const bool any = std::any_of(fitted.begin(), fitted.end(), [&](const std::string& name) {
      return name.ends_with(part) || name.find(part + ".") != std::string::npos;
    });
    if (any) trust.links[static_cast<std::size_t>(kind)] = Trust::measured;
  }
  const auto is_nvls = [](const std::string& name) { return name.starts_with("nvls."); };
  if (std::any_of(fitted.begin(), fitted.end(), is_nvls)) trust.nvls = Trust::measured;
  return trust;
}

std::vector<LinkKind> kinds_of(const Wiring& wiring) {
  std::set<LinkKind> kinds;
  for (const auto& wires : wiring.wires) {
    for (const Wire& wire : wires) kinds.insert(wire.kind);
  }
  return {kinds.begin(), kinds.end()};
}

Trust trust_of(const CalibrationTrust& calibration, const Topology& topology,
               std::span<const DeviceId> gpus, std::span<const LinkKind> kinds,
               std::string_view algorithm, bool textbook) {
  if (is_exact(calibration)) return Trust::exact;
  const bool in_nvswitches = algorithm == "nvls" || algorithm == "nvlstree";
  if (textbook || !(in_nvswitches || contains(calibration.algorithms, algorithm))) {
    return Trust::guessed;
  }
  std::optional<std::string_view> last;  // neighbours are mostly alike
  for (const DeviceId gpu : gpus) {
    const Device device = topology.device(gpu);
    if (device.model == last) continue;
    if (!is_about(calibration, device)) return Trust::guessed;
    last = device.model;
  }
  Trust worst = in_nvswitches ? std::max(calibration.gpu, calibration.nvls) : calibration.gpu;
  for (const LinkKind kind : kinds) {
    worst = std::max(worst, calibration.links[static_cast<std::size_t>(kind)]);
  }
  return worst;
}

Medium medium_of(const Calibration& cost, std::span<const LinkKind> kinds, std::uint32_t hosts) {
  const auto crosses = [&](LinkKind kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  if (crosses(LinkKind::network)) {
    return {cost.transport.empty() ? "network" : cost.transport, hosts};
  }
  return {crosses(LinkKind::pcie) || crosses(LinkKind::cpu) ? "pcie" : "nvlink"};
}

}  // namespace collsim
