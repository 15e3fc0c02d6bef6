#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace collsim {

/// The latency of the shortest path from node `origin` to each of `nodes`; infinity if there is
/// none. `for_each_edge(node, visit)` calls `visit(to, latency)` for every edge that leaves a node.
template <typename Edges>
std::vector<double> min_latencies(std::size_t nodes, std::size_t origin,
                                  const Edges& for_each_edge) {
  std::vector<double> times(nodes, std::numeric_limits<double>::infinity());
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  times[origin] = 0;
  queue.emplace(0, origin);
  while (!queue.empty()) {
    const auto [at, node] = queue.top();
    queue.pop();
    if (at > times[node]) continue;
    for_each_edge(node, [&times, &queue, now = at](std::size_t to, double latency) {
      if (now + latency >= times[to]) return;
      times[to] = now + latency;
      queue.emplace(times[to], to);
    });
  }
  return times;
}

}  // namespace collsim
