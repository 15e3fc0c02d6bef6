#include "models/estimate/textbook_patterns.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "sim/algorithms/patterns.h"
#include "sim/base/division.h"

namespace collsim {

namespace {

// What ScheduleBuilder makes of a textbook's transfers: a sum is kept by everybody who makes one.
constexpr MemoryOps send{1, 0, 0, 1};
constexpr MemoryOps recv_reduce_copy{1, 1, 1, 0};
constexpr MemoryOps recv_reduce_copy_send{1, 1, 1, 1};
constexpr MemoryOps recv_copy_send{0, 1, 1, 1};
constexpr MemoryOps recv{0, 1, 1, 0};

Primitives first_send() {
  return {send, false, 1, false};
}
Primitives reduced(double count) {
  return {recv_reduce_copy_send, false, count};
}
Primitives copied(double count) {
  return {recv_copy_send, true, count};
}
Primitives ends_with(const MemoryOps& operations, double count = 1) {
  return {operations, false, count};
}

/// Ranks that run an algorithm at the same time as other such groups.
using Groups = std::vector<std::vector<Rank>>;

class PatternMaker {
 public:
  PatternMaker(Collective collective, const Placement& placement, Rank root,
               const ShownPlaces& shown)
      : collective_(collective),
        nodes_(placement.ranks_by_node()),
        root_(root),
        touched_(shown.touched) {
    ranks_ = placement.ranks();
    touched_.resize(ranks_);
    in_window_.resize(ranks_);
    for (std::size_t node = 0; node < nodes_.size() && node < shown.window; ++node) {
      for (const Rank rank : nodes_[node]) in_window_[rank] = true;
    }
  }

  /// Nothing where the algorithm has no row.
  std::optional<TextbookPattern> make(std::string_view algorithm);

 private:
  struct Row;
  static const Row* find_row(Collective collective, std::string_view algorithm);
  template <auto Add>
  static void by_everybody(PatternMaker& maker);
  template <auto Add>
  static void by_groups(PatternMaker& maker, const Groups& groups);
  template <auto Add>
  static void alone(PatternMaker& maker);
  void add_gather_ring();
  void add_scatter_ring();
  void add_tree();
  void add_double_tree();
  PhasePattern& add_phase(StepProgram program, double chunks = 1);
  void add_ring(const Groups& groups, StepProgram program, double chunks = 1);
  void add_rings_all_reduce(const Groups& groups);
  void add_exchange(const Groups& groups, Rank distance, StepProgram program, double chunks);
  void add_halving_doubling(const Groups& groups);
  void add_fold(const Groups& groups, bool back);
  void add_server(const Groups& groups);
  void add_pairs(PhasePattern& phase, const Groups& groups);
  void add_one_shot(const Groups& groups);
  void add_scatter_to_owners(const Groups& groups);
  void add_gather_from_owners(const Groups& groups);
  void add_two_shot(const Groups& groups);
  void add_tree_in_lock_step(const Groups& groups);
  void add_hierarchical(const Row& inner);
  void add_levels(const std::vector<RootedTree>& trees, bool up, bool down);
  void add_blocks(const std::vector<RootedTree>& trees, bool up, bool down);
  void add_chain();
  void add_direct();
  void add_dissemination();
  static void add_hop(PhasePattern& phase, std::uint32_t position, Rank from, Rank to,
                      double weight = 1, std::uint32_t lane = 0) {
    phase.hops.push_back(
        {static_cast<std::uint32_t>(phase.hops.size()), position, from, to, weight, lane});
  }
  /// Whether a hop is looked at that `one` stands for, to or from the other.
  bool shows(Rank one, Rank other) const {
    return in_window_[one] || touched_[one] || touched_[other];
  }
  Groups everybody() const {
    Groups all(1);
    for (Rank rank = 0; rank < ranks_; ++rank) all.front().push_back(rank);
    return all;
  }

