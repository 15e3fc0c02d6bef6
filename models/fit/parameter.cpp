#include "models/fit/parameter.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "models/calibration/calibration_file.h"

namespace collsim {

namespace {

/// Where a protocol's constants stand: in general, or for thread blocks with such links.
using Place = std::function<ProtocolCost&(Calibration&)>;

void add_thread_block(std::vector<Parameter>& parameters, const std::string& prefix,
                      const Place& place) {
  const auto time = [&](std::string_view key, Seconds ProtocolCost::*member) {
    parameters.push_back(
        {fmt::format("{}.{}", prefix, key), Quantity::time,
         [place, member](Calibration& cost) -> double& { return (place(cost).*member).value; }});
  };
  const auto rate = [&](std::string_view key, BytesPerSecond PerTouch<BytesPerSecond>::*touch) {
    parameters.push_back(
        {fmt::format("{}.rate.{}", prefix, key), Quantity::rate,
         [place, touch](Calibration& cost) -> double& { return (place(cost).rate.*touch).value; }});
  };
  const auto each = [&](std::string_view table, PerTouch<Seconds> ProtocolCost::*member,
                        std::string_view key, Seconds PerTouch<Seconds>::*touch) {
    parameters.push_back({fmt::format("{}.{}.{}", prefix, table, key), Quantity::time,
                          [place, member, touch](Calibration& cost) -> double& {
                            return (place(cost).*member.*touch).value;
                          }});
  };
  const auto round = [&](std::string_view key, Seconds PerTouch<Seconds>::*touch) {
    each("round", &ProtocolCost::round, key, touch);
  };
  const auto work = [&](std::string_view key, Seconds PerTouch<Seconds>::*touch) {
    each("work", &ProtocolCost::work, key, touch);
  };
  const auto first = [&](std::string_view key, Seconds PerTouch<Seconds>::*touch) {
    each("first", &ProtocolCost::first, key, touch);
  };
  const auto share = [&](std::string_view key, double ProtocolCost::*member) {
    parameters.push_back(
        {fmt::format("{}.{}", prefix, key), Quantity::share,
         [place, member](Calibration& cost) -> double& { return place(cost).*member; }});
  };
  time("slice", &ProtocolCost::slice);
  time("fence", &ProtocolCost::fence);
  time("copy_slice", &ProtocolCost::copy_slice);
  time("slice_per_warp", &ProtocolCost::slice_per_warp);
  time("half_block", &ProtocolCost::half_block);
  time("fan", &ProtocolCost::fan);
  share("crowding", &ProtocolCost::crowding);
  share("mixing", &ProtocolCost::mixing);
  share("overlap", &ProtocolCost::overlap);
  rate("load", &PerTouch<BytesPerSecond>::load);
  rate("receive", &PerTouch<BytesPerSecond>::receive);
  rate("store", &PerTouch<BytesPerSecond>::store);
  rate("send", &PerTouch<BytesPerSecond>::send);
  rate("fan", &PerTouch<BytesPerSecond>::fan);
  rate("other", &PerTouch<BytesPerSecond>::other);
  parameters.push_back({fmt::format("{}.fetch", prefix), Quantity::rate,
                        [place](Calibration& cost) -> double& { return place(cost).fetch.value; }});
  time("cold.load", &ProtocolCost::cold_load);
  time("cold.receive", &ProtocolCost::cold_receive);
  time("cold.fan", &ProtocolCost::cold_fan);
  round("load", &PerTouch<Seconds>::load);
  round("receive", &PerTouch<Seconds>::receive);
  round("store", &PerTouch<Seconds>::store);
  round("send", &PerTouch<Seconds>::send);
  work("load", &PerTouch<Seconds>::load);
  work("receive", &PerTouch<Seconds>::receive);
  work("store", &PerTouch<Seconds>::store);
  work("send", &PerTouch<Seconds>::send);
  work("fan", &PerTouch<Seconds>::fan);
  work("other", &PerTouch<Seconds>::other);
  first("load", &PerTouch<Seconds>::load);
  first("receive", &PerTouch<Seconds>::receive);
  first("store", &PerTouch<Seconds>::store);
  first("send", &PerTouch<Seconds>::send);
  share("last_store", &ProtocolCost::last_store);
  share("misaligned", &ProtocolCost::misaligned);
}

void add_protocol(std::vector<Parameter>& parameters, Protocol protocol) {
  const auto index = static_cast<std::size_t>(protocol);
  const std::string name(calibration_key(protocol));
  parameters.push_back({name + ".setup", Quantity::time, [index](Calibration& cost) -> double& {
                          return cost.protocols[index].setup.value;
                        }});
  parameters.push_back(
      {name + ".setup_per_warp", Quantity::time, [index](Calibration& cost) -> double& {
         return cost.protocols[index].setup_per_warp.value;
       }});
  parameters.push_back(
      {name + ".direct_setup", Quantity::time,
       [index](Calibration& cost) -> double& { return cost.protocols[index].direct_setup.value; }});
  parameters.push_back(
      {name + ".message_setup", Quantity::time, [index](Calibration& cost) -> double& {
         ProtocolCost& own = cost.protocols[index];
         if (!own.message_setup) own.message_setup = own.setup;
         return own.message_setup->value;
       }});
  parameters.push_back(
      {name + ".wire_factor", Quantity::share,
       [index](Calibration& cost) -> double& { return cost.protocols[index].wire_factor; }});
  add_thread_block(parameters, name,
                   [index](Calibration& cost) -> ProtocolCost& { return cost.protocols[index]; });
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    const std::string_view key = calibration_key(static_cast<LinkKind>(kind));
    parameters.push_back({fmt::format("{}.alpha.{}", name, key), Quantity::time,
                          [index, kind](Calibration& cost) -> double& {
                            return cost.protocols[index].alpha[kind].value;
                          }});
    // Where a calibration says nothing of the kind, its own begin as the protocol's.
    add_thread_block(parameters, fmt::format("{}.over.{}", name, key),
                     [index, kind](Calibration& cost) -> ProtocolCost& {
                       auto& own = cost.over[index][kind];
                       if (!own) own = cost.protocols[index];
                       return *own;
                     });
  }
}

}  // namespace

