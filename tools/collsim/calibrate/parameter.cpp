#include "tools/collsim/calibrate/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/calibration/calibration_file.h"

namespace collsim {

namespace {

/// Where a protocol's constants stand: in general, or for thread blocks with such links.
using Place = std::function<ProtocolConstants&(Calibration&)>;

template <typename Constants>
void add_machine(std::vector<Parameter>& parameters, const Constants& constants) {
  for (const MachineConstant& constant : constants) {
    parameters.push_back({std::string(constant.key), constant.quantity, constant.accepted,
                          constant.plausible, constant.meaning, constant.in});
  }
}

template <typename Constants>
void add(std::vector<Parameter>& parameters, const Constants& constants, Protocol protocol,
         const std::string& prefix, const Place& place) {
  for (const ProtocolConstant& constant : constants) {
    if (!constant.of(protocol)) continue;
    const auto in = constant.in;
    parameters.push_back({fmt::format("{}.{}", prefix, constant.key), constant.quantity,
                          constant.accepted, constant.plausible, constant.meaning,
                          [place, in](Calibration& cost) -> double& { return in(place(cost)); }});
  }
}

void add_protocol(std::vector<Parameter>& parameters, Protocol protocol) {
  const auto index = static_cast<std::size_t>(protocol);
  const std::string name(calibration_key(protocol));
  const Place general = [index](Calibration& cost) -> ProtocolConstants& {
    return cost.protocols[index];
  };
  add(parameters, protocol_constants, protocol, name, general);
  add(parameters, thread_block_constants, protocol, name, general);
  for (std::size_t kind = 1; kind < link_kind_count; ++kind) {  // NVLink's are the protocol's
    const std::string_view key = calibration_key(static_cast<LinkKind>(kind));
    // Where a calibration says nothing of the kind, its own begin as the protocol's.
    add(parameters, thread_block_constants, protocol, fmt::format("{}.over.{}", name, key),
        [index, kind](Calibration& cost) -> ProtocolConstants& {
          auto& own = cost.over[index][kind];
          if (!own) own = cost.protocols[index];
          return *own;
        });
  }
}

bool is_efficiency(const Parameter& parameter) {
  return parameter.quantity == Quantity::factor && parameter.accepted.min == 0;
}

}  // namespace

std::vector<Parameter> fit_parameters() {
  std::vector<Parameter> parameters;
  add_machine(parameters, machine_constants);
  add_machine(parameters, correction_constants);
  add_machine(parameters, nvls_constants);
  add_machine(parameters, host_constants);
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    add_protocol(parameters, protocol);
  }
  return parameters;
}

std::string text_of(const Parameter& parameter, double value) {
  switch (parameter.quantity) {
    case Quantity::time:
      return fmt::format("{:.4g} us", 1e6 * value);
    case Quantity::rate:
      return std::isinf(value) ? "no limit" : fmt::format("{:.4g} GB/s", 1e-9 * value);
    case Quantity::share:
      return fmt::format("{:.4g}%", 100 * value);
    case Quantity::factor:
      break;
  }
  return is_efficiency(parameter) ? fmt::format("{:.4g}%", 100 * value)
                                  : fmt::format("{:.4g}", value);
}

double nominal_value(const Parameter& parameter) {
  constexpr double time = 0.5e-6;
  constexpr double rate = 50e9;
  constexpr double share = 0.05;
  switch (parameter.quantity) {
    case Quantity::time:
      return time;
    case Quantity::rate:
      return rate;
    case Quantity::share:
    case Quantity::factor:
      break;
  }
  return std::max(parameter.accepted.min, share);
}

}  // namespace collsim