  Collective collective_;
  std::vector<std::vector<Rank>> nodes_;
  Rank root_;
  Rank ranks_ = 0;
  std::vector<bool> touched_;
  std::vector<bool> in_window_;
  TextbookPattern pattern_;
};

PhasePattern& PatternMaker::add_phase(StepProgram program, double chunks) {
  PhasePattern& phase = pattern_.phases.emplace_back();
  phase.program = std::move(program);
  phase.chunks = chunks;
  return phase;
}

void PatternMaker::add_ring(const Groups& groups, StepProgram program, double chunks) {
  if (groups.front().size() < 2) return;
  PhasePattern& phase = add_phase(std::move(program), chunks);
  for (std::uint32_t circuit = 0; circuit < groups.size(); ++circuit) {
    const std::vector<Rank>& ring = groups[circuit];
    for (std::uint32_t i = 0; i < ring.size(); ++i) {
      const Rank next = ring[(i + 1) % ring.size()];
      if (shows(ring[i], next)) phase.hops.push_back({circuit, i, ring[i], next});
    }
  }
}

StepProgram ring_reduce_scatter_program(double ranks) {
  return {{first_send(), reduced(ranks - 2)}, ends_with(recv_reduce_copy)};
}

StepProgram ring_all_gather_program(double ranks) {
  return {{first_send(), copied(ranks - 2)}, ends_with(recv)};
}

void PatternMaker::add_rings_all_reduce(const Groups& groups) {
  const auto n = static_cast<double>(groups.front().size());
  add_ring(groups, {{first_send(), reduced(n - 1), copied(n - 2)}, ends_with(recv)});
}

/// Ranks at a distance, both ways.
void PatternMaker::add_exchange(const Groups& groups, Rank distance, StepProgram program,
                                double chunks) {
  PhasePattern& phase = add_phase(std::move(program), chunks);
  for (const std::vector<Rank>& group : groups) {
    const PowerOfTwoFold fold = fold_to_power_of_two(static_cast<Rank>(group.size()));
    for (Rank i = 0; i < fold.core; ++i) {
      const Rank from = group[fold.rank_of(i)];
      const Rank to = group[fold.rank_of(i ^ distance)];
      if (shows(from, to)) add_hop(phase, 0, from, to);
    }
  }
}

/// Those beyond a power of two hand all to a partner, and get the result back.
void PatternMaker::add_fold(const Groups& groups, bool back) {
  const PowerOfTwoFold fold = fold_to_power_of_two(static_cast<Rank>(groups.front().size()));
  if (fold.excess == 0) return;
  PhasePattern& phase =
      add_phase({{first_send()}, ends_with(back ? recv : recv_reduce_copy)}, fold.core);
  for (const std::vector<Rank>& group : groups) {
    for (std::size_t i = 0; i < fold.excess; ++i) {
      const Rank odd = group[2 * i + 1];
      const Rank even = group[2 * i];
      if (shows(odd, even)) add_hop(phase, 0, back ? even : odd, back ? odd : even);
    }
  }
}

/// The nearest exchange sends on what it has added up: the same chunk.
void PatternMaker::add_halving_doubling(const Groups& groups) {
  const Rank core = fold_to_power_of_two(static_cast<Rank>(groups.front().size())).core;
  add_fold(groups, false);
  for (Rank distance = core / 2; distance > 1; distance /= 2) {
    add_exchange(groups, distance, {{first_send()}, ends_with(recv_reduce_copy)}, distance);
  }
  if (core > 1) add_exchange(groups, 1, {{first_send(), reduced(1)}, ends_with(recv)}, 1);
  for (Rank distance = 2; distance < core; distance *= 2) {
    add_exchange(groups, distance, {{first_send()}, ends_with(recv)}, distance);
  }
  add_fold(groups, true);
}

void PatternMaker::add_server(const Groups& groups) {
  const auto others = static_cast<double>(groups.front().size() - 1);
  if (others == 0) return;
  PhasePattern push;
  push.program = {{first_send()}, {}};
  PhasePattern pull;
  pull.program = {{{{1, others, 1, others}, false, 1}}, ends_with(recv)};
  for (const std::vector<Rank>& group : groups) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      add_hop(push, 0, group[i], group.front());
      add_hop(pull, 0, group.front(), group[i]);
    }
  }
  pattern_.phases.push_back(std::move(push));
  pattern_.phases.push_back(std::move(pull));
}

