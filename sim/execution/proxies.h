#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/cost/calibration.h"
#include "sim/execution/event_tags.h"
#include "sim/execution/timeline.h"
#include "sim/fabric/fabric.h"

namespace collsim {

/// A part of a slice in flight.
struct Message {
  std::int64_t bytes = 0;  ///< bytes of data
  bool ends_slice = true;
  RecordId record = no_record;
};

using ProxyId = std::uint32_t;

/// What the messages of a connection load, and how many fit into the buffer at either end. The
/// network thread of a rank is a resource of the fabric, of network_thread_capacity.
struct ProxyRoutes {
  FifoId fifo = no_fifo;
  RouteId network = 0;
  RouteId sender = 0;    ///< the sender's thread
  RouteId receiver = 0;  ///< the receiver's thread
  std::uint32_t slots = 0;
};

/// A thread's work counts in nanoseconds, of which it does so many a second.
inline constexpr BytesPerSecond network_thread_capacity{1e9};

/// The CPU threads that carry slices over a network, one a rank, and the connections that they
/// serve (NCCL src/proxy.cc, src/transport/net.cc). A message of a connection goes through
///
///   the sender's buffer, its thread, the network, the receiver's thread, the receiver's buffer.
///
/// A thread polls its connections in turn: those that have something to do share its time. It posts
/// a message and looks after it while the bytes are on the network, so that a message keeps both
/// threads and the network busy at once, and is over when all three are. Messages of one connection
/// go one after the other. Both buffers have as many slots, a slice each; a message waits for a
/// slot at the receiver.
///
/// Sockets (ProxyConstants::socket > 0) take what their buffers hold, whether or not the receiver
/// has room. The sender's slot is free as soon as all of a message is in the socket, which then
/// goes over the network; the receiver's thread takes it when all of it has come. A thread copies
/// one message at a time into or out of a socket, in the order in which they came up.
///
/// The owner calls in when something has happened, and hears of what is over by return.
class Proxies {
 public:
  /// `cost` and `fabric` must outlive it. `overhead`: bytes on the network per byte of data.
  Proxies(const ProxyConstants& cost, double overhead, Fabric& fabric,
          std::span<const ProxyRoutes> routes);

  /// Whether a slot of the sender's buffer is free after `taken` slices have taken one.
  bool has_slot(ProxyId id, std::uint32_t taken) const {
    return taken < connections_[id].left + connections_[id].routes.slots;
  }
  /// The thread block has put a slice into the sender's buffer.
  void hand_over(ProxyId id, const Message& message);
  bool has_sockets() const { return cost_.socket.count > 0; }
  /// The message that the sender's thread has put into its socket, whose slot is free.
  Message dispatch(ProxyId id);
  /// A flow of what carries the connection's message has ended: whether the message has left.
  bool end_part(ProxyId id) { return --connections_[id].parts == 0; }
  /// The message that has left; without sockets its slot at the sender is free.
  Message leave(ProxyId id);
  /// The message is at the receiver's end of the network: whether it is in the receiver's buffer.
  /// Else its thread has yet to take it from the socket.
  bool reach(ProxyId id, const Message& message);
  /// The receiver's thread has taken this message.
  Message take(ProxyId id);
  /// The receiving thread block is done with a slice.
  void free_slot(ProxyId id);
  void redirect(ProxyId id, RouteId route);

 private:
  struct Connection {
    ProxyRoutes routes;
    std::deque<Message> buffered;  // the first is put into the socket, where `dispatching`
    std::deque<Message> outgoing;  // the first is under way, where `parts` is not 0
    std::deque<Message> reached;   // in the socket; the first is taken, where `taking`
    double unreceived = 0;         // bytes in the sockets, or on the way into them
    std::uint32_t parts = 0;       // flows of the message that is under way
    std::uint32_t left = 0;        // slices whose slot at the sender is free again
    std::uint32_t begun = 0;       // slices sent or received, for which the receiver has room
    std::uint32_t freed = 0;       // slices whose slot at the receiver is free again
    bool dispatching = false;
    bool taking = false;
  };

  double on_network(const Message& message) const {
    return overhead_ * static_cast<double>(message.bytes);
  }
  static bool take_room(Connection& connection);
  void offer_send(Connection& connection);
  void offer_dispatch(ProxyId id);
  void send(Connection& connection);
  void offer_receive(ProxyId id);
  void copy(RouteId thread, ProxyId id, FlowKind way);
  void begin_copy(RouteId thread);
  void end_copy(RouteId thread);
  void keep_busy(RouteId thread, double seconds, EventTag flow);

  const ProxyConstants& cost_;
  const double overhead_;
  Fabric& fabric_;
  std::vector<Connection> connections_;
  /// What each thread copies into or out of sockets, the first of them now.
  std::map<RouteId, std::deque<std::pair<ProxyId, FlowKind>>> copies_;
};

}  // namespace collsim
