#include "models/fit/parameter.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "models/cost_model.h"

namespace collsim {

namespace {

void add_protocol(std::vector<Parameter>& parameters, Protocol protocol) {
  const auto index = static_cast<std::size_t>(protocol);
  const auto name = [&](std::string_view key) {
    return fmt::format("{}.{}", calibration_key(protocol), key);
  };
  const auto time = [&](std::string_view key, Seconds ProtocolCost::*member) {
    parameters.push_back({name(key), Quantity::time, [index, member](TransferCost& cost) -> double& {
                            return (cost.protocols[index].*member).value;
                          }});
  };
  const auto rate = [&](std::string_view key, BytesPerSecond ProtocolCost::*member) {
    parameters.push_back({name(key), Quantity::rate, [index, member](TransferCost& cost) -> double& {
                            return (cost.protocols[index].*member).value;
                          }});
  };
  time("setup", &ProtocolCost::setup);
  time("slice", &ProtocolCost::slice);
  time("slice_per_warp", &ProtocolCost::slice_per_warp);
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    parameters.push_back({name(fmt::format("alpha.{}", calibration_key(static_cast<LinkKind>(kind)))), Quantity::time,
                          [index, kind](TransferCost& cost) -> double& {
                            return cost.protocols[index].alpha[kind].value;
                          }});
  }
  time("fan", &ProtocolCost::fan);
  rate("channel", &ProtocolCost::channel);
  rate("reduce", &ProtocolCost::reduce);
  rate("copy", &ProtocolCost::copy);
  rate("store", &ProtocolCost::store);
  parameters.push_back({name("wire_factor"), Quantity::share, [index](TransferCost& cost) -> double& {
                          return cost.protocols[index].wire_factor;
                        }});
  time("round.reduce", &ProtocolCost::reduce_round);
  time("round.copy", &ProtocolCost::copy_round);
  time("round.store", &ProtocolCost::store_round);
}

}  // namespace

std::vector<Parameter> fit_parameters() {
  std::vector<Parameter> parameters;
  parameters.push_back({"launch", Quantity::time,
                        [](TransferCost& cost) -> double& { return cost.launch.value; }});
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    parameters.push_back({fmt::format("efficiency.{}", calibration_key(static_cast<LinkKind>(kind))), Quantity::share,
                          [kind](TransferCost& cost) -> double& { return cost.efficiency[kind]; }});
  }
  parameters.push_back({"unevenness", Quantity::share,
                        [](TransferCost& cost) -> double& { return cost.unevenness; }});
  parameters.push_back({"proxy.message", Quantity::time,
                        [](TransferCost& cost) -> double& { return cost.proxy.message.value; }});
  parameters.push_back({"proxy.rate", Quantity::rate,
                        [](TransferCost& cost) -> double& { return cost.proxy.rate.value; }});
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    add_protocol(parameters, protocol);
  }
  return parameters;
}

}  // namespace collsim
