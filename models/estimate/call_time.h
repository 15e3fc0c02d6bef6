#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/cost/slice_cost.h"
#include "sim/execution/data_partition.h"
#include "sim/plan/protocol.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Hops that are alike: what they are, and what they share.
struct HopClass {
  LinkKind kind = LinkKind::nvlink;  ///< kind of the slowest link
  double latency = 0;                ///< seconds, of all links
  double capacity = 0;               ///< bytes per second of the most shared link,
  double synchronous_users = 1;      ///< channels in step with it that share that link,
  double other_users = 0;            ///< and channels out of step
  /// Where a proxy carries it over a network: what that has, and who shares it; and for how many
  /// connections the sender's thread sends and receives. 0: there is none.
  double network_capacity = 0;
  double network_users = 0;
  double network_others = 0;  ///< of these users, those whose ranks are not as far
  double sends = 0;
  double receives = 0;
  AtOnce at_once{};  ///< of its threads, while it is on its way
  bool has_proxy() const { return sends > 0; }
  /// Slices that the sender may be ahead where a buffer holds `credits`.
  std::uint32_t slices_ahead(std::uint32_t credits) const {
    return has_proxy() ? credits : collsim::slices_ahead(credits, kind);
  }
  /// How long its sender does not know of room at the receiver.
  double notice_of_room(const Calibration& cost) const {
    return has_proxy() ? cost.notice_of_room({latency}).value : 0;
  }
  /// What each of those who share it has while the others send that part of the time.
  double share(double others_busy) const {
    return capacity / (synchronous_users + others_busy * other_users);
  }
  double network_share(double others_busy) const {
    return network_capacity / (network_users - (1 - others_busy) * network_others);
  }
  bool operator==(const HopClass&) const = default;
};

/// proxy_time() of a hop where the others who share its network send that part of the time.
inline double proxy_delay(const HopClass& hop, const ProxyConstants& proxy, double wire,
                          double others_busy = 1) {
  return proxy_time(proxy, wire, hop.network_share(others_busy), hop.at_once);
}

/// What a slice of every connection keeps a rank's thread, and the network, busy.
inline double proxy_cycle(const HopClass& hop, const ProxyConstants& proxy, double wire) {
  const double thread =
      hop.sends * proxy_send_time(proxy, wire) + hop.receives * proxy_receive_time(proxy, wire);
  return std::max({thread, wire * hop.network_users / hop.network_capacity,
                   wire / proxy_rate(proxy, wire).value});
}

/// Steps behind the middle of a pipeline of so many loops, for how far thread blocks are out of
/// step there (contended_share()): the loss fades with the root of the steps, so that
/// the mean lies before the half. A third is chosen; a quarter would be the mean of a call without
/// ends.
inline double middle_of(double loops) {
  return loops / 3;
}

/// The time of a call without what comes before its first slice, and the time that its busiest rank
/// is busy with it, in seconds: where calls follow each other, the latter is what lies between
/// them.
struct FormulaTime {
  double total = 0;
  double busy = 0;
  double network_busy =
      0;  ///< what keeps the network and its proxies busy, while the next call begins
};

/// The longer of two channels', part by part.
inline FormulaTime longer(const FormulaTime& one, const FormulaTime& other) {
  return {std::max(one.total, other.total), std::max(one.busy, other.busy),
          std::max(one.network_busy, other.network_busy)};
}

/// Chunks that follow each other through the same ranks.
struct PipelineCall {
  Protocol protocol = Protocol::simple;
  std::uint32_t warps = 0;
  std::uint32_t loops = 0;
  double full = 0;  ///< bytes of a chunk in all loops but the last,
  double last = 0;  ///< and in the last
  std::uint32_t credits = 8;
  const Calibration* cost = nullptr;  ///< of the CPU that carries what goes over a network
  bool synchronized = false;  ///< whether nothing gets thread blocks out of step with each other
};

}  // namespace collsim
