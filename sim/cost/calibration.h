#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.h"
#include "sim/cost/trust.h"
#include "sim/plan/collective.h"
#include "sim/plan/protocol.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The largest Corrections::link_contention.
inline constexpr double max_link_contention = 0.5;

/// Effects outside the core of the cost model. Each was measured between GPUs with peer-to-peer
/// links and counts only for thread blocks that work with NVLink alone. docs/cost-model.md says
/// what each of them earns.
struct Corrections {
  /// More of Simple's setup for collectives whose primitives may reach into a peer's buffer
  /// (uses_direct_primitives()).
  Seconds direct_setup;
  /// More of a step of Simple that sends on a slice as it came.
  Seconds copy_step;
  /// More of a step in thread blocks of about half the warps of the largest one: 256 threads of
  /// Simple, 320 of LL128. Blocks with more and with fewer threads are faster; the cause is not
  /// known (recordings/h200x4/small-blocks.yaml).
  Seconds half_block;
  /// What the code for several peers at once, a tree's, adds to a hop of LL and LL128, and to the
  /// work of a round of LL128.
  Seconds multi_peer;
  /// What share the lanes of a tree with Simple, or of CollNetChain, get done more together than
  /// one after the other, since one works while the other waits. A root has one lane and gains
  /// nothing (recordings/h200x4/four-ranks.yaml and h200x2/two-ranks.yaml, Tree/Simple on 4 and 8
  /// channels: a chunk takes middle ranks 39 us and a root 29).
  double overlap = 0;
  /// Share of a link that is lost, in a call's first step, where the thread blocks can just fill
  /// it (contended_share()). Of Simple and LL128.
  double link_contention = 0;
  /// Share of the NVLinks that is lost behind data for other GPUs, where all GPUs of an NVSwitch
  /// write to several others at once (Calibration::of_mixed_messages()).
  double hol_blocking = 0;
};

/// What moving data costs a rank beyond its links, for one protocol. The zero-cost default is the
/// textbook's alpha-beta machine: only links limit.
///
/// A thread block does its operations one after the other: it loads, receives, stores and sends
/// (recordings/h200x2/two-ranks.yaml: 1 to 8 channels of two ranks, where every collective is
/// another sum of these four). Simple reads and writes at two rates, and the peer sees a slice when
/// the thread block has paid its step. LL and LL128 flag every line: their warps move one granule
/// per round, the peer sees at once what has moved, and the step follows (NCCL
/// src/device/prims_ll.h, prims_ll128.h).
struct ProtocolConstants {
  /// The time once per call, on top of Calibration::launch.
  Seconds setup;
  /// The time that each warp of the thread block adds to `setup`.
  Seconds setup_per_warp;
  /// Time from the last byte on the wire until the peer sees it, by the kind of the slowest link on
  /// the way; on top of the links' own latency.
  std::array<Seconds, link_kind_count> alpha{};
  /// Serial time of the thread block for every slice: barrier, counter, fence. An empty slice of
  /// Simple needs no fence and takes half of it (NCCL src/device/prims_simple.h, postPeer).
  Seconds step;
  /// What a thread block of Simple loads and receives in a second, and what it stores and sends. A
  /// lane reaches that too while the others rest, however few warps it has
  /// (recordings/h200x4/forced-2-ranks.yaml, Tree/Simple on one chunk a channel).
  BytesPerSecond read = unlimited;
  BytesPerSecond write = unlimited;
  /// What a round of LL waits for each receive and for each store, whatever data it has.
  Seconds wait;
  /// What a full round of all warps of the largest thread block (full_warps()) keeps the
  /// multiprocessor busy; a smaller one, so much less. With LL for each send: its other operations
  /// are done while it waits. With LL128 for each operation.
  Seconds work;
  /// What the first round of a slice of LL128 takes longer for each load, receive and send; later,
  /// some warps work while others wait. Own data are on their way while a warp waits for its
  /// peers' (NCCL src/device/prims_ll128.h, recvReduceSendCopy: loads begin before flags are
  /// looked at).
  Seconds first;
  /// Bytes on the wire per byte of data: LL 2, LL128 128/120, Simple 1.
  double wire_factor = 1;
  /// Data that one warp moves per round, for protocols that flag their lines; else 0.
  Bytes warp_granule{};
  /// The corrections that count for this protocol and these links (Calibration::of()).
  Corrections corrections{};

  bool flags_lines() const { return warp_granule.count > 0; }
  /// Whether warps wait for each other in every round, as LL's do.
  bool rounds_wait() const { return wait.value > 0; }
};

/// The CPU threads that carry what thread blocks have put into a buffer over the network, slice
/// after slice, while the thread blocks go on (Proxies). Not used where a machine's network is part
/// of its GPUs' links.
struct ProxyConstants {
  bool used = false;
  Seconds send;                     ///< of the sender's thread, per slice
  Seconds receive;                  ///< of the receiver's thread, per slice
  BytesPerSecond copy = unlimited;  ///< at which a thread copies, on top
  BytesPerSecond rate = unlimited;  ///< of one TCP stream
  Bytes socket{};                   ///< what one stream's sockets hold; 0: there are none
  /// What either thread takes longer with a message of more than `eager` bytes, for which the ends
  /// first agree where it goes.
  Seconds rendezvous{};
  Bytes eager{};
  /// Threads that every connection has of its own at both ends, and TCP streams over which it cuts
  /// a message (SocketThreads). 0 and 1: the rank's thread copies all into one stream.
  std::uint32_t helpers = 0;
  std::uint32_t streams = 1;