/// Of many ranks some rows and columns of who sends to whom stand for all. Where each sends one by
/// one, all send to the rank at the same distance at a time.
void PatternMaker::add_pairs(PhasePattern& phase, const Groups& groups) {
  constexpr Rank most = 64;
  const auto n = static_cast<Rank>(groups.front().size());
  const auto position = [&](Rank from, Rank to) {
    return phase.one_by_one ? (to + n - from) % n : 0;
  };
  const Rank stride = divide_up(n, most);
  for (const std::vector<Rank>& group : groups) {
    const auto has_row = [&](Rank one) { return one < most || touched_[group[one]]; };
    for (Rank one = 0; one < n; ++one) {
      if (!has_row(one)) continue;
      for (Rank other = one % stride; other < n; other += stride) {
        if (other == one) continue;
        add_hop(phase, position(one, other), group[one], group[other], stride);
        if (has_row(other)) continue;
        add_hop(phase, position(other, one), group[other], group[one], stride);
      }
    }
  }
}

void PatternMaker::add_one_shot(const Groups& groups) {
  const double others = static_cast<double>(groups.front().size()) - 1;
  if (others == 0) return;
  add_pairs(add_phase({{{{1, 0, 0, others}, false, 1, false}}, ends_with({1, others, 1, 0})}),
            groups);
}

void PatternMaker::add_scatter_to_owners(const Groups& groups) {
  const double others = static_cast<double>(groups.front().size()) - 1;
  if (others == 0) return;
  PhasePattern& phase = add_phase({{{send, false, others, false}}, ends_with({1, others, 1, 0})});
  phase.one_by_one = true;
  add_pairs(phase, groups);
}

void PatternMaker::add_gather_from_owners(const Groups& groups) {
  const double others = static_cast<double>(groups.front().size()) - 1;
  if (others == 0) return;
  add_pairs(add_phase({{{{1, 0, 0, others}, false, 1, false}}, ends_with(recv, others)}), groups);
}

/// The sum of the own part is sent on as it is made.
void PatternMaker::add_two_shot(const Groups& groups) {
  const double others = static_cast<double>(groups.front().size()) - 1;
  if (others == 0) return;
  PhasePattern& scatter = add_phase({{{send, false, others, false}}, {}});
  scatter.one_by_one = true;
  add_pairs(scatter, groups);
  add_pairs(add_phase({{{{1, others, 1, others}, false, 1}}, ends_with(recv, others)}), groups);
}

/// Level by level, the lowest first; then down again.
void PatternMaker::add_tree_in_lock_step(const Groups& groups) {
  const RootedTree tree = binary_tree(static_cast<Rank>(groups.front().size()));
  const auto levels = edges_by_level(tree);
  const auto add_level = [&](const std::vector<TreeEdge>& edges, Primitives sent, bool up) {
    PhasePattern& phase = add_phase({{sent}, {}});
    for (const std::vector<Rank>& group : groups) {
      for (const TreeEdge& edge : edges) {
        const Rank parent = group[edge.parent];
        const Rank child = group[edge.child];
        if (shows(child, parent) || phase.hops.size() < groups.size()) {
          add_hop(phase, 0, up ? child : parent, up ? parent : child);
        }
      }
    }
  };
  for (std::size_t d = levels.size(); d-- > 0;) {
    const MemoryOps inner{1, 2, 1, 1};
    add_level(levels[d], d + 1 == levels.size() ? first_send() : Primitives{inner, false, 1}, true);
  }
  for (std::size_t d = 0; d < levels.size(); ++d) {
    const double children = d == 0 ? 1 : 2;
    const MemoryOps inner{d == 0 ? 1.0 : 0.0, 1, 1, children};
    add_level(levels[d], {inner, d > 0, 1}, false);
  }
  if (!levels.empty()) pattern_.phases.back().program.end = ends_with(recv);
}

