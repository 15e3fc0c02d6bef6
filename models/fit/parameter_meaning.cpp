#include "models/fit/parameter_meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "models/cost_model.h"

namespace collsim {

namespace {

struct Meaning {
  std::string_view end;  ///< of the name, from a dot on
  std::string_view text;
};

/// The first that ends a name, less the link kind, says what it means.
constexpr std::array<Meaning, 57> meanings{{
    {"launch", "once per call"},
    {"launch_per_doubling", "and for each doubling of its thread blocks"},
    {"graph_launch", "in place of launch in a CUDA graph"},
    {"issue", "least time of a call: the CPU issues the next"},
    {"issue_per_operation", "and for each further send or receive of its group"},
    {"efficiency", "what a link carries of its bandwidth"},
    {"unevenness.slice", "how unevenly links serve slices, by chance"},
    {"unevenness.channel", "how unevenly links serve channels"},
    {"proxy.send", "CPU time of the sender's network thread per slice"},
    {"proxy.receive", "CPU time of the receiver's network thread per slice"},
    {"proxy.copy", "rate at which network threads copy"},
    {"proxy.rate", "rate of one connection of the network"},
    {"memory.cached", "rate of a node's host memory out of the cache"},
    {"memory.rate", "the same with buffers beyond the cache"},
    {"both_ways.at_once", "a GPU to and from host memory while it receives and sends at once"},
    {"both_ways.in_turn", "the same while it sends and receives in turn"},
    {"setup", "once per call of this protocol"},
    {"setup_per_warp", "and for each warp of the thread block"},
    {"direct_setup", "and where primitives may reach into peers' buffers"},
    {"message_setup", "once per call of sends and receives"},
    {"wire_factor", "bytes on the wire per byte of data"},
    {"alpha", "from the wire until the peer sees it"},
    {"fan", "on top of alpha in trees"},
    {"slice", "serial time per slice"},
    {"fence", "more of it for a slice that has data"},
    {"copy_slice", "more of it where it is sent on as it came"},
    {"slice_per_warp", "more of it for each warp"},
    {"half_block", "more of it in thread blocks of half the warps"},
    {"crowding", "how much thread blocks slow each other down on a link"},
    {"mixing", "what is lost behind data for other GPUs"},
    {"overlap", "what a tree's lanes do more at once than one by one"},
    {"rate.load", "rate of a thread block that reads own data"},
    {"rate.receive", "the same of what a peer sent"},
    {"rate.store", "rate at which it writes into the own buffer"},
    {"rate.send", "rate at which it writes to a peer"},
    {"rate.fan", "a tree's way up or down, as if once more at this rate"},
    {"rate.other", "and as if once more at this rate for each other one of its GPU"},
    {"fetch", "rate of reading what has left the cache"},
    {"cold.load", "more of a full round to read own data that has left the cache"},
    {"cold.receive", "more of one to read what a peer sent, if it has"},
    {"cold.fan", "and more of that in a tree"},
    {"round.load", "what a round waits for own data"},
    {"round.receive", "for what a peer sent"},
    {"round.store", "to write into the own buffer"},
    {"round.send", "to write to a peer"},
    {"work.load", "a full round's work to read own data"},
    {"work.receive", "its work to read what a peer sent"},
    {"work.store", "its work to write into the own buffer"},
    {"work.send", "its work to write to a peer"},
    {"work.fan", "more of it on a tree's way up or down"},
    {"work.other", "and for each other thread block of its GPU"},
    {"first.load", "more of a slice's first round, to read own data"},
    {"first.receive", "more of it to read what a peer sent"},
    {"first.store", "more of it to write into the own buffer"},
    {"first.send", "more of it to write to a peer"},
    {"last_store", "what the stores of a slice's last round take"},
    {"misaligned", "how much longer stores to parts of ranks take that begin off lines"},
}};

bool ends_in(std::string_view name, std::string_view end) {
  return name == end || (name.ends_with(end) && name[name.size() - end.size() - 1] == '.');
}

/// "efficiency.nvlink" is efficiency.
std::string_view without_link_kind(std::string_view name) {
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    const std::string_view key = calibration_key(static_cast<LinkKind>(kind));
    if (ends_in(name, key)) return name.substr(0, name.size() - key.size() - 1);
  }
  return name;
}

bool is_factor(const Parameter& parameter) {
  return parameter.name.ends_with("wire_factor");
}

}  // namespace

ParameterRange range_of(const Parameter& parameter) {
  constexpr double most = std::numeric_limits<double>::infinity();
  if (parameter.quantity != Quantity::share) return {0, most};
  if (is_factor(parameter)) return {1, 4};
  if (parameter.name == "efficiency.pcie") return {0, 1.5};
  if (parameter.name.ends_with(".crowding")) return {0, most_crowding};
  if (parameter.name.ends_with(".mixing")) return {0, most_mixing};
  if (parameter.name.starts_with("unevenness.")) return {0, most_unevenness};
  return {0, 1};
}

std::string_view meaning_of(const Parameter& parameter) {
  const std::string_view name = without_link_kind(parameter.name);
  const auto* found = std::find_if(meanings.begin(), meanings.end(), [&](const Meaning& meaning) {
    return ends_in(name, meaning.end);
  });
  return found == meanings.end() ? std::string_view() : found->text;
}

std::string text_of(const Parameter& parameter, double value) {
  switch (parameter.quantity) {
    case Quantity::time:
      return fmt::format("{:.4g} us", 1e6 * value);
    case Quantity::rate:
      return std::isinf(value) ? "no limit" : fmt::format("{:.4g} GB/s", 1e-9 * value);
    case Quantity::share:
      return is_factor(parameter) ? fmt::format("{:.4g}", value)
                                  : fmt::format("{:.4g}%", 100 * value);
  }
  return {};
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
      return std::max(range_of(parameter).least, share);
  }
  return time;
}

}  // namespace collsim
