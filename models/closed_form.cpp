#include "models/closed_form.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <vector>

#include "sim/algorithms/patterns.h"

namespace collsim {

namespace {

/// Time a sender is occupied by one message while `fan` of them share its port.
double occupancy(const HopCost& hop, double bytes, double fan = 1) {
  return hop.serial.value + bytes / std::min(hop.rate.value, hop.port.value / fan);
}

/// `steps` hops in lock step, every rank sending one chunk and receiving one per step, then storing
/// the last, which can begin neither before its own last send is out nor before a slice is there.
/// Slices let a step begin when the first slice of the one before has arrived.
double lock_step(const HopCost& hop, double chunk, double steps) {
  if (steps == 0) return 0;
  const double message = chunk / hop.slices;
  const double send = occupancy(hop, message);
  const double store = hop.serial.value;
  const double period = std::max(hop.slices * send, send + hop.alpha.value);
  return (steps - 1) * period +
         std::max(hop.slices * send + hop.alpha.value + store, period + hop.slices * store);
}

/// When the last of `messages` starts that one sender pushes into a FIFO whose receiver forwards
/// each at once: back to back, unless the credits run out.
double last_start(const HopCost& hop, double send, double messages) {
  const double round_trip = 2 * send + hop.alpha.value;
  if (hop.credits * send >= round_trip) return (messages - 1) * send;
  const auto last = static_cast<std::int64_t>(messages) - 1;
  const std::int64_t groups = last / hop.credits;
  const std::int64_t within = last % hop.credits;
  return static_cast<double>(groups) * round_trip + static_cast<double>(within) * send;
}

/// A tree of this depth, reducing up and broadcasting down in a pipeline of `loops` chunks.
double pipelined_tree(const HopCost& hop, double depth, double chunk, double loops) {
  if (depth == 0) return 0;
  const double message = chunk / hop.slices;
  const double send = occupancy(hop, message);
  return 2 * depth * (send + hop.alpha.value) + hop.serial.value +
         last_start(hop, send, loops * hop.slices);
}

double depth(const RootedTree& tree) {
  return static_cast<double>(edges_by_level(tree).size());
}

double ring(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  const double loops = in.loops;
  return loops * lock_step(in.inter, in.bytes / (n * loops), 2 * (n - 1));
}

double tree(const ClosedFormInput& in) {
  const double loops = in.loops;
  return pipelined_tree(in.inter, depth(binary_tree(in.placement.ranks())), in.bytes / loops,
                        loops);
}

double double_binary_tree(const ClosedFormInput& in) {
  const double loops = in.loops;
  const auto nodes = in.placement.ranks_by_node();
  const double trees = nodes.size() > 1 ? 2 : 1;  // on one node both are the same chain
  const double chunk = in.bytes / (trees * loops);
  const auto node_count = static_cast<Rank>(nodes.size());
  const auto time = [&](const RootedTree& node_tree) {
    return pipelined_tree(in.inter, depth(chain_in_nodes(node_tree, nodes)), chunk, loops);
  };
  return std::max(time(binary_tree(node_count)), time(second_binary_tree(node_count)));
}

double parameter_server(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  if (n == 1) return 0;
  const double loops = in.loops;
  const double shared = occupancy(in.inter, in.bytes / loops, n - 1);
  return loops * (2 * (shared + in.inter.alpha.value) + in.inter.serial.value);
}

double all_to_all_broadcast(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  if (n == 1) return 0;
  const double loops = in.loops;
  const double piece = in.bytes / loops;
  return loops * (occupancy(in.inter, piece, n - 1) + in.inter.alpha.value + in.inter.serial.value);
}

double recursive_halving_doubling(const ClosedFormInput& in) {
  const Rank n = in.placement.ranks();
  const Rank core = std::bit_floor(n);
  const double loops = in.loops;
  const double piece = in.bytes / loops;
  const auto exchange = [&in](double bytes) {
    return occupancy(in.inter, bytes) + in.inter.alpha.value + in.inter.serial.value;
  };
  double time = 0;
  double part = piece / 2;
  for (Rank distance = core; distance > 1; distance /= 2) {
    time += 2 * exchange(part);
    part /= 2;
  }
  if (n > core) time += 2 * exchange(piece);
  return loops * time;
}

double hierarchical(std::string_view inner, const ClosedFormInput& in) {
  const auto nodes = in.placement.ranks_by_node();
  const auto local = static_cast<double>(nodes.front().size());
  const double loops = in.loops;
  const double piece = in.bytes / loops;
  // Reduce-scatter and all-gather are each half of a ring all-reduce. No store ends the first:
  // its last receive is what the next phase begins with.
  double time = 2 * lock_step(in.intra, piece / local, local - 1);
  ClosedFormInput between;
  between.placement = uniform_placement(static_cast<Rank>(nodes.size()));
  between.bytes = piece / local;
  between.inter = in.inter;
  between.intra = in.inter;
  const auto inter_time = closed_form(inner, between);
  assert(inter_time);
  time += inter_time->value;
  return loops * time;
}

bool never(Rank /*ranks*/) {
  return false;
}
bool always(Rank /*ranks*/) {
  return true;
}
bool unless_power_of_two(Rank ranks) {
  return !std::has_single_bit(ranks);
}

struct Form {
  std::string_view algorithm;
  bool (*needs_private_links)(Rank ranks);
  double (*seconds)(const ClosedFormInput& input);
};

constexpr std::array forms{
    Form{"ring", never, ring},
    Form{"tree", always, tree},
    Form{"double_binary_tree", always, double_binary_tree},
    Form{"parameter_server", never, parameter_server},
    Form{"all_to_all_broadcast", never, all_to_all_broadcast},
    Form{"recursive_halving_doubling", unless_power_of_two, recursive_halving_doubling},
};

const Form* find_form(std::string_view algorithm) {
  const auto* form = std::find_if(forms.begin(), forms.end(),
                                  [&](const Form& f) { return f.algorithm == algorithm; });
  return form == forms.end() ? nullptr : form;
}

/// The inter-node algorithm of "hierarchical" or "hierarchical:<inner>"; nothing for others.
std::optional<std::string_view> inner_algorithm(std::string_view algorithm) {
  constexpr std::string_view composed = "hierarchical";
  if (algorithm == composed) return "ring";
  if (algorithm.starts_with(composed) && algorithm[composed.size()] == ':') {
    return algorithm.substr(composed.size() + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Seconds> closed_form(std::string_view algorithm, const ClosedFormInput& input) {
  if (const auto inner = inner_algorithm(algorithm)) return Seconds{hierarchical(*inner, input)};
  const Form* form = find_form(algorithm);
  if (form == nullptr) return std::nullopt;
  return Seconds{form->seconds(input)};
}

bool needs_private_links(std::string_view algorithm, const Placement& placement) {
  const auto inner = inner_algorithm(algorithm);
  const Rank ranks =
      inner ? static_cast<Rank>(placement.ranks_by_node().size()) : placement.ranks();
  const Form* form = find_form(inner.value_or(algorithm));
  return form != nullptr && form->needs_private_links(ranks);
}

}  // namespace collsim
