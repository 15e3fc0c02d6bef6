#include "sim/routing/path_tree.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <queue>
#include <utility>

namespace collsim {

PathTree::PathTree(const PathGraph& graph, std::uint32_t source)
    : source_(source), costs_(graph.edges.size(), forbidden), counts_(graph.edges.size(), 0) {
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  costs_[source] = 0;
  counts_[source] = 1;
  queue.emplace(0, source);
  while (!queue.empty()) {
    const auto [cost, vertex] = queue.top();
    queue.pop();
    if (cost != costs_[vertex]) continue;
    const std::uint64_t departure = departure_cost(graph, vertex);
    if (departure == forbidden) continue;
    for (const PathGraph::Edge& edge : graph.edges[vertex]) {
      const std::uint64_t arrival = departure + edge.cost;
      if (arrival > costs_[edge.to]) continue;
      if (arrival < costs_[edge.to]) {
        costs_[edge.to] = arrival;
        counts_[edge.to] = 0;
        queue.emplace(arrival, edge.to);
      }
      // Edges cost something, so that counts_[vertex] is final before it is passed on.
      counts_[edge.to] = std::min(counts_[edge.to] + counts_[vertex], path_count_limit);
    }
  }
}

std::uint64_t PathTree::departure_cost(const PathGraph& graph, std::uint32_t vertex) const {
  if (costs_[vertex] == forbidden) return forbidden;
  if (vertex == source_) return 0;
  return graph.crossing[vertex] == forbidden ? forbidden : costs_[vertex] + graph.crossing[vertex];
}

std::vector<std::uint32_t> PathTree::path(const PathGraph& graph, std::uint32_t vertex,
                                          std::uint64_t index) const {
  assert(index < counts_[vertex]);
  std::vector<std::uint32_t> links;
  while (vertex != source_) {
    for (const PathGraph::Edge& edge : graph.edges[vertex]) {
      const std::uint64_t departure = departure_cost(graph, edge.to);
      if (departure == forbidden || departure + edge.cost != costs_[vertex]) continue;
      if (index < counts_[edge.to]) {
        links.push_back(edge.reverse);
        vertex = edge.to;
        break;
      }
      index -= counts_[edge.to];
    }
  }
  std::reverse(links.begin(), links.end());
  return links;
}

}  // namespace collsim
