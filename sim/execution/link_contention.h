#pragma once

#include <cstdint>
#include <vector>

#include "sim/execution/wiring.h"
#include "sim/execution/worker.h"
#include "sim/plan/plan.h"

namespace collsim {

/// How the thread blocks that send at this moment slow each other down on the links that they
/// share.
class LinkContention {
 public:
  LinkContention(const Plan& plan, const Wiring& wiring);

  /// The worker begins to send at a rate to the peers of its primitive. Returns the share of that
  /// rate that it gets on the fullest of its links (ProtocolCost::contended_share()), after
  /// head-of-line blocking (Corrections::hol_blocking). Links are the wiring's, also where a change
  /// of the machine has led its bytes elsewhere.
  double join(Worker& worker, BytesPerSecond rate);
  void leave(const Worker& worker);
  /// How many times over what is sent at this moment could fill the fullest of the links that the
  /// worker sends over; 1 where it does not send, or they could carry more.
  double overfill(const Worker& worker) const;

 private:
  struct Link {
    double demand = 0;        // in bytes per second
    double per_capacity = 0;  // in seconds per byte
  };
  static double fullness(const Link& link) { return link.demand * link.per_capacity; }
  /// A link that a connection goes over, and which of the demands there are its ends'.
  struct Hop {
    ResourceId link = 0;
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
  };
  static constexpr std::uint32_t alone =
      0xffffffff;  // the link has no other source, or destination

  void add_hops(const Plan& plan, const Wiring& wiring);

  /// Calls visit(hop) for every peer that the worker sends to over it.
  template <typename Visit>
  void for_each_hop_of(const Worker& worker, const Visit& visit) const;

  std::vector<Link> links_;  // by resource
  // In bytes per second, by link and by rank that sends over it, or that it leads to.
  std::vector<double> from_source_;
  std::vector<double> to_destination_;
  // The hops of all connections, one after the other, and where those of a connection begin: they
  // are looked up for every slice.
  std::vector<Hop> hops_;
  std::vector<std::uint32_t> begins_;            // by connection of all channels, and the end
  std::vector<std::uint32_t> first_connection_;  // by channel
};

}  // namespace collsim
