#include "models/bounds/traffic_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "sim/algorithms/patterns.h"

namespace collsim {

namespace {

/// What a formula depends on.
struct TrafficCase {
  std::vector<std::vector<Rank>> nodes;
  Rank ranks = 1;
  Rank root = 0;

  /// Each edge of a tree over all ranks, up and down.
  std::uint64_t edges_twice() const { return std::uint64_t{2} * (ranks - 1); }
  Rank node_count() const { return static_cast<Rank>(nodes.size()); }
  Rank per_node() const { return static_cast<Rank>(nodes.front().size()); }
};

std::size_t ceil_log2(Rank n) {
  return static_cast<std::size_t>(std::bit_width(n - 1));
}

/// "2(N-1) = 6"; "S" where the value is written as the symbol is.
std::string with_value(const std::string& symbol, const std::string& value) {
  return symbol == value ? symbol : fmt::format("{} = {}", symbol, value);
}

TrafficFormula uniform(const TrafficCase& of, const std::string& symbol, BufferShare share,
                       std::string steps_symbol, std::size_t steps) {
  return {"Each rank sends " + with_value(symbol, to_string(share)),
          std::vector<BufferShare>(of.ranks, share), std::move(steps_symbol), steps};
}

/// Every rank sends S but one.
TrafficFormula all_but(const TrafficCase& of, Rank silent, std::string_view name, BufferShare share,
                       const std::string& symbol, std::string steps_symbol, std::size_t steps) {
  TrafficFormula formula{
      fmt::format("Each rank but {} sends {}", name, with_value(symbol, to_string(share))),
      std::vector<BufferShare>(of.ranks, share), std::move(steps_symbol), steps};
  formula.sent[silent] = {};
  return formula;
}

/// Messages of every rank up and down all trees.
std::vector<std::uint32_t> edges_of(const std::vector<RootedTree>& trees, bool up) {
  std::vector<std::uint32_t> edges(trees.front().size());
  for (const RootedTree& tree : trees) {
    for (Rank rank = 0; rank < tree.size(); ++rank) {
      if (!tree.parent[rank]) continue;
      edges[rank] += up ? 1 : 0;
      ++edges[*tree.parent[rank]];
    }
  }
  return edges;
}

std::vector<BufferShare> shares_of(const std::vector<std::uint32_t>& edges, std::uint32_t below) {
  std::vector<BufferShare> shares;
  shares.reserve(edges.size());
  for (const std::uint32_t each : edges) shares.push_back(share_of(each, below));
  return shares;
}

std::string in_all(const std::string& symbol, std::uint64_t value) {
  return with_value(symbol + " S", to_string(share_of(value, 1))) + " in all";
}

TrafficFormula ring_all_reduce(const TrafficCase& of) {
  const std::uint64_t n = of.ranks;
  return uniform(of, "2(N-1)/N S", share_of(2 * (n - 1), n), "2(N-1)", 2 * (n - 1));
}

TrafficFormula ring_half(const TrafficCase& of) {
  const std::uint64_t n = of.ranks;
  return uniform(of, "(N-1)/N S", share_of(n - 1, n), "N-1", n - 1);
}

TrafficFormula tree_traffic(const TrafficCase& of) {
  return {"A rank sends S to its parent and S to each child, " + in_all("2(N-1)", of.edges_twice()),
          shares_of(edges_of({binary_tree(of.ranks)}, true), 1), "2 ceil(log2 N)",
          2 * ceil_log2(of.ranks)};
}

TrafficFormula double_tree_traffic(const TrafficCase& of) {
  const Rank nodes = of.node_count();
  const std::size_t chain = of.per_node() - 1;
  const std::string total = in_all("2(N-1)", of.edges_twice());
  if (nodes == 1) {
    return {"Along a chain and back, a rank sends S to each neighbour, " + total,
            shares_of(edges_of({chain_in_nodes(binary_tree(1), of.nodes)}, true), 1), "2(N-1)",
            2 * chain};
  }
  const std::vector<RootedTree> trees{chain_in_nodes(binary_tree(nodes), of.nodes),
                                      chain_in_nodes(second_binary_tree(nodes), of.nodes)};
  return {"In both trees a rank sends S/2 to its parent and S/2 to each child, " + total,
          shares_of(edges_of(trees, true), 2),
          chain == 0 ? "2 ceil(log2 N)" : "2 (ceil(log2 M) + p-1)", 2 * (ceil_log2(nodes) + chain)};
}

TrafficFormula halving_doubling_traffic(const TrafficCase& of) {
  const PowerOfTwoFold fold = fold_to_power_of_two(of.ranks);
  const std::uint64_t core = fold.core;
  const BufferShare share = share_of(2 * (core - 1), core);
  const std::size_t steps = 2 * ceil_log2(fold.core);
  if (fold.excess == 0) return uniform(of, "2(N-1)/N S", share, "2 log2 N", steps);
  TrafficFormula formula{
      fmt::format("P = {} ranks send {} each; the other N-P = {} hand in S and get S back", core,
                  with_value("2(P-1)/P S", to_string(share)), fold.excess),
      std::vector<BufferShare>(of.ranks, share), "2 log2 P + 2", steps + 2};
  for (Rank i = 0; i < fold.excess; ++i) {
    formula.sent[2 * std::size_t{i}] = share_of(2 * (core - 1) + core, core);
    formula.sent[2 * std::size_t{i} + 1] = share_of(1, 1);
  }
  return formula;
}

TrafficFormula server_traffic(const TrafficCase& of) {
  const BufferShare share = share_of(of.ranks - 1, 1);
  TrafficFormula formula{
      fmt::format("Rank 0 sends {}, each other rank S", with_value("(N-1) S", to_string(share))),
      std::vector<BufferShare>(of.ranks, share_of(1, 1)), "2", 2};
  formula.sent[0] = share;
  return formula;
}

TrafficFormula to_everybody(const TrafficCase& of) {
  return uniform(of, "(N-1) S", share_of(of.ranks - 1, 1), "1", 1);
}

TrafficFormula two_shot_traffic(const TrafficCase& of) {
  const std::uint64_t n = of.ranks;
  return uniform(of, "2(N-1)/N S", share_of(2 * (n - 1), n), "2", 2);
}

TrafficFormula one_shot_half(const TrafficCase& of) {
  return uniform(of, "(N-1)/N S", share_of(of.ranks - 1, of.ranks), "1", 1);
}

/// The switch reads all ranks once for each of them, one after the other, and then ranks have it.
TrafficFormula multimem_one_shot_traffic(const TrafficCase& of) {
  return uniform(of, "N S", share_of(of.ranks, 1), "N+1", of.ranks + 1);
}

TrafficFormula ring_broadcast(const TrafficCase& of) {
  const Rank last = (of.root + of.ranks - 1) % of.ranks;
  return all_but(of, last, "the last", share_of(1, 1), "S", "N-1", of.ranks - 1);
}

TrafficFormula tree_broadcast(const TrafficCase& of) {
  const auto edges = edges_of({binary_tree(of.ranks)}, false);
  std::vector<std::uint32_t> of_rank(of.ranks);
  for (Rank place = 0; place < of.ranks; ++place) {
    of_rank[(of.root + place) % of.ranks] = edges[place];
  }
  return {"A rank sends S to each child, " + in_all("(N-1)", of.ranks - 1), shares_of(of_rank, 1),
          "ceil(log2 N)", ceil_log2(of.ranks)};
}

TrafficFormula ring_reduce(const TrafficCase& of) {
  return all_but(of, of.root, "the root", share_of(1, 1), "S", "N-1", of.ranks - 1);
}

TrafficFormula tree_reduce(const TrafficCase& of) {
  return all_but(of, of.root, "the root", share_of(1, 1), "S", "ceil(log2 N)", ceil_log2(of.ranks));
}

TrafficFormula direct_send_recv(const TrafficCase& of) {
  return uniform(of, "S", share_of(1, 1), "1", 1);
}

TrafficFormula direct_gather(const TrafficCase& of) {
  return all_but(of, of.root, "the root", share_of(1, of.ranks), "S/N", "1", 1);
}

TrafficFormula direct_scatter(const TrafficCase& of) {
  const BufferShare share = share_of(of.ranks - 1, of.ranks);
  TrafficFormula formula{"The root sends " + with_value("(N-1)/N S", to_string(share)),
                         std::vector<BufferShare>(of.ranks), "N-1", of.ranks - 1};
  formula.sent[of.root] = share;
  return formula;
}

TrafficFormula dissemination_traffic(const TrafficCase& of) {
  const std::size_t steps = ceil_log2(of.ranks);
  return {"Each rank sends one empty message per step", std::vector<BufferShare>(of.ranks),
          "ceil(log2 N)", steps};
}

TrafficFormula nvls_traffic(const TrafficCase& of) {
  const std::uint64_t p = of.per_node();
  // Into the switch all of S; the head of a stripe sends its sum back and, if there is a network,
  // into that.
  if (of.node_count() == 1) return uniform(of, "(1 + 1/N) S", share_of(p + 1, p), "4", 4);
  return uniform(of, "(1 + 2/p) S", share_of(p + 2, p), "6", 6);
}

TrafficFormula nvls_all_gather(const TrafficCase& of) {
  return uniform(of, "S/N", share_of(1, of.ranks), "2", 2);
}

TrafficFormula nvls_reduce_scatter(const TrafficCase& of) {
  return uniform(of, "S", share_of(1, 1), "2", 2);
}

TrafficFormula collnet_direct_traffic(const TrafficCase& of) {
  const std::uint64_t p = of.per_node();
  // p-1 stripes to their heads, its own stripe into the network, its own result to p-1 ranks.
  return uniform(of, "(2 - 1/p) S", share_of(2 * p - 1, p), "", 0);
}

TrafficFormula pat_traffic(const TrafficCase& of) {
  return uniform(of, "(N-1)/N S", share_of(of.ranks - 1, of.ranks), "", 0);
}

struct TrafficRule {
  Collective collective;
  std::string_view algorithm;
  TrafficFormula (*formula)(const TrafficCase& of);
};

constexpr std::array rules{
    TrafficRule{Collective::all_reduce, "ring", ring_all_reduce},
    TrafficRule{Collective::all_reduce, "tree", tree_traffic},
    TrafficRule{Collective::all_reduce, "double_binary_tree", double_tree_traffic},
    TrafficRule{Collective::all_reduce, "recursive_halving_doubling", halving_doubling_traffic},
    TrafficRule{Collective::all_reduce, "parameter_server", server_traffic},
    TrafficRule{Collective::all_reduce, "one_shot", to_everybody},
    TrafficRule{Collective::all_reduce, "two_shot", two_shot_traffic},
    TrafficRule{Collective::all_reduce, "multimem_one_shot", multimem_one_shot_traffic},
    TrafficRule{Collective::all_reduce, "multimem_two_shot", nvls_traffic},
    TrafficRule{Collective::all_reduce, "nvls", nvls_traffic},
    TrafficRule{Collective::all_reduce, "collnet_direct", collnet_direct_traffic},
    TrafficRule{Collective::all_gather, "ring", ring_half},
    TrafficRule{Collective::all_gather, "one_shot", one_shot_half},
    TrafficRule{Collective::all_gather, "multimem", nvls_all_gather},
    TrafficRule{Collective::all_gather, "nvls", nvls_all_gather},
    TrafficRule{Collective::all_gather, "pat", pat_traffic},
    TrafficRule{Collective::reduce_scatter, "ring", ring_half},
    TrafficRule{Collective::reduce_scatter, "one_shot", one_shot_half},
    TrafficRule{Collective::reduce_scatter, "multimem", nvls_reduce_scatter},
    TrafficRule{Collective::reduce_scatter, "nvls", nvls_reduce_scatter},
    TrafficRule{Collective::reduce_scatter, "pat", pat_traffic},
    TrafficRule{Collective::broadcast, "ring", ring_broadcast},
    TrafficRule{Collective::broadcast, "tree", tree_broadcast},
    TrafficRule{Collective::reduce, "ring", ring_reduce},
    TrafficRule{Collective::reduce, "tree", tree_reduce},
    TrafficRule{Collective::send_recv, "direct", direct_send_recv},
    TrafficRule{Collective::all_to_all, "direct", ring_half},
    TrafficRule{Collective::gather, "direct", direct_gather},
    TrafficRule{Collective::scatter, "direct", direct_scatter},
    TrafficRule{Collective::barrier, "dissemination", dissemination_traffic},
};

const TrafficRule* find_rule(Collective collective, std::string_view algorithm) {
  const auto* rule = std::find_if(rules.begin(), rules.end(), [&](const TrafficRule& each) {
    return each.collective == collective && each.algorithm == algorithm;
  });
  return rule == rules.end() ? nullptr : rule;
}

/// One rank per node: what the algorithm between nodes sees.
TrafficCase between_nodes(const TrafficCase& of) {
  TrafficCase between;
  between.ranks = of.node_count();
  for (Rank node = 0; node < between.ranks; ++node) between.nodes.push_back({node});
  return between;
}

/// A ring's reduce-scatter and all-gather in nodes, with the inner algorithm on S/p between them.
TrafficFormula hierarchical_traffic(const TrafficCase& of, std::string_view inner_name,
                                    const TrafficRule& inner_rule) {
  const std::uint64_t p = of.per_node();
  TrafficFormula inner = inner_rule.formula(between_nodes(of));
  if (p == 1) return inner;
  TrafficFormula formula;
  formula.sent.resize(of.ranks);
  for (Rank node = 0; node < of.node_count(); ++node) {
    const BufferShare& between = inner.sent[node];
    for (const Rank rank : of.nodes[node]) {
      formula.sent[rank] = share_of(2 * (p - 1) * between.below + between.above, p * between.below);
    }
  }
  formula.steps = 2 * (p - 1);
  formula.steps_symbol = "2(p-1)";
  if (of.node_count() > 1) {
    formula.steps += inner.steps;
    std::string inner_steps = inner.steps_symbol;
    std::replace(inner_steps.begin(), inner_steps.end(), 'N', 'M');
    formula.steps_symbol += " + " + inner_steps;
  }
  const BufferShare least = share_of(2 * (of.ranks - std::uint64_t{1}), of.ranks);
  if (std::all_of(formula.sent.begin(), formula.sent.end(),
                  [&](const BufferShare& each) { return each == least; })) {
    formula.bytes = "Each rank sends " + with_value("2(N-1)/N S", to_string(least));
    return formula;
  }
  formula.bytes =
      fmt::format("Each rank sends {} in its node, and as {} does with S/p between nodes",
                  with_value("2(p-1)/p S", to_string(share_of(2 * (p - 1), p))), inner_name);
  return formula;
}

std::optional<TrafficFormula> formula_for(const Plan& plan, const TrafficCase& of) {
  std::string_view name = plan.algorithm;
  constexpr std::string_view nccls = "nccl_";
  if (name.starts_with(nccls)) name.remove_prefix(nccls.size());
  constexpr std::string_view composed = "hierarchical:";
  if (plan.collective == Collective::all_reduce && name.starts_with(composed)) {
    const std::string_view inner = name.substr(composed.size());
    const TrafficRule* rule = find_rule(plan.collective, inner);
    if (rule == nullptr) return std::nullopt;
    return hierarchical_traffic(of, inner, *rule);
  }
  const TrafficRule* rule = find_rule(plan.collective, name);
  if (rule == nullptr) return std::nullopt;
  return rule->formula(of);
}

/// "rank 3", "ranks 0..2, 5".
std::string name_ranks(const std::vector<Rank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last < i + 2) last = i;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    if (last > i) text += fmt::format("..{}", ranks[last]);
    i = last;
  }
  return text;
}

