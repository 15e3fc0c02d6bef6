#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "sim/base/units.h"
#include "sim/cost/calibration.h"
#include "sim/plan/protocol.h"

// The equations of docs/cost-model.md for the work of thread blocks, in its order. The executor and
// the estimate both ask here; neither reads a constant of a thread block itself.

namespace collsim {

/// How often a thread block does each of its four operations with every byte: it loads from the
/// rank's own buffer, receives what a peer sent, stores into the own buffer, sends to a peer.
struct MemoryOps {
  double load = 0;
  double receive = 0;
  double store = 0;
  double send = 0;
  double total() const { return load + receive + store + send; }
};

/// The rate at which a thread block of Simple does such operations with its data.
BytesPerSecond block_rate(const ProtocolConstants& cost, const MemoryOps& operations);

/// How long a round of all warps of the largest thread block keeps its multiprocessor busy.
Seconds round_work(const ProtocolConstants& cost, const MemoryOps& operations, bool several_peers);

/// How long a round waits, of however many warps.
inline Seconds round_wait(const ProtocolConstants& cost, const MemoryOps& operations) {
  return (operations.receive + operations.store) * cost.wait;
}

/// What the first round of a slice waits for own data that were asked for `ready` ago.
inline Seconds first_round_load(const ProtocolConstants& cost, const MemoryOps& operations,
                                Seconds ready) {
  return std::max(operations.load * cost.first - ready, Seconds{});
}

/// What the other operations of the first round of a slice take longer.
inline Seconds first_round_rest(const ProtocolConstants& cost, const MemoryOps& operations) {
  return (operations.receive + operations.send) * cost.first;
}

/// Data that warps move round by round.
struct FlagRounds {
  std::int64_t bytes = 0;      ///< of data, all together
  std::int64_t per_round = 0;  ///< bytes that a round moves
  double warps = 1;            ///< that move it: a share of those of the largest thread block
};

/// The time of the rounds of a protocol that flags its lines, what the first takes longer aside.
Seconds rounds_time(const ProtocolConstants& cost, const MemoryOps& operations,
                    const FlagRounds& rounds, bool several_peers);

/// The share of a link that thread blocks get which could fill it `demand` times. Where they can
/// just fill it, some wait for it while it lies idle for others, and `link_contention` of it is
/// lost; far below nobody waits, far above it never lies idle. (1 + min(x, 1/x)^p)^(-1/p): the
/// p-norm of rates and bandwidth in place of the lesser of the two (recordings/h200x2/
/// thread-blocks.csv, recv_reduce_copy_send on 8 to 32 thread blocks).
/// Thread blocks that have done so many steps of a call fall out of step by chance: they lose
/// 1 / sqrt(1 + steps) of that. Rings of two with LL128 on 24 channels leave 27 % of the link
/// unused from 16 to 32 MiB, then 21, 17, 12, 10, and 6 from 512 MiB to 1 GiB (recordings/
/// h200.csv, Ring-LL128-2).
double contended_share(const ProtocolConstants& cost, double demand, double steps);

/// A lane of a thread block, as far as the cost of its slices goes.
struct LaneSetting {
  const ProtocolConstants* cost = nullptr;  ///< of the slowest kind of link of its thread block
  std::int64_t round = 0;      ///< data of one round of its warps, in bytes; 0: slices move whole
  std::int64_t granule = 0;    ///< data that goes on by itself, in bytes: a warp's, or a round's
  double warps = 1;            ///< as a share of those of the largest thread block
  bool half_block = false;     ///< whether its thread block pays Corrections::half_block
  bool several_peers = false;  ///< whether it runs a tree's code, which looks at several peers
  bool serializes = false;  ///< whether what its slices cost keeps the other lane of a tree waiting
  double speed = 1;         ///< of the rank when it moves data, 1 as it should be
};

/// The lane with that many of its thread block's warps; a lane of no warps moves slices whole.
LaneSetting lane_setting(const ProtocolConstants& cost, Protocol protocol,
                         std::uint32_t warps_of_block, std::uint32_t warps_of_lane);

/// The part of a step that an empty slice of Simple takes: it needs no fence. Chosen after NCCL's
/// code (src/device/prims_simple.h, postPeer), not measured.
inline constexpr double step_share_of_empty_slice = 0.5;

/// The serial time of a slice: barrier, counter, fence. `passes_on`: it is sent as it came.
inline Seconds slice_step(const LaneSetting& lane, bool has_data, bool passes_on) {
  const ProtocolConstants& cost = *lane.cost;
  const Seconds own =
      has_data || cost.flags_lines() ? cost.step : step_share_of_empty_slice * cost.step;
  const Seconds step = lane.half_block ? own + cost.corrections.half_block : own;
  return has_data && passes_on ? step + cost.corrections.copy_step : step;
}

/// What the first round of a slice takes longer, if nothing but messages was missing for `ready`.
/// Lanes that serialize have paid for all but their own data before (slice_before()).
inline Seconds first_round(const LaneSetting& lane, const MemoryOps& operations, Seconds ready) {
  const Seconds load = first_round_load(*lane.cost, operations, ready);
  return lane.serializes ? load : load + first_round_rest(*lane.cost, operations);
}

/// How long the rounds of `bytes` of data keep the lane at its full speed, the first round's extra
/// aside. Only of protocols that flag their lines.
inline Seconds time_of_rounds(const LaneSetting& lane, const MemoryOps& operations,
                              std::int64_t bytes) {
  return rounds_time(*lane.cost, operations, {bytes, lane.round, lane.warps}, lane.several_peers);
}

/// What the lane pays before data of a slice move: where slices move whole, all that they cost;
/// where lines are flagged, what a first round keeps lanes that wait for each other busy.
inline Seconds slice_before(const LaneSetting& lane, const MemoryOps& operations, bool has_data,
                            bool passes_on) {
  if (!lane.cost->flags_lines()) return slice_step(lane, has_data, passes_on);
  return lane.serializes && has_data ? first_round_rest(*lane.cost, operations) : Seconds{};
}

/// What it pays when its peers have the slice.
inline Seconds slice_after(const LaneSetting& lane, bool has_data, bool passes_on) {
  return lane.cost->flags_lines() ? slice_step(lane, has_data, passes_on) : Seconds{};
}

/// What bears on all lanes of a thread block alike.
struct BlockSetting {
  double full_round = 0;       ///< data of a round of the most warps, where rounds flag their lines
  bool several_peers = false;  ///< whether it runs a tree's code, which looks at several peers
};

/// The setting of a protocol's thread blocks.
BlockSetting block_setting(const ProtocolConstants& cost, Protocol protocol, bool several_peers);

/// The rate on the wire of a thread block that does such operations, if nothing else keeps it busy.
/// For protocols that flag their lines: of the most warps that a thread block can have
/// (full_warps()), of which a round moves so much data, however long they wait.
inline BytesPerSecond busy_rate_of(const ProtocolConstants& cost, const MemoryOps& operations,
                                   const BlockSetting& setting) {
  if (!cost.flags_lines()) return block_rate(cost, operations);
  const Seconds work = round_work(cost, operations, setting.several_peers);
  if (work.value <= 0) return unlimited;
  return BytesPerSecond{cost.wire_factor * setting.full_round / work.value};
}

/// How many times as much the two lanes of a tree get done together as one after the other.
inline double gain_of_lanes(const ProtocolConstants& cost) {
  return 1 + cost.corrections.overlap;
}

/// The time from the last byte on the wire until the peer sees it, on top of the link's latency.
inline Seconds message_alpha(const ProtocolConstants& cost, LinkKind kind, bool several_peers) {
  const Seconds alpha = cost.alpha[static_cast<std::size_t>(kind)];
  return several_peers ? alpha + cost.corrections.multi_peer : alpha;
}

/// What a hop costs at most, whatever data it has: the peer's view, a step, a round's wait.
inline Seconds serial_of_hop(const ProtocolConstants& cost, LinkKind kind) {
  return message_alpha(cost, kind, false) + cost.step + cost.wait + cost.first;
}

/// Whether thread blocks that can just fill a link lose part of it (contended_share).
inline bool contends_for_links(const ProtocolConstants& cost) {
  return cost.corrections.link_contention > 0;
}

/// Whether a machine's thread blocks do so with any protocol.
inline bool contends_for_links(const Calibration& calibration) {
  return calibration.corrections.link_contention > 0;
}

/// Whether a slice costs a thread block more than its links do: what no closed form knows.
inline bool has_thread_blocks(const ProtocolConstants& cost) {
  const Corrections& corrections = cost.corrections;
  return cost.flags_lines() || (corrections.copy_step + corrections.half_block).value > 0 ||
         cost.read < unlimited || cost.write < unlimited;
}

/// The seconds for which a message of `wire` bytes on the network keeps the rank's network thread
/// busy copying: none where a connection's own threads copy.
inline double proxy_copying(const ProxyConstants& proxy, double wire) {
  return proxy.helpers > 0 ? 0 : wire / proxy.copy.value;
}

/// The rate at which such a message is on its way, if nothing else limits. A connection's own
/// threads copy while what they have copied is on the network.
BytesPerSecond proxy_rate(const ProxyConstants& proxy, double wire);

/// How much longer such a message keeps the network thread at either end busy, since it is too
/// large to be sent unasked.
inline double proxy_rendezvous(const ProxyConstants& proxy, double wire) {
  return wire > static_cast<double>(proxy.eager.count) ? proxy.rendezvous.value : 0;
}

/// How long the sender's network thread is busy with a slice of `wire` bytes on the network.
inline double proxy_send_time(const ProxyConstants& proxy, double wire) {
  return proxy.send.value + proxy_rendezvous(proxy, wire) + proxy_copying(proxy, wire);
}

/// How long the receiver's network thread is busy with such a slice.
inline double proxy_receive_time(const ProxyConstants& proxy, double wire) {
  return proxy.receive.value + proxy_rendezvous(proxy, wire) + proxy_copying(proxy, wire);
}

/// How many such slices the threads of a connection have in hand at once, each of another one.
struct AtOnce {
  double sends = 1;     ///< of the sender's thread
  double receives = 1;  ///< of the receiver's
  bool operator==(const AtOnce&) const = default;
};

/// The seconds that such a slice, of which the network carries `share` bytes per second, takes from
/// the sender's buffer to the receiver's, the wire's latency aside. Both threads have it in hand
/// while its bytes move; with sockets they have it before and after (Proxies). A thread shares its
/// time among all that it has in hand.
double proxy_time(const ProxyConstants& proxy, double wire, double share, const AtOnce& at_once);

/// Data of every piece but the last in which a slice goes. All of a call is cut alike: were its
/// middle cut less finely, each rank of a chain would get it later than the one before.
std::int64_t bytes_of_pieces(std::int64_t slice, const LaneSetting& lane);

/// One slice of a primitive, as an estimate sees it.
struct SliceWork {
  MemoryOps operations;
  bool passes_on = false;  ///< as it came (Corrections::copy_step)
  double bytes = 0;        ///< of data
  double share = 0;        ///< bytes per second that its links leave it; infinite: all it wants
  double load = 1;         ///< bytes on its links per byte on the wire (contended_share())
  bool waits = true;       ///< for a peer, so that own data are there before (first_round())
};

/// How long a slice takes, part by part, in seconds.
struct SliceTime {
  double before = 0;  ///< until its data move
  double first = 0;   ///< the first piece that goes on by itself
  double moving = 0;  ///< all pieces
  double after = 0;   ///< when the peer has all

  /// How long the slice keeps the thread block, in seconds.
  double occupancy() const { return before + moving + after; }
  /// The time until something of the slice is under way to the peer, in seconds.
  double head() const { return before + first; }
  /// The time until all of the slice is under way, in seconds.
  double sent() const { return before + moving; }
};

/// The time of a slice whose links leave it a constant share.
SliceTime slice_time(const LaneSetting& lane, const SliceWork& work);

}  // namespace collsim
