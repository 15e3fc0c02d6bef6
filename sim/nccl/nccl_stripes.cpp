#include "sim/nccl/nccl_stripes.h"

namespace collsim {

Connection NodeSwitches::sum(std::uint32_t node, std::uint32_t stripe) const {
  return {agent(node), stripes_->head(node, stripe), hand_in_lane(stripe)};
}

Connection NodeSwitches::spread(std::uint32_t node, std::uint32_t stripe) const {
  return {stripes_->head(node, stripe), agent(node), hand_out_lane(*stripes_, stripe)};
}

void NodeSwitches::reduce(std::uint32_t node, std::uint32_t stripe, std::uint32_t chunk) {
  writer_->phase("reduce in the switch");
  const std::uint32_t lane = hand_in_lane(stripe);
  std::vector<Connection> handed_in;
  for (const Rank rank : stripes_->nodes[node]) {
    const Connection& connection = handed_in.emplace_back(Connection{rank, agent(node), lane});
    writer_->append(rank, lane, PrimitiveKind::send, {chunk, 1}, 0, writer_->group(connection));
  }
  writer_->append(agent(node), lane, PrimitiveKind::recv_send, {chunk, 1},
                  writer_->group(handed_in), writer_->group(sum(node, stripe)));
}

void NodeSwitches::multicast(std::uint32_t node, std::uint32_t stripe, std::uint32_t chunk) {
  writer_->phase("multicast");
  const std::uint32_t lane = hand_out_lane(*stripes_, stripe);
  std::vector<Connection> handed_out;
  for (const Rank rank : stripes_->nodes[node]) {
    const Connection& connection = handed_out.emplace_back(Connection{agent(node), rank, lane});
    writer_->append(rank, lane, PrimitiveKind::recv, {chunk, 1}, writer_->group(connection), 0);
  }
  writer_->append(agent(node), lane, PrimitiveKind::recv_send, {chunk, 1},
                  writer_->group(spread(node, stripe)), writer_->group(handed_out));
}

Connection NetworkSwitches::up(std::uint32_t node, std::uint32_t stripe) const {
  return {stripes_->head(node, stripe), first_agent_ + stripe, 0};
}

Connection NetworkSwitches::down(std::uint32_t node, std::uint32_t stripe) const {
  return {first_agent_ + stripe, stripes_->head(node, stripe), 0};
}

std::vector<Connection> NetworkSwitches::all_up(std::uint32_t stripe) const {
  std::vector<Connection> connections;
  for (std::uint32_t node = 0; node < stripes_->node_count(); ++node) {
    connections.push_back(up(node, stripe));
  }
  return connections;
}

std::vector<Connection> NetworkSwitches::all_down(std::uint32_t stripe) const {
  std::vector<Connection> connections;
  for (std::uint32_t node = 0; node < stripes_->node_count(); ++node) {
    connections.push_back(down(node, stripe));
  }
  return connections;
}

void NetworkSwitches::pass_on(std::uint32_t stripe, std::uint32_t chunk,
                              const std::vector<Connection>& from,
                              const std::vector<Connection>& to) {
  writer_->phase("network");
  writer_->append(first_agent_ + stripe, 0, PrimitiveKind::recv_send, {chunk, 1},
                  writer_->group(from), writer_->group(to));
}

void NetworkSwitches::all_reduce(std::uint32_t stripe, std::uint32_t chunk) {
  pass_on(stripe, chunk, all_up(stripe), all_down(stripe));
}

void NetworkSwitches::all_gather(std::uint32_t stripe) {
  for (std::uint32_t node = 0; stripes_->node_count() > 1 && node < stripes_->node_count();
       ++node) {
    auto others = all_down(stripe);
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(node));
    pass_on(stripe, stripes_->head(node, stripe), {up(node, stripe)}, others);
  }
}

void NetworkSwitches::reduce_scatter(std::uint32_t stripe) {
  for (std::uint32_t node = 0; node < stripes_->node_count(); ++node) {
    pass_on(stripe, stripes_->head(node, stripe), all_up(stripe), {down(node, stripe)});
  }
}

}  // namespace collsim