std::string in_steps(std::size_t steps) {
  return fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
}

}  // namespace

BufferShare share_of(std::uint64_t above, std::uint64_t below) {
  const std::uint64_t divisor = std::gcd(above, below);
  return {static_cast<std::uint32_t>(above / divisor), static_cast<std::uint32_t>(below / divisor)};
}

std::string to_string(const BufferShare& share) {
  if (share.above == 0) return "nothing";
  if (share.below != 1) return fmt::format("{}/{} S", share.above, share.below);
  return share.above == 1 ? "S" : fmt::format("{} S", share.above);
}

PlanTraffic counted_traffic(const Plan& plan, const std::vector<Step>& steps,
                            std::uint32_t channel) {
  PlanTraffic traffic;
  traffic.steps = steps.size();
  const Schedule& schedule = plan.schedule(channel);
  std::vector<std::uint64_t> chunks(schedule.participants());
  for (const Step& step : steps) {
    traffic.messages += step.transfers.size();
    for (const StepTransfer& each : step.transfers) chunks[each.from] += each.chunks.count;
  }
  // All chunks together may be several times S, nccl-tests' size.
  const std::uint32_t sizes = sizes_held(plan.collective, plan.ranks());
  for (Rank rank = 0; rank < plan.ranks(); ++rank) {
    traffic.sent.push_back(sizes == 0 ? BufferShare{}
                                      : share_of(chunks[rank] * sizes, schedule.chunks()));
  }
  return traffic;
}

