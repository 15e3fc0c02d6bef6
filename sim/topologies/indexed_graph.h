#pragma once

#include "sim/topologies/graph.h"
#include "sim/topologies/rows.h"

namespace collsim {

/// A graph with what is often asked of it. Its directed links count up: link i is 2 * i from its
/// `from` to its `to`, and 2 * i + 1 the way back.
class IndexedGraph {
 public:
  explicit IndexedGraph(Graph graph);
  const Graph& graph() const { return graph_; }
  /// The directed links that start at a device, in order.
  std::span<const std::uint32_t> links_from(std::uint32_t device) const {
    return links_from_[device];
  }
  /// The directed links that draw on a shared resource, as the graph lists them.
  std::span<const std::uint32_t> links_of_share(std::uint32_t share) const {
    return links_of_share_[share];
  }
  /// The shared resources that a directed link draws on, in order.
  std::span<const std::uint32_t> shares_of_link(std::uint32_t link) const {
    return shares_of_link_[link];
  }
  /// The GPUs, in order.
  const std::vector<std::uint32_t>& gpus() const { return gpus_; }

 private:
  Graph graph_;
  Rows links_from_;
  Rows links_of_share_;
  Rows shares_of_link_;
  std::vector<std::uint32_t> gpus_;
};

}  // namespace collsim