std::vector<Parameter> fit_parameters() {
  std::vector<Parameter> parameters;
  parameters.push_back(
      {"launch", Quantity::time, [](Calibration& cost) -> double& { return cost.launch.value; }});
  parameters.push_back({"launch_per_doubling", Quantity::time, [](Calibration& cost) -> double& {
                          return cost.launch_per_doubling.value;
                        }});
  parameters.push_back({"graph_launch", Quantity::time, [](Calibration& cost) -> double& {
                          if (!cost.graph_launch) cost.graph_launch = cost.launch;
                          return cost.graph_launch->value;
                        }});
  parameters.push_back(
      {"issue", Quantity::time, [](Calibration& cost) -> double& { return cost.issue.value; }});
  parameters.push_back({"issue_per_operation", Quantity::time, [](Calibration& cost) -> double& {
                          return cost.issue_per_operation.value;
                        }});
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    parameters.push_back(
        {fmt::format("efficiency.{}", calibration_key(static_cast<LinkKind>(kind))),
         Quantity::share, [kind](Calibration& cost) -> double& { return cost.efficiency[kind]; }});
  }
  parameters.push_back({"unevenness.slice", Quantity::share,
                        [](Calibration& cost) -> double& { return cost.unevenness.slice; }});
  parameters.push_back({"unevenness.channel", Quantity::share,
                        [](Calibration& cost) -> double& { return cost.unevenness.channel; }});
  parameters.push_back({"proxy.send", Quantity::time,
                        [](Calibration& cost) -> double& { return cost.proxy.send.value; }});
  parameters.push_back({"proxy.receive", Quantity::time,
                        [](Calibration& cost) -> double& { return cost.proxy.receive.value; }});
  parameters.push_back({"proxy.copy", Quantity::rate,
                        [](Calibration& cost) -> double& { return cost.proxy.copy.value; }});
  parameters.push_back({"proxy.rate", Quantity::rate,
                        [](Calibration& cost) -> double& { return cost.proxy.rate.value; }});
  parameters.push_back({"memory.cached", Quantity::rate,
                        [](Calibration& cost) -> double& { return cost.memory.cached.value; }});
  parameters.push_back({"memory.rate", Quantity::rate,
                        [](Calibration& cost) -> double& { return cost.memory.rate.value; }});
  parameters.push_back({"memory.both_ways.at_once", Quantity::rate,
                        [](Calibration& cost) -> double& { return cost.memory.at_once.value; }});
  parameters.push_back({"memory.both_ways.in_turn", Quantity::rate,
                        [](Calibration& cost) -> double& { return cost.memory.in_turn.value; }});
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    add_protocol(parameters, protocol);
  }
  return parameters;
}

}  // namespace collsim
