#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/cost/calibration.h"
#include "sim/execution/timeline.h"
#include "sim/fabric/fabric.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// A part of a slice in flight.
struct Message {
  std::int64_t bytes = 0;  ///< bytes of data
  bool ends_slice = true;
  RecordId record = no_record;
};

using ProxyId = std::uint32_t;

/// The CPU threads that carry slices over a network, one a rank, and the connections that they
/// serve (NCCL src/proxy.cc, src/transport/net.cc). A message of a connection goes through
///
///   the sender's buffer, its thread, the network, the receiver's thread, the receiver's buffer.
///
/// A thread does one thing at a time, in the order in which things came up: the more connections a
/// rank has, the longer each waits. Messages of one connection stay in order and are on the network
/// one after the other. Both buffers have as many slots, a slice each.
///
/// Sockets (ProxyConstants::socket > 0) take what their buffers hold, whether or not the receiver
/// has room: the sender's slot is free as soon as the socket has the message. Without (RDMA) a
/// message waits for a slot at the receiver, and its own is free when it has arrived.
///
/// The owner calls in when something has happened, and hears of what is over by return.
class Proxies {
 public:
  /// Both must outlive it. `overhead`: bytes on the network per byte of data.
  Proxies(const ProxyConstants& cost, double overhead, Fabric& fabric)
      : cost_(cost), overhead_(overhead), fabric_(fabric) {}

  /// A connection whose messages take `route`; its flows carry `flow`, the threads' timers
  /// `timers[rank]`.
  ProxyId add(Rank sender, Rank receiver, RouteId route, std::uint32_t slots, EventTag flow);
  /// Sets the tag that timers of a rank's thread carry.
  void set_timer(Rank rank, EventTag timer);

  /// Whether a slot of the sender's buffer is free after `taken` slices have taken one.
  bool has_slot(ProxyId id, std::uint32_t taken) const {
    return taken < connections_[id].left + connections_[id].slots;
  }
  /// The thread block has put a slice into the sender's buffer.
  void hand_over(ProxyId id, const Message& message);
  /// The connection's flow has ended: the message that has left.
  Message leave(ProxyId id);
  /// The message is at the receiver's end of the network.
  void reach(ProxyId id, const Message& message);
  /// The receiving thread block is done with a slice.
  void free_slot(ProxyId id);
  void redirect(ProxyId id, RouteId route);

  /// What a thread was at when its timer rang.
  struct Done {
    ProxyId connection;
    bool received;  ///< else sent
    Message message;
  };
  Done finish_task(Rank rank);
  /// Slots of the sender are free when the socket has the message; else when it has left.
  bool is_eager() const { return cost_.socket.count > 0; }

 private:
  struct Connection {
    Rank sender = 0;
    Rank receiver = 0;
    RouteId route = 0;
    EventTag flow = 0;
    std::uint32_t slots = 0;
    std::deque<Message> buffered;   // the sender's thread has not done with them
    std::deque<Message> in_socket;  // the first is on the network, where `flows`
    std::deque<Message> reached;    // the receiver's thread has not done with them
    double unreceived = 0;          // bytes that the sender's thread is done with
    std::uint32_t left = 0;         // slices whose slot at the sender is free again
    std::uint32_t begun = 0;        // slices sent or received, for which the receiver has room
    std::uint32_t freed = 0;        // slices whose slot at the receiver is free again
    bool sending = false;
    bool receiving = false;
    bool flows = false;
  };
  struct Task {
    ProxyId connection;
    bool receives;
  };
  struct Thread {
    std::deque<Task> tasks;  // the first is what it is at
    EventTag timer = 0;
  };

  double on_network(const Message& message) const {
    return overhead_ * static_cast<double>(message.bytes);
  }
  void offer_send(ProxyId id);
  void offer_receive(ProxyId id);
  void flow_on(Connection& connection);
  void add_task(Rank rank, const Task& task);
  void begin_task(Rank rank);

  const ProxyConstants& cost_;
  const double overhead_;
  Fabric& fabric_;
  std::vector<Connection> connections_;
  std::vector<Thread> threads_;  // by rank
};

}  // namespace collsim
