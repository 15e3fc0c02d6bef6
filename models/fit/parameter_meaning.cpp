#include "models/fit/parameter_meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "models/calibration/calibration_file.h"

namespace collsim {

namespace {

struct Meaning {
  std::string_view end;  ///< of the name, from a dot on
  std::string_view text;
  ParameterRange plausible;  ///< of a healthy machine, in seconds, bytes per second or as a share
};

constexpr ParameterRange up_to(double microseconds) {
  return {0, 1e-6 * microseconds};
}
constexpr ParameterRange from(double gigabytes_per_second) {
  return {1e9 * gigabytes_per_second, std::numeric_limits<double>::infinity()};
}
constexpr ParameterRange any_share{0, 1};

/// The first that ends a name, less the link kind, says what it means. Times and rates are
/// plausible up to about four times worse than the worst shipped calibration has them, V100 to
/// B200, NVLink to TCP. LL sends as much flag as data and LL128 120 of 128 bytes; a fifth more may
/// be lost on the way. A link that carries less than half of its bandwidth is broken.
constexpr std::array<Meaning, 59> meanings{{
    {"launch", "once per call", up_to(30)},
    {"launch_per_doubling", "and for each doubling of its thread blocks", up_to(2)},
    {"graph_launch", "in place of launch in a CUDA graph", up_to(15)},
    {"issue", "least time of a call: the CPU issues the next", up_to(40)},
    {"issue_per_operation", "and for each further send or receive of its group", up_to(4)},
    {"efficiency", "what a link carries of its bandwidth", {0.5, 1.5}},
    {"unevenness.slice", "how unevenly links serve slices, by chance", any_share},
    {"unevenness.channel", "how unevenly links serve channels", any_share},
    {"proxy.send", "CPU time of the sender's network thread per slice", up_to(40)},
    {"proxy.receive", "CPU time of the receiver's network thread per slice", up_to(40)},
    {"proxy.copy", "rate at which network threads copy", from(2)},
    {"proxy.rate", "rate of one connection of the network", from(0.1)},
    {"memory.cached", "rate of a node's host memory out of the cache", from(20)},
    {"memory.rate", "the same with buffers beyond the cache", from(15)},
    {"both_ways.at_once", "a GPU to and from host memory while it receives and sends at once",
     from(5)},
    {"both_ways.in_turn", "the same while it sends and receives in turn", from(5)},
    {"setup", "once per call of this protocol", up_to(20)},
    {"setup_per_warp", "and for each warp of the thread block", up_to(2)},
    {"direct_setup", "and where primitives may reach into peers' buffers", up_to(8)},
    {"message_setup", "once per call of sends and receives", up_to(14)},
    {"ll.wire_factor", "bytes on the wire per byte of data", {2, 2.4}},
    {"ll128.wire_factor", "bytes on the wire per byte of data", {1, 1.3}},
    {"wire_factor", "bytes on the wire per byte of data", {1, 1.2}},
    {"alpha", "from the wire until the peer sees it", up_to(60)},
    {"slice", "serial time per slice", up_to(15)},
    {"fence", "more of it for a slice that has data", up_to(6)},
    {"copy_slice", "more of it where it is sent on as it came", up_to(4)},
    {"slice_per_warp", "more of it for each warp", up_to(0.5)},
    {"half_block", "more of it in thread blocks of half the warps", up_to(4)},
    {"crowding", "how much thread blocks slow each other down on a link", any_share},
    {"mixing", "what is lost behind data for other GPUs", any_share},
    {"overlap", "what a tree's lanes do more at once than one by one", any_share},
    {"rate.load", "rate of a thread block that reads own data", from(35)},
    {"rate.receive", "the same of what a peer sent", from(25)},
    {"rate.store", "rate at which it writes into the own buffer", from(10)},
    {"rate.send", "rate at which it writes to a peer", from(4)},
    {"rate.fan", "a tree's way up or down, as if once more at this rate", from(40)},
    {"rate.other", "and as if once more at this rate for each other one of its GPU", from(100)},
    {"fetch", "rate of reading what has left the cache", from(30)},
    {"cold.load", "more of a full round to read own data that has left the cache", up_to(9)},
    {"cold.receive", "more of one to read what a peer sent, if it has", up_to(9)},
    {"cold.fan", "and more of that in a tree", up_to(9)},
    {"round.load", "what a round waits for own data", up_to(5)},
    {"round.receive", "for what a peer sent", up_to(5)},
    {"round.store", "to write into the own buffer", up_to(5)},
    {"round.send", "to write to a peer", up_to(5)},
    {"work.load", "a full round's work to read own data", up_to(5)},
    {"work.receive", "its work to read what a peer sent", up_to(5)},
    {"work.store", "its work to write into the own buffer", up_to(5)},
    {"work.send", "its work to write to a peer", up_to(5)},
    {"work.fan", "more of it on a tree's way up or down", up_to(5)},
    {"fan", "on top of alpha in trees", up_to(5)},
    {"work.other", "and for each other thread block of its GPU", up_to(5)},
    {"first.load", "more of a slice's first round, to read own data", up_to(4)},
    {"first.receive", "more of it to read what a peer sent", up_to(4)},
    {"first.store", "more of it to write into the own buffer", up_to(4)},
    {"first.send", "more of it to write to a peer", up_to(4)},
    {"last_store", "what the stores of a slice's last round take", any_share},
    {"misaligned", "how much longer stores to parts of ranks take that begin off lines", any_share},
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

const Meaning* find_meaning(const Parameter& parameter) {
  const std::string_view name = without_link_kind(parameter.name);
  const auto* found = std::find_if(meanings.begin(), meanings.end(), [&](const Meaning& meaning) {
    return ends_in(name, meaning.end);
  });
  return found == meanings.end() ? nullptr : found;
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
  if (parameter.name.ends_with(".crowding")) return {0, max_crowding};
  if (parameter.name.ends_with(".mixing")) return {0, max_mixing};
  if (parameter.name.starts_with("unevenness.")) return {0, max_unevenness};
  return {0, 1};
}

ParameterRange plausible_range_of(const Parameter& parameter) {
  const Meaning* found = find_meaning(parameter);
  return found == nullptr ? range_of(parameter) : found->plausible;
}

std::string_view meaning_of(const Parameter& parameter) {
  const Meaning* found = find_meaning(parameter);
  return found == nullptr ? std::string_view() : found->text;
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
