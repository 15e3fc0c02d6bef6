#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace collsim {

/// A small directed graph for cheapest paths: every edge has its way back.
struct PathGraph {
  struct Edge {
    std::uint32_t to = 0;
    std::uint32_t link = 0;     ///< what a path lists
    std::uint32_t reverse = 0;  ///< the link of the way back
    std::uint64_t cost = 0;     ///< above zero, the same both ways
  };
  std::vector<std::vector<Edge>> edges;  ///< by vertex
  std::vector<std::uint64_t> crossing;   ///< by vertex: cost of passing through it, or `forbidden`
};

inline constexpr std::uint64_t forbidden = std::numeric_limits<std::uint64_t>::max();

/// Paths are counted up to here; further ones are never chosen.
inline constexpr std::uint64_t path_count_limit = std::uint64_t{1} << 18;

/// All cheapest paths from one vertex of a graph, numbered (Dijkstra).
class PathTree {
 public:
  PathTree(const PathGraph& graph, std::uint32_t source);
  /// The cost of the path to a vertex; `forbidden` where there is none.
  std::uint64_t cost(std::uint32_t vertex) const { return costs_[vertex]; }
  std::uint64_t count(std::uint32_t vertex) const { return counts_[vertex]; }
  /// The links of path number `index` < count(), from the source to the vertex. `graph` is the one
  /// that the tree was made of.
  std::vector<std::uint32_t> path(const PathGraph& graph, std::uint32_t vertex,
                                  std::uint64_t index) const;

 private:
  /// What a path costs up to the moment it leaves the vertex.
  std::uint64_t departure_cost(const PathGraph& graph, std::uint32_t vertex) const;

  std::uint32_t source_;
  std::vector<std::uint64_t> costs_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace collsim
