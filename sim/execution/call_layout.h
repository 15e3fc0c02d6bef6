#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/execution/event_tags.h"
#include "sim/execution/execution.h"
#include "sim/execution/fabric_draft.h"
#include "sim/execution/proxies.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/execution/worker.h"
#include "sim/fabric/fabric.h"

namespace collsim {

/// A connection of a channel while it runs. Credits count slices. Arrivals count slices too, or
/// bytes of data where lines are flagged: the pieces in which a lane sends and in which its peer
/// receives need not be the same.
struct Fifo {
  std::uint32_t sent_slices = 0;
  std::uint32_t freed_slices = 0;
  std::uint32_t credits = 0;  ///< slices that its sender may be ahead, where it has no proxy
  std::int64_t pending = 0;   ///< arrived and not taken
  WorkerId sender = no_worker;
  WorkerId receiver = no_worker;
  RouteId route = 0;
  std::uint32_t channel = 0;
  Seconds alpha;
  std::optional<ProxyId> proxy{};
  Seconds room;  ///< until the sender's proxy knows that the receiver has a free slot
  std::int64_t handed_over = 0;  ///< to the proxy, of a slice that is not complete
  bool route_is_free = false;    ///< has no resource that could limit
};

/// What one rank (or agent, which needs no launch) runs, and how many of its calls are over.
struct Launch {
  std::vector<WorkerId> workers;
  std::size_t running = 0;
  std::uint32_t calls = 0;
};

/// What several lanes of one rank share on a channel.
struct ThreadBlock {
  ResourceId resource = 0;
  BytesPerSecond rate = unlimited;  ///< shared_rate()
  BytesPerSecond part = unlimited;  ///< Worker::part of each lane that sends
};

/// A call as it stands on a fabric: who runs which program, and what joins them.
struct CallLayout {
  std::vector<Worker> workers;
  std::vector<Launch> launches;  ///< by rank, then by agent
  std::vector<Fifo> fifos;
  std::vector<FifoId> first_fifos;   ///< by channel; no_fifo: it is idle
  std::vector<ProxyRoutes> proxies;  ///< by ProxyId
  /// Thread blocks that lanes share, by channel and by rank or agent; else nothing.
  std::vector<std::vector<std::optional<ThreadBlock>>> thread_blocks;
  /// The FIFOs of every channel's peer groups, group after group; see fifos_of().
  std::vector<FifoId> listed;
  std::vector<std::uint32_t> list_begins{0};  ///< by list, and the end
  /// Where equals were folded (sim/execution/symmetry.h) what stands for each FIFO and each of the
  /// wiring's resources (ClassesOf::none: nothing); else empty.
  std::vector<FifoId> fifo_of{};
  std::vector<ResourceId> resource_of{};
  std::vector<std::uint32_t> resource_copies{};  ///< equal resources that each stands for
  std::uint32_t rank_classes = 0;                ///< ranks that are not equal to one before
  bool counts_bytes = false;                     ///< FIFOs count arrived bytes; else slices
  std::int64_t min_units = 1;                    ///< least units of an arrival

  /// The units that a message of `bytes` counts when it arrives, and that its receive takes.
  std::int64_t units(std::int64_t bytes) const {
    return counts_bytes ? std::max(bytes, min_units) : 1;
  }
  /// What the worker works with at once, each FIFO of a group; equals once.
  std::span<const FifoId> fifos_of(const Worker& worker, PeerGroupId group) const {
    const std::uint32_t list = worker.first_list + group;
    return std::span(listed).subspan(list_begins[list], list_begins[list + 1] - list_begins[list]);
  }
  std::int64_t units_awaited(const Worker& worker) const { return units(worker.bytes_of_piece()); }
};

/// Programs that a rank, or agent, runs concurrently.
std::uint32_t lanes_in_use(const Schedule& schedule, Rank rank);

/// Puts the wiring's capacities, thread blocks, network threads and routes into the draft. Workers
/// refer to `costs`, which must outlive them.
CallLayout lay_out(const Execution& execution, const ThreadBlockCosts& costs, FabricDraft& draft);

/// The time until the first byte of a message has come over the wire.
Seconds alpha_of(const Execution& execution, const ThreadBlockCosts& costs,
                 const Schedule& schedule, const Connection& connection, const Wire& wire);

/// Adds to a route what the rank's messages share before any link: its thread block on the channel,
/// where that has several lanes.
void add_thread_block(std::vector<ResourceId>& route, const CallLayout& layout,
                      std::uint32_t channel, Rank rank);

}  // namespace collsim
