#pragma once

#include <cstdint>
#include <vector>

#include "sim/execution/call_layout.h"
#include "sim/execution/wiring.h"
#include "sim/execution/worker.h"

namespace collsim {

/// What thread blocks could put on a link at this moment, beside what it carries.
struct LinkDemand {
  double demand = 0;        ///< in bytes per second
  double per_capacity = 0;  ///< in seconds per byte
  double part = 1;          ///< of what workers put on all links that it stands for
};
/// The demand on each resource of a wiring. Calls at once on one machine have them in common.
using LinkDemands = std::vector<LinkDemand>;

/// How the thread blocks that send at this moment slow each other down on the links that they
/// share.
class LinkContention {
 public:
  /// Where equals are folded, `layout` says what stands for which links. `shared`, of calls whose
  /// wirings have the same resources, must outlive it; null: the call is alone.
  explicit LinkContention(const Wiring& wiring, const CallLayout& layout = {},
                          LinkDemands* shared = nullptr);

  /// The worker begins to send at a rate to the peers of its primitive. Links are the wiring's,
  /// also where a change of the machine has led its bytes elsewhere.
  void join(Worker& worker, BytesPerSecond rate);
  /// The share of that rate that it gets now on the fullest of its links (contended_share()).
  double share(const Worker& worker) const;
  void leave(const Worker& worker);
  /// How many times over what is sent at this moment could fill the fullest of the links that the
  /// worker sends over; 1 where it does not send, or they could carry more.
  double overfill(const Worker& worker) const;

 private:
  static double fullness(const LinkDemand& link) { return link.demand * link.per_capacity; }
  /// Calls visit(link) for every peer that the worker sends to over it.
  template <typename Visit>
  void for_each_link_of(const Worker& worker, const Visit& visit) const;

  LinkDemands own_;     // of a call alone
  LinkDemands& links_;  // by resource
  // The links of all connections, one after the other, and where those of a connection begin: they
  // are looked up for every slice.
  std::vector<ResourceId> links_of_connections_;
  std::vector<std::uint32_t> begins_;            // by connection of all channels, and the end
  std::vector<std::uint32_t> first_connection_;  // by channel
};

}  // namespace collsim