  /// The bytes that the sockets of a connection hold.
  double held() const { return static_cast<double>(socket.count) * streams; }
};

/// Host memory through which the GPUs of a node reach each other where they have no peer-to-peer:
/// one writes into a buffer there over its PCIe link, the other reads over its own. A byte counts
/// once. Not used where it was not measured: links are then all that limits.
struct MemoryConstants {
  bool used = false;
  BytesPerSecond cached = unlimited;  ///< of a node, all its GPUs together, out of the CPU's cache
  BytesPerSecond rate = unlimited;    ///< the same with every buffer out of the cache
  Bytes cache{};                      ///< buffers of a node that stay in the cache
  /// What PCIe links carry to and from host memory while thread blocks receive and send on at once,
  /// as a share of what the topology says of both ways together.
  double at_once = 1;
  /// Their share while they send and receive in turn: ranks keep step, so that now the one way lies
  /// idle, then the other.
  double in_turn = 1;
};

/// What differs where NVSwitches add up and copy (NVLS, NVLSTree). What is not stated is as between
/// GPUs.
struct NvlsConstants {
  /// What a GPU's link carries then, as a share of its nominal bandwidth. A switch that adds up
  /// loads from all GPUs what one of them asks for: requests and answers go on the links beside the
  /// data, which a ring only writes.
  std::optional<double> efficiency;
  /// The step of a slice, in place of Simple's: a slice is ready when the flags of all GPUs of the
  /// node are there, and is handed on to all of them.
  std::optional<Seconds> step;
};

/// The largest jitter (Calibration::jitter).
inline constexpr double max_jitter = 0.4;

/// Everything that a calibration says about a machine.
struct Calibration {
  std::string name = "ideal";  ///< name of the file it came from
  CalibrationTrust trust{};
  std::string transport;  ///< that says what messages between hosts cost; empty: this itself
  /// That says what messages between GPUs of a host cost without NVLink; empty: this itself.
  std::string host_transport;
  bool inside_hosts = false;  ///< of a transport: whether it is of messages inside a host
  /// Whether it is to have the transport that NCCL uses inside a host, once that is known.
  bool wants_host_transport = false;
  std::string over_tcp;  ///< calibration of the same machines when hosts talk TCP; may be empty
  Seconds launch;        ///< once per call
  /// What each doubling of its thread blocks adds: the last one to begin, and to end, is what
  /// counts (recordings/h200x4/nvlink.yaml, as many bytes on each of 1 to 16 channels).
  Seconds launch_per_doubling;
  /// What takes the place of `launch` in a CUDA graph; not known: the same.
  std::optional<Seconds> graph_launch;
  Seconds issue;                ///< no call takes less: the CPU's time to issue the next one
  Seconds issue_per_channel;    ///< and for each further channel of a collective
  Seconds issue_per_operation;  ///< and for each further send or receive of its group
  /// What takes the place of setup in sends and receives, which have kernels of their own; not
  /// known: the same.
  std::optional<Seconds> message_setup;
  /// Links do not serve thread blocks evenly, so that channels fall out of step and fill each
  /// other's gaps. By this share of its time a slice takes longer or shorter than others, and by
  /// as much again all slices of a channel (jitter_factor()).
  double jitter = 0;
  std::array<ProtocolConstants, protocol_count> protocols{};
  Corrections corrections;
  NvlsConstants nvls;
  ProxyConstants proxy;
  MemoryConstants memory;
  /// What a link really carries, as a share of its nominal bandwidth.
  std::array<double, link_kind_count> efficiency{1, 1, 1, 1};

  /// What replaces `protocols` for thread blocks whose slowest link is of a kind: rounds through
  /// host memory take longer, say. Setup, alphas, wire factor and granule are as in `protocols`.
  std::array<std::array<std::optional<ProtocolConstants>, link_kind_count>, protocol_count> over{};

  /// The costs of thread blocks that work with NVLink alone.
  ProtocolConstants of(Protocol protocol) const { return of(protocol, LinkKind::nvlink); }
  /// The costs of thread blocks whose slowest link is of a kind. Links through the CPU that state
  /// nothing cost as PCIe.
  ProtocolConstants of(Protocol protocol, LinkKind slowest) const;
  /// Once per call, before the first slice moves: launch and setup. Warps are a thread block's, of
  /// which a GPU runs one for each channel.
  Seconds startup(Protocol protocol, Collective collective, std::uint32_t channels,
                  std::uint32_t warps) const;
  /// The time in which the CPU issues a call: no call takes less.
  Seconds issue_of(Collective collective, Rank ranks, std::uint32_t channels) const;
  /// How long a receiver's proxy takes to tell the sender's of room for one more slice over links
  /// of such a latency: as long as a message of LL, which is as small. Where the CPU copies, none.
  Seconds notice_of_room(Seconds latency) const;
  /// The costs of sends and receives: theirs in place of the collectives'.
  Calibration of_messages() const;
  /// The costs where every GPU of an NVSwitch sends to several others at once: a message waits
  /// behind others, which wait for their receivers (head-of-line blocking).
  Calibration of_mixed_messages() const;
  /// The costs of calls in a CUDA graph, which no CPU issues one by one.
  Calibration of_graph() const;
  /// The costs of calls in which NVSwitches add up: theirs in place of those between GPUs. Where a
  /// thread block works with slower links, too, its step is the longer of the two.
  Calibration of_nvls() const;
  /// Constants at least as fast as those of any thread block with this protocol: for bounds.
  ProtocolConstants fastest(Protocol protocol) const;
};

}  // namespace collsim