/// One phase for every level of all trees, a rank's lanes being its thread block's.
void PatternMaker::add_levels(const std::vector<RootedTree>& trees, bool up, bool down) {
  std::vector<std::vector<std::vector<TreeEdge>>> levels;
  std::vector<std::vector<double>> children;
  std::size_t depth = 0;
  for (const RootedTree& tree : trees) {
    levels.push_back(edges_by_level(tree));
    depth = std::max(depth, levels.back().size());
    children.emplace_back(tree.size());
    for (const auto& parent : tree.parent) {
      if (parent) ++children.back()[*parent];
    }
  }
  const auto place = [this](Rank rank) {
    return has_root(collective_) ? (root_ + rank) % ranks_ : rank;
  };
  const auto add_level = [&](std::size_t d, bool upwards, std::uint32_t position) {
    double most = 0;
    PhasePattern& phase = add_phase({});
    for (std::size_t t = 0; t < trees.size(); ++t) {
      if (d >= levels[t].size()) continue;
      for (const TreeEdge& edge : levels[t][d]) {
        most = std::max(most, children[t][upwards ? edge.child : edge.parent]);
        const Rank from = place(upwards ? edge.child : edge.parent);
        const Rank to = place(upwards ? edge.parent : edge.child);
        if (shows(place(edge.child), place(edge.parent)) || phase.hops.size() < 8) {
          add_hop(phase, position, from, to, 1,
                  static_cast<std::uint32_t>(2 * t) + (upwards ? 0 : 1));
        }
      }
    }
    MemoryOps operations{1, most, most > 0 ? 1.0 : 0.0, 1};
    if (!upwards) operations = {0, 1, 1, most};
    if (!upwards && d == 0)
      operations = up ? MemoryOps{1, most, 1, most} : MemoryOps{1, 0, 0, most};
    const bool waits = operations.receive > 0;
    phase.lane = upwards || !up ? 0 : 1;
    phase.program.sends = {{operations, !upwards && d > 0, 1, waits}};
  };
  std::uint32_t position = 0;
  for (std::size_t d = depth; up && d-- > 0;) add_level(d, true, position++);
  for (std::size_t d = 0; down && d < depth; ++d) add_level(d, false, position++);
  if (!pattern_.phases.empty()) {
    pattern_.phases.back().program.end = ends_with(down ? recv : recv_reduce_copy);
  }
  pattern_.pipelined = true;
  add_blocks(trees, up, down);
}

/// What the thread blocks of ranks do in all trees.
void PatternMaker::add_blocks(const std::vector<RootedTree>& trees, bool up, bool down) {
  if (!up || !down) return;  // one lane each
  std::vector<std::vector<double>> children;
  for (const RootedTree& tree : trees) {
    children.emplace_back(tree.size());
    for (const auto& parent : tree.parent) {
      if (parent) ++children.back()[*parent];
    }
  }
  std::vector<std::vector<double>> seen;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    std::vector<MemoryOps> lanes;
    std::vector<double> kind;
    for (std::size_t t = 0; t < trees.size(); ++t) {
      const double below = children[t][rank];
      const bool root = !trees[t].parent[rank];
      kind.push_back(root ? -1 - below : below);
      if (root) {
        lanes.push_back({1, below, 1, below});
        continue;
      }
      lanes.push_back({1, below, below > 0 ? 1.0 : 0.0, 1});
      lanes.push_back({0, 1, 1, below});
    }
    if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
    seen.push_back(std::move(kind));
    pattern_.blocks.push_back(std::move(lanes));
  }
}

/// From the root along the ranks, or to it.
void PatternMaker::add_chain() {
  const bool reduces = collective_ == Collective::reduce;
  const double hops = ranks_ - 1;
  PhasePattern& phase = add_phase({{first_send(), reduces ? reduced(hops - 1) : copied(hops - 1)},
                                   ends_with(reduces ? recv_reduce_copy : recv)});
  for (Rank i = 0; i + 1 < ranks_; ++i) {
    const Rank one = (root_ + i) % ranks_;
    const Rank next = (root_ + i + 1) % ranks_;
    if (!shows(one, next)) continue;
    phase.hops.push_back({0, i, reduces ? next : one, reduces ? one : next});
  }
  pattern_.pipelined = true;
}

