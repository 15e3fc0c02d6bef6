#include "models/bounds/closed_form.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <cassert>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "models/bounds/one_port.h"
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

/// How long something takes: so many alphas, and so many messages one after the other.
struct Turns {
  double alphas = 0;
  double messages = 0;
};

/// One whole message up each edge of a tree and down again, where every rank has one port each way:
/// what arrives at a port together shares it.
class OnePortTree {
 public:
  OnePortTree(const RootedTree& tree, double alpha, double message)
      : alpha_(alpha), message_(message), first_child_(tree.size() + 1), children_(tree.size()) {
    for (Rank rank = 0; rank < tree.size(); ++rank) {
      if (tree.parent[rank]) {
        ++first_child_[*tree.parent[rank] + 1];
      } else {
        root_ = rank;
      }
    }
    std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
    std::vector<Rank> next = first_child_;
    for (Rank rank = 0; rank < tree.size(); ++rank) {
      if (tree.parent[rank]) children_[next[*tree.parent[rank]]++] = rank;
    }
  }

  Turns up_and_down() const {
    const Turns up = ready(root_);
    const Turns down = reached(root_);
    return {up.alphas + down.alphas, up.messages + down.messages};
  }

 private:
  std::span<const Rank> children_of(Rank rank) const {
    return std::span(children_).subspan(first_child_[rank],
                                        first_child_[rank + 1] - first_child_[rank]);
  }
  double time(const Turns& turns) const {
    return turns.alphas * alpha_ + turns.messages * message_;
  }
  Turns later(const Turns& a, const Turns& b) const { return time(a) < time(b) ? b : a; }

  /// When a rank has its subtree's sum. Its port is never idle while a message waits, so that it
  /// is done after some message begins to come and that one and all later ones have passed.
  Turns ready(Rank rank) const {
    boost::container::small_vector<Turns, 4> begins;
    for (const Rank child : children_of(rank)) begins.push_back(ready(child));
    std::sort(begins.begin(), begins.end(),
              [this](const Turns& a, const Turns& b) { return time(a) < time(b); });
    Turns done;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const auto left = static_cast<double>(begins.size() - i);
      done = later(done, {begins[i].alphas + 1, begins[i].messages + left});
    }
    return done;
  }

  /// How long after a rank has the result the last one below it has.
  Turns reached(Rank rank) const {
    const std::span<const Rank> children = children_of(rank);
    const auto copies = static_cast<double>(children.size());
    Turns last;
    for (const Rank child : children) {
      const Turns below = reached(child);
      last = later(last, {below.alphas + 1, below.messages + copies});
    }
    return last;
  }

  double alpha_;
  double message_;
  std::vector<Rank> first_child_;  // of a rank among `children_`; one more behind the last
  std::vector<Rank> children_;
  Rank root_ = 0;
};

/// Up and down one tree with messages of `bytes`; with ports only where they are whole.
Turns whole_tree(const RootedTree& tree, const HopCost& hop, double bytes) {
  if (hop.port < unlimited) {
    return OnePortTree(tree, hop.alpha.value, bytes / std::min(hop.rate, hop.port).value)
        .up_and_down();
  }
  const double hops = 2 * depth(tree);
  return {hops, hops};
}

double seconds(const Turns& turns, const HopCost& hop, double bytes) {
  return turns.alphas * hop.alpha.value +
         turns.messages * bytes / std::min(hop.rate, hop.port).value;
}

/// The trees of a double binary tree, one where both are the same chain.
std::vector<RootedTree> two_trees(const Placement& placement) {
  const auto nodes = placement.ranks_by_node();
  const auto count = static_cast<Rank>(nodes.size());
  std::vector<RootedTree> trees{chain_in_nodes(binary_tree(count), nodes)};
  if (count > 1) trees.push_back(chain_in_nodes(second_binary_tree(count), nodes));
  return trees;
}

/// Of the trees, which run at the same time, the one that takes longest.
Turns slowest_tree(const std::vector<RootedTree>& trees, const HopCost& hop, double bytes) {
  Turns slowest;
  for (const RootedTree& tree : trees) {
    const Turns turns = whole_tree(tree, hop, bytes);
    if (seconds(turns, hop, bytes) > seconds(slowest, hop, bytes)) slowest = turns;
  }
  return slowest;
}

double ring(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  const double loops = in.loops;
  return loops * lock_step(in.inter, in.bytes / (n * loops), 2 * (n - 1));
}

