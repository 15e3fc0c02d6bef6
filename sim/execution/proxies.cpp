#include "sim/execution/proxies.h"

#include "sim/cost/slice_cost.h"

namespace collsim {

Proxies::Proxies(const ProxyConstants& cost, double overhead, Fabric& fabric,
                 std::span<const ProxyRoutes> routes)
    : cost_(cost), overhead_(overhead), fabric_(fabric) {
  for (const ProxyRoutes& of : routes) connections_.emplace_back().routes = of;
}

void Proxies::hand_over(ProxyId id, const Message& message) {
  connections_[id].buffered.push_back(message);
  if (has_sockets()) {
    offer_dispatch(id);
  } else {
    offer_send(connections_[id]);
  }
}

/// Whether the receiver's buffer has a slot for one more slice, which then is kept for it.
bool Proxies::take_room(Connection& connection) {
  if (connection.begun >= connection.freed + connection.routes.slots) return false;
  ++connection.begun;
  return true;
}

/// The next message goes into the socket, if there is one and room for it.
void Proxies::offer_dispatch(ProxyId id) {
  Connection& connection = connections_[id];
  if (connection.dispatching || connection.buffered.empty()) return;
  const double bytes = on_network(connection.buffered.front());
  if (connection.unreceived > 0 && connection.unreceived + bytes > cost_.held()) return;
  connection.dispatching = true;
  connection.unreceived += bytes;
  copy(connection.routes.sender, id, FlowKind::dispatch);
}

void Proxies::copy(RouteId thread, ProxyId id, FlowKind way) {
  copies_[thread].emplace_back(id, way);
  if (copies_[thread].size() == 1) begin_copy(thread);
}

void Proxies::begin_copy(RouteId thread) {
  const auto [id, way] = copies_[thread].front();
  const Connection& connection = connections_[id];
  const double seconds = way == FlowKind::dispatch
                             ? proxy_send_time(cost_, on_network(connection.buffered.front()))
                             : proxy_receive_time(cost_, on_network(connection.reached.front()));
  keep_busy(thread, seconds, flow_tag(connection.routes.fifo, way));
}

void Proxies::end_copy(RouteId thread) {
  copies_[thread].pop_front();
  if (!copies_[thread].empty()) begin_copy(thread);
}

Message Proxies::dispatch(ProxyId id) {
  Connection& connection = connections_[id];
  const Message message = connection.buffered.front();
  connection.buffered.pop_front();
  connection.outgoing.push_back(message);
  connection.dispatching = false;
  ++connection.left;
  end_copy(connection.routes.sender);
  send(connection);
  offer_dispatch(id);
  return message;
}

/// The next message gets under way, if there is one and room for it.
void Proxies::offer_send(Connection& connection) {
  if (connection.parts > 0 || connection.buffered.empty() || !take_room(connection)) return;
  connection.outgoing.push_back(connection.buffered.front());
  connection.buffered.pop_front();
  send(connection);
}

/// The first message that goes out does so, unless another one is on the network.
void Proxies::send(Connection& connection) {
  if (connection.parts > 0 || connection.outgoing.empty()) return;
  const ProxyRoutes& routes = connection.routes;
  const double bytes = on_network(connection.outgoing.front());
  const EventTag flow = flow_tag(routes.fifo, FlowKind::message);
  connection.parts = 1;
  if (!has_sockets()) {
    connection.parts = 3;
    keep_busy(routes.sender, proxy_send_time(cost_, bytes), flow);
    keep_busy(routes.receiver, proxy_receive_time(cost_, bytes), flow);
  }
  fabric_.start_flow(routes.network, bytes, proxy_rate(cost_, bytes), flow);
}

void Proxies::keep_busy(RouteId thread, double seconds, EventTag flow) {
  fabric_.start_flow(thread, network_thread_capacity.value * seconds, network_thread_capacity,
                     flow);
}

Message Proxies::leave(ProxyId id) {
  Connection& connection = connections_[id];
  const Message message = connection.outgoing.front();
  connection.outgoing.pop_front();
  if (has_sockets()) {
    send(connection);
  } else {
    ++connection.left;
    offer_send(connection);
  }
  return message;
}

bool Proxies::reach(ProxyId id, const Message& message) {
  if (!has_sockets()) return true;
  connections_[id].reached.push_back(message);
  offer_receive(id);
  return false;
}

void Proxies::offer_receive(ProxyId id) {
  Connection& connection = connections_[id];
  if (connection.taking || connection.reached.empty() || !take_room(connection)) return;
  connection.taking = true;
  copy(connection.routes.receiver, id, FlowKind::receipt);
}

Message Proxies::take(ProxyId id) {
  Connection& connection = connections_[id];
  const Message message = connection.reached.front();
  connection.reached.pop_front();
  connection.taking = false;
  connection.unreceived -= on_network(message);
  end_copy(connection.routes.receiver);
  offer_receive(id);
  offer_dispatch(id);
  return message;
}

void Proxies::free_slot(ProxyId id) {
  ++connections_[id].freed;
  if (has_sockets()) {
    offer_receive(id);
  } else {
    offer_send(connections_[id]);
  }
}

void Proxies::redirect(ProxyId id, RouteId route) {
  fabric_.redirect(connections_[id].routes.network, route);
  connections_[id].routes.network = route;
}

}  // namespace collsim