void PatternMaker::add_direct() {
  constexpr Rank max_distances = 32;
  if (collective_ == Collective::send_recv) {
    add_ring(everybody(), {{first_send()}, ends_with(recv)});
    return;
  }
  if (collective_ == Collective::all_to_all) {
    const Rank stride = divide_up(ranks_ - 1, max_distances);
    for (Rank distance = 1; distance < ranks_; distance += stride) {
      const double alike = std::min(stride, ranks_ - distance);
      PhasePattern& phase = add_phase({{{send, false, alike, false}}, ends_with(recv, alike)});
      for (Rank from = 0; from < ranks_; ++from) {
        const Rank to = (from + distance) % ranks_;
        if (shows(from, to)) add_hop(phase, 0, from, to);
      }
    }
    return;
  }
  const bool gathers = collective_ == Collective::gather;
  const double others = ranks_ - 1;
  PhasePattern& phase = gathers ? add_phase({{first_send()}, ends_with(recv, others)})
                                : add_phase({{{send, false, others, false}}, ends_with(recv)});
  phase.one_by_one = !gathers;
  phase.streams = true;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank == root_) continue;
    // The root sends to one at a time.
    add_hop(phase, gathers ? 0 : rank, gathers ? rank : root_, gathers ? root_ : rank);
  }
}

void PatternMaker::add_dissemination() {
  for (Rank distance = 1; distance < ranks_; distance *= 2) {
    PhasePattern& phase = add_phase({{distance == 1 ? first_send() : reduced(1)}, {}});
    for (Rank from = 0; from < ranks_; ++from) {
      // What reaches a rank has crossed between nodes as often as it must, not in every step.
      const Rank to = (from + distance) % ranks_;
      if (shows(from, to)) phase.hops.push_back({0, 0, from, to});
    }
  }
  pattern_.phases.back().program.end = ends_with(recv_reduce_copy);
}

void PatternMaker::add_tree() {
  add_levels({binary_tree(ranks_)}, collective_ != Collective::broadcast,
             collective_ != Collective::reduce);
}

void PatternMaker::add_double_tree() {
  const auto count = static_cast<Rank>(nodes_.size());
  std::vector<RootedTree> trees{chain_in_nodes(binary_tree(count), nodes_)};
  if (count > 1) trees.push_back(chain_in_nodes(second_binary_tree(count), nodes_));
  add_levels(trees, true, true);
}

/// The pattern of a row of the registry. A row without one has none, and none is taken for it.
struct PatternMaker::Row {
  Collective collective;
  std::string_view algorithm;
  void (*add)(PatternMaker& maker);
  /// Where it joins the nodes of a composed algorithm: how it runs in several groups at a time, and
  /// into how many chunks it cuts what a group has.
  void (*add_between)(PatternMaker& maker, const Groups& groups) = nullptr;
  double (*width)(Rank nodes) = nullptr;
};

template <auto Add>
void PatternMaker::by_everybody(PatternMaker& maker) {
  (maker.*Add)(maker.everybody());
}
template <auto Add>
void PatternMaker::by_groups(PatternMaker& maker, const Groups& groups) {
  (maker.*Add)(groups);
}
template <auto Add>
void PatternMaker::alone(PatternMaker& maker) {
  (maker.*Add)();
}

void PatternMaker::add_gather_ring() {
  add_ring(everybody(), ring_all_gather_program(ranks_));
}
void PatternMaker::add_scatter_ring() {
  add_ring(everybody(), ring_reduce_scatter_program(ranks_));
}