double tree(const ClosedFormInput& in) {
  const double loops = in.loops;
  const RootedTree tree = binary_tree(in.placement.ranks());
  if (in.inter.port < unlimited)
    return seconds(whole_tree(tree, in.inter, in.bytes), in.inter, in.bytes);
  return pipelined_tree(in.inter, depth(tree), in.bytes / loops, loops);
}

double double_binary_tree(const ClosedFormInput& in) {
  const double loops = in.loops;
  const auto trees = two_trees(in.placement);
  const double chunk = in.bytes / (static_cast<double>(trees.size()) * loops);
  if (in.inter.port < unlimited)
    return seconds(slowest_tree(trees, in.inter, chunk), in.inter, chunk);
  double longest = 0;
  for (const RootedTree& tree : trees) {
    longest = std::max(longest, pipelined_tree(in.inter, depth(tree), chunk, loops));
  }
  return longest;
}

double parameter_server(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  if (n == 1) return 0;
  const double loops = in.loops;
  const double shared = occupancy(in.inter, in.bytes / loops, n - 1);
  return loops * (2 * (shared + in.inter.alpha.value) + in.inter.serial.value);
}

double one_shot(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  if (n == 1) return 0;
  const double loops = in.loops;
  const double piece = in.bytes / loops;
  return loops * (occupancy(in.inter, piece, n - 1) + in.inter.alpha.value + in.inter.serial.value);
}

/// N-1 parts to their owners one after the other, then the sum of the own part to all at once; a
/// rank stores each part that comes back.
double two_shot(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  if (n == 1) return 0;
  const double loops = in.loops;
  const double part = in.bytes / (n * loops);
  const HopCost& hop = in.inter;
  const double scatter = (n - 1) * occupancy(hop, part) + hop.alpha.value;
  const double gather = occupancy(hop, part, n - 1) + hop.alpha.value;
  return loops * (scatter + gather + (n - 1) * hop.serial.value);
}

/// What every rank does in recursive halving and doubling, with messages of which one of the whole
/// buffer takes `whole` seconds.
std::vector<std::vector<PortStep>> folded_exchanges(Rank ranks, double whole) {
  const PowerOfTwoFold fold = fold_to_power_of_two(ranks);
  std::vector<std::vector<PortStep>> programs(ranks);
  const auto hand_over = [&](Rank from, Rank to) {
    programs[from].push_back({true, to, whole});
    programs[to].push_back({false, from});
  };
  const auto exchange = [&](Rank distance) {
    for (Rank i = 0; i < fold.core; ++i) {
      const Rank partner = fold.rank_of(i ^ distance);
      programs[fold.rank_of(i)].push_back({true, partner, whole * distance / fold.core});
      programs[fold.rank_of(i)].push_back({false, partner});
    }
  };
  for (Rank i = 0; i < fold.excess; ++i) hand_over(2 * i + 1, 2 * i);
  for (Rank distance = fold.core / 2; distance > 0; distance /= 2) exchange(distance);
  for (Rank distance = 1; distance < fold.core; distance *= 2) exchange(distance);
  for (Rank i = 0; i < fold.excess; ++i) hand_over(2 * i, 2 * i + 1);
  return programs;
}

/// Whether messages of the fold meet those of the first exchanges at a port.
bool folds_behind_ports(const ClosedFormInput& in) {
  return !std::has_single_bit(in.placement.ranks()) && in.inter.port < unlimited;
}