std::optional<TrafficFormula> traffic_formula(const Plan& plan, const Placement& placement,
                                              const PlanTraffic& counted) {
  const TrafficCase of{placement.ranks_by_node(), placement.ranks(), plan.root};
  if (of.ranks < 2) return std::nullopt;
  auto formula = formula_for(plan, of);
  if (!formula || formula->sent != counted.sent) return std::nullopt;
  // Lanes that wait for each other take steps that no formula knows.
  if (formula->steps != counted.steps) formula->steps_symbol.clear();
  return formula;
}

std::string sentence_of(const TrafficFormula& formula, const PlanTraffic& counted) {
  std::string steps = in_steps(counted.steps);
  const std::string number = std::to_string(counted.steps);
  if (!formula.steps_symbol.empty() && formula.steps_symbol != number) {
    steps = fmt::format("{} = {}", formula.steps_symbol, steps);
  }
  const bool long_one = formula.bytes.find(',') != std::string::npos;
  return fmt::format("{}{} in {}", formula.bytes, long_one ? "," : "", steps);
}

std::string counted_words(const PlanTraffic& counted) {
  std::vector<std::pair<BufferShare, std::vector<Rank>>> groups;
  for (Rank rank = 0; rank < counted.sent.size(); ++rank) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& each) { return each.first == counted.sent[rank]; });
    if (group == groups.end()) group = groups.insert(group, {counted.sent[rank], {}});
    group->second.push_back(rank);
  }
  std::string text;
  for (const auto& [share, ranks] : groups) {
    const bool all = groups.size() == 1;
    text +=
        fmt::format("{}{} {} {}", text.empty() ? "" : "; ", all ? "each rank" : name_ranks(ranks),
                    all || ranks.size() == 1 ? "sends" : "send", to_string(share));
  }
  if (!text.empty()) text.front() = text.front() == 'r' ? 'R' : 'E';
  return text;
}

}  // namespace collsim
