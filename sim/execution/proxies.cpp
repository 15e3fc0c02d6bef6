#include "sim/execution/proxies.h"

#include <cassert>

#include "sim/cost/slice_cost.h"

namespace collsim {

ProxyId Proxies::add(Rank sender, Rank receiver, RouteId route, std::uint32_t slots,
                     EventTag flow) {
  Connection connection;
  connection.sender = sender;
  connection.receiver = receiver;
  connection.route = route;
  connection.slots = slots;
  connection.flow = flow;
  connections_.push_back(std::move(connection));
  return static_cast<ProxyId>(connections_.size() - 1);
}

void Proxies::set_timer(Rank rank, EventTag timer) {
  if (threads_.size() <= rank) threads_.resize(rank + 1);
  threads_[rank].timer = timer;
}

void Proxies::hand_over(ProxyId id, const Message& message) {
  connections_[id].buffered.push_back(message);
  offer_send(id);
}

/// The sender's thread gets the next message to do, if there is one and room for it.
void Proxies::offer_send(ProxyId id) {
  Connection& connection = connections_[id];
  if (connection.sending || connection.buffered.empty()) return;
  if (is_eager()) {
    const double held = connection.unreceived + on_network(connection.buffered.front());
    if (connection.unreceived > 0 && held > cost_.held()) return;
  } else {
    if (connection.begun >= connection.freed + connection.slots) return;
    ++connection.begun;
  }
  connection.sending = true;
  add_task(connection.sender, {id, false});
}

void Proxies::offer_receive(ProxyId id) {
  Connection& connection = connections_[id];
  if (connection.receiving || connection.reached.empty()) return;
  if (is_eager()) {
    if (connection.begun >= connection.freed + connection.slots) return;
    ++connection.begun;
  }
  connection.receiving = true;
  add_task(connection.receiver, {id, true});
}

void Proxies::flow_on(Connection& connection) {
  if (connection.flows || connection.in_socket.empty()) return;
  connection.flows = true;
  const double bytes = on_network(connection.in_socket.front());
  fabric_.start_flow(connection.route, bytes, proxy_rate(cost_, bytes), connection.flow);
}

Message Proxies::leave(ProxyId id) {
  Connection& connection = connections_[id];
  const Message message = connection.in_socket.front();
  connection.in_socket.pop_front();
  connection.flows = false;
  if (!is_eager()) ++connection.left;
  flow_on(connection);
  return message;
}

void Proxies::reach(ProxyId id, const Message& message) {
  connections_[id].reached.push_back(message);
  offer_receive(id);
}

void Proxies::free_slot(ProxyId id) {
  ++connections_[id].freed;
  offer_send(id);
  offer_receive(id);
}

void Proxies::redirect(ProxyId id, RouteId route) {
  fabric_.redirect(connections_[id].route, route);
  connections_[id].route = route;
}

void Proxies::add_task(Rank rank, const Task& task) {
  threads_[rank].tasks.push_back(task);
  if (threads_[rank].tasks.size() == 1) begin_task(rank);
}

void Proxies::begin_task(Rank rank) {
  const Task& task = threads_[rank].tasks.front();
  const Connection& connection = connections_[task.connection];
  const Message& message = task.receives ? connection.reached.front() : connection.buffered.front();
  const double wire = on_network(message);
  fabric_.start_timer(
      {task.receives ? proxy_receive_time(cost_, wire) : proxy_send_time(cost_, wire)},
      threads_[rank].timer);
}

Proxies::Done Proxies::finish_task(Rank rank) {
  Thread& thread = threads_[rank];
  assert(!thread.tasks.empty());
  const Task task = thread.tasks.front();
  thread.tasks.pop_front();
  if (!thread.tasks.empty()) begin_task(rank);
  Connection& connection = connections_[task.connection];
  std::deque<Message>& done = task.receives ? connection.reached : connection.buffered;
  const Message message = done.front();
  done.pop_front();
  if (task.receives) {
    connection.receiving = false;
    connection.unreceived -= on_network(message);
    offer_receive(task.connection);
  } else {
    connection.sending = false;
    connection.unreceived += on_network(message);
    connection.in_socket.push_back(message);
    if (is_eager()) ++connection.left;
    flow_on(connection);
  }
  offer_send(task.connection);
  return {task.connection, task.receives, message};
}

}  // namespace collsim