double recursive_halving_doubling(const ClosedFormInput& in) {
  const Rank n = in.placement.ranks();
  if (folds_behind_ports(in)) {
    const double whole = in.bytes / std::min(in.inter.rate, in.inter.port).value;
    return one_port_time(folded_exchanges(n, whole), in.inter.alpha.value);
  }
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

// The terms of each form for whole messages.

FormulaTerms ring_terms(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  return {"2(N-1) alpha + 2(N-1)/N S/B", 2 * (n - 1), 2 * (n - 1) / n, {}, {}};
}

FormulaTerms tree_terms(const ClosedFormInput& in) {
  const Turns turns = whole_tree(binary_tree(in.placement.ranks()), in.inter, in.bytes);
  const bool port = in.inter.port < unlimited;
  return {
      port ? "2d alpha + m S/B (m messages in turn: children share a port)" : "2d alpha + 2d S/B",
      turns.alphas,
      turns.messages,
      {},
      {}};
}

FormulaTerms double_binary_tree_terms(const ClosedFormInput& in) {
  const auto trees = two_trees(in.placement);
  const auto count = static_cast<double>(trees.size());
  const Turns turns = slowest_tree(trees, in.inter, in.bytes / count);
  const bool port = in.inter.port < unlimited;
  const std::string share = trees.size() == 2 ? "S/2B" : "S/B";
  return {port ? "2d alpha + m " + share + " (m messages in turn: children share a port)"
               : "2d alpha + 2d " + share,
          turns.alphas,
          turns.messages / count,
          {},
          {}};
}

/// How many messages in turn `fan` of them take that share a sender's port, if it has one.
double turns_of(const HopCost& hop, double fan) {
  return std::min(hop.rate, hop.port).value / std::min(hop.rate.value, hop.port.value / fan);
}

FormulaTerms parameter_server_terms(const ClosedFormInput& in) {
  const double turns = turns_of(in.inter, in.placement.ranks() - 1.0);
  return {turns > 1 ? "2 alpha + 2(N-1) S/B" : "2 alpha + 2 S/B", 2, 2 * turns, {}, {}};
}

FormulaTerms one_shot_terms(const ClosedFormInput& in) {
  const double turns = turns_of(in.inter, in.placement.ranks() - 1.0);
  return {turns > 1 ? "alpha + (N-1) S/B" : "alpha + S/B", 1, turns, {}, {}};
}

FormulaTerms two_shot_terms(const ClosedFormInput& in) {
  const double n = in.placement.ranks();
  const double turns = turns_of(in.inter, n - 1);
  return {turns > 1 || n == 2 ? "2 alpha + 2(N-1)/N S/B" : "2 alpha + S/B",
          2,
          (n - 1 + turns) / n,
          {},
          {}};
}

FormulaTerms recursive_halving_doubling_terms(const ClosedFormInput& in) {
  const Rank n = in.placement.ranks();
  const Rank core = std::bit_floor(n);
  const double steps = 2 * std::log2(core);
  const double halves = 2.0 * (core - 1) / core;
  if (n == core) return {"2 log2(N) alpha + 2(N-1)/N S/B", steps, halves, {}, {}};
  return {"2 log2(P) alpha + 2(P-1)/P S/B + 2 (alpha + S/B), P <= N a power of 2",
          steps + 2,
          halves + 2,
          {},
          {}};
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
  bool goes_by_largest_chunk;
  bool (*needs_private_links)(Rank ranks);
  double (*seconds)(const ClosedFormInput& input);
  FormulaTerms (*terms)(const ClosedFormInput& input);
};

constexpr std::array forms{
    Form{"ring", true, never, ring, ring_terms},
    Form{"tree", false, always, tree, tree_terms},
    Form{"double_binary_tree", false, always, double_binary_tree, double_binary_tree_terms},
    Form{"parameter_server", false, never, parameter_server, parameter_server_terms},
    Form{"one_shot", false, never, one_shot, one_shot_terms},
    Form{"two_shot", false, never, two_shot, two_shot_terms},
    Form{"recursive_halving_doubling", false, unless_power_of_two, recursive_halving_doubling,
         recursive_halving_doubling_terms},
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

std::optional<FormulaTerms> form_terms(std::string_view algorithm, const ClosedFormInput& input) {
  const Form* form = find_form(algorithm);
  const HopCost& hop = input.inter;
  const bool whole = input.loops == 1 && hop.slices == 1 && hop.serial.value == 0;
  if (form == nullptr || !whole || input.placement.ranks() < 2) return std::nullopt;
  // What waits for what there depends on alpha and S: it has no terms.
  if (algorithm == "recursive_halving_doubling" && folds_behind_ports(input)) return std::nullopt;
  FormulaTerms terms = form->terms(input);
  terms.alpha = hop.alpha;
  terms.transfer = {input.bytes / std::min(hop.rate, hop.port).value};
  return terms;
}

bool needs_private_links(std::string_view algorithm, const Placement& placement) {
  const auto inner = inner_algorithm(algorithm);
  const Rank ranks = inner ? placement.nodes() : placement.ranks();
  const Form* form = find_form(inner.value_or(algorithm));
  return form != nullptr && form->needs_private_links(ranks);
}

bool goes_by_largest_chunk(std::string_view algorithm) {
  const Form* form = find_form(algorithm);
  return form != nullptr && form->goes_by_largest_chunk;
}

}  // namespace collsim