const PatternMaker::Row* PatternMaker::find_row(Collective collective, std::string_view algorithm) {
  using enum Collective;
  using Maker = PatternMaker;
  const auto one = [](Rank /*nodes*/) { return 1.0; };
  const auto each = [](Rank nodes) { return static_cast<double>(nodes); };
  const auto core = [](Rank nodes) {
    return static_cast<double>(fold_to_power_of_two(nodes).core);
  };
  static const std::array rows{
      Row{all_reduce, "ring", by_everybody<&Maker::add_rings_all_reduce>,
          by_groups<&Maker::add_rings_all_reduce>, each},
      Row{all_reduce, "tree", alone<&Maker::add_tree>, by_groups<&Maker::add_tree_in_lock_step>,
          one},
      // Every node is one rank, on both trees.
      Row{all_reduce, "double_binary_tree", alone<&Maker::add_double_tree>,
          by_groups<&Maker::add_tree_in_lock_step>, one},
      Row{all_reduce, "recursive_halving_doubling", by_everybody<&Maker::add_halving_doubling>,
          by_groups<&Maker::add_halving_doubling>, core},
      Row{all_reduce, "parameter_server", by_everybody<&Maker::add_server>,
          by_groups<&Maker::add_server>, one},
      Row{all_reduce, "one_shot", by_everybody<&Maker::add_one_shot>,
          by_groups<&Maker::add_one_shot>, one},
      Row{all_reduce, "two_shot", by_everybody<&Maker::add_two_shot>,
          by_groups<&Maker::add_two_shot>, each},
      Row{all_gather, "ring", alone<&Maker::add_gather_ring>},
      Row{all_gather, "one_shot", by_everybody<&Maker::add_gather_from_owners>},
      Row{reduce_scatter, "ring", alone<&Maker::add_scatter_ring>},
      Row{reduce_scatter, "one_shot", by_everybody<&Maker::add_scatter_to_owners>},
      Row{broadcast, "ring", alone<&Maker::add_chain>},
      Row{broadcast, "tree", alone<&Maker::add_tree>},
      Row{reduce, "ring", alone<&Maker::add_chain>},
      Row{reduce, "tree", alone<&Maker::add_tree>},
      Row{send_recv, "direct", alone<&Maker::add_direct>},
      Row{all_to_all, "direct", alone<&Maker::add_direct>},
      Row{gather, "direct", alone<&Maker::add_direct>},
      Row{scatter, "direct", alone<&Maker::add_direct>},
      Row{barrier, "dissemination", alone<&Maker::add_dissemination>},
  };
  const auto* const row = std::find_if(rows.begin(), rows.end(), [&](const Row& candidate) {
    return candidate.collective == collective && candidate.algorithm == algorithm;
  });
  return row == rows.end() ? nullptr : row;
}

void PatternMaker::add_hierarchical(const Row& inner) {
  const auto per_node = static_cast<Rank>(nodes_.front().size());
  const auto count = static_cast<Rank>(nodes_.size());
  Groups across(per_node);
  for (const auto& node : nodes_) {
    for (Rank local = 0; local < per_node; ++local) across[local].push_back(node[local]);
  }
  if (count == 1) {
    add_rings_all_reduce(nodes_);
    return;
  }
  const double width = inner.width(count);
  add_ring(nodes_, ring_reduce_scatter_program(per_node), width);
  inner.add_between(*this, across);
  add_ring(nodes_, ring_all_gather_program(per_node), width);
}

std::optional<TextbookPattern> PatternMaker::make(std::string_view algorithm) {
  constexpr std::string_view composed = "hierarchical";
  const std::size_t colon = algorithm.find(':');
  if (algorithm.substr(0, colon) == composed) {
    const bool named = colon != std::string_view::npos;
    const Row* const inner = find_row(collective_, named ? algorithm.substr(colon + 1) : "ring");
    if (inner == nullptr || inner->add_between == nullptr) return std::nullopt;
    add_hierarchical(*inner);
    return std::move(pattern_);
  }
  const Row* const row = find_row(collective_, algorithm);
  if (row == nullptr) return std::nullopt;
  row->add(*this);
  return std::move(pattern_);
}

}  // namespace

std::optional<TextbookPattern> textbook_pattern(Collective collective, std::string_view algorithm,
                                                const Placement& placement, Rank root,
                                                const ShownPlaces& shown) {
  return PatternMaker(collective, placement, root, shown).make(algorithm);
}

}  // namespace collsim
