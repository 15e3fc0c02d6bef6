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

/// A value for each thing that a thread block does with data.
template <typename Value>
struct PerTouch {
  Value load{};     ///< reads the rank's own buffer
  Value receive{};  ///< reads what a peer sent
  Value store{};    ///< writes into the rank's own buffer
  Value send{};     ///< writes to a peer
  Value fan{};      ///< goes through code that looks at several peers, a tree's
  Value other{};    ///< stands in line behind another thread block of the GPU
};

/// How often each byte is touched so.
using Touches = PerTouch<double>;

/// Shares of what is touched that have left the GPU's cache: of the rank's own data, and of what it
/// received.
struct Cold {
  double own = 0;
  double received = 0;
};

/// What warps move a round at a time.
struct Rounds {
  std::int64_t bytes = 0;  ///< of data, all together
  std::int64_t most = 0;   ///< what a round moves
  double warps = 1;        ///< that move it: a share of those of the largest thread block
  bool end_slice = false;  ///< whether a slice ends with them
};

/// As much as ProtocolCost::crowding and ProtocolCost::mixing can be.
inline constexpr double max_crowding = 0.5;
inline constexpr double max_mixing = 0.9;

/// What moving data costs a rank beyond its links, for one protocol. The zero-cost default is the
/// textbook's alpha-beta machine: only links limit.
///
/// A thread block takes as long for data as all that it does with them takes, one after the other:
/// what it loads, receives, stores and sends (found on 1 to 8 channels of two ranks, where every
/// collective is another sum of these four; recordings/h200x2/two-ranks.yaml). Simple does each at
/// a rate; a slice is seen by the peer when the thread block has paid its serial cost. LL and LL128
/// flag every line: each warp moves one granule per round, the peer sees at once what it has moved,
/// and the serial cost follows (NCCL src/device/prims_ll.h, prims_ll128.h). What they do is in part
/// the multiprocessor's work, so much for a byte, whichever warps do it, and in part waiting.
struct ProtocolCost {
  /// Once per call, on top of Calibration::launch: what the kernel sets up for this protocol.
  Seconds setup;
  /// And for each warp of the thread block.
  Seconds setup_per_warp;
  /// And for collectives whose primitives may reach into a peer's buffer
  /// (uses_direct_primitives()).
  Seconds direct_setup;
  /// Serial time of the thread block for every slice: barrier, counter, fence.
  Seconds slice;
  /// And for a slice that has data: empty ones need no fence (NCCL src/device/prims_simple.h,
  /// postPeer).
  Seconds fence;
  /// And for one that it sends on as it came.
  Seconds copy_slice;
  /// And for each warp of the lane: the barrier waits for all.
  Seconds slice_per_warp;
  /// And in thread blocks of about half the warps of the largest one, 256 threads for Simple and
  /// 320 for LL128: a step takes longer there than with either more or fewer threads. Why is not
  /// known (recordings/h200x4/small-blocks.yaml).
  Seconds half_block;
  /// Time from the last byte on the wire until the peer sees it, per kind of the slowest link on
  /// the way; on top of the links' own latency.
  std::array<Seconds, link_kind_count> alpha{};
  /// What such a hop takes longer where ranks have several peers at once: the code for trees looks
  /// at three of them.
  Seconds fan;
  /// What the lanes of a tree get done more together than one after the other, since one works
  /// while the other waits: at most as much again. A root, which has one, has nothing of it
  /// (recordings/h200x4/four-ranks.yaml and h200x2/two-ranks.yaml, Tree/Simple on 4 and 8 channels:
  /// a chunk takes middle ranks 39 us and a root 29, 1.34 times as long, and would take 1.5 times).
  double overlap = 0;
  /// What is lost, in a call's first step, on a link that thread blocks can just fill
  /// (crowded_share()); at most max_crowding.
  double crowding = 0;
  /// What is lost where all that a link carries to a GPU is other GPUs', and all that the sender
  /// has on the way is for other GPUs: what waits in a switch for a GPU that several write to keeps
  /// waiting what stands behind it for another; of both shares, the geometric mean. Like what
  /// switches lose whose inputs have one queue (Karol, Hluchyj and Morgan, "Input versus output
  /// queueing on a space-division packet switch", 1987), that soon grows no more with the number
  /// of GPUs: an all_to_all of 256 MiB gets 308 GB/s out of a link of 4 GPUs, and 319 of 8. Links
  /// that lead several GPUs' data to one lose nothing, nor do those that lead one GPU's to
  /// several (recordings/h200x4/ link-patterns.csv: to_one, from_one, all). At most max_mixing.
  double mixing = 0;
  /// Of sends and receives, which have kernels of their own: what takes the place of all setup.
  std::optional<Seconds> message_setup;
  /// What a thread block touches in a second, for protocols that move slices. A lane of it reaches
  /// that too while the others rest, however few warps it has (recordings/h200x4/
  /// forced-2-ranks.yaml, Tree/Simple on one chunk a channel).
  PerTouch<BytesPerSecond> rate{unlimited, unlimited, unlimited, unlimited, unlimited, unlimited};
  /// At which it fetches, before it loads or receives them, bytes that have left the GPU's cache
  /// (Calibration::cache).
  BytesPerSecond fetch = unlimited;
  /// Bytes on the wire per byte of data: LL 2, LL128 128/120, Simple 1.
  double wire_factor = 1;
  /// The same where a proxy carries them: without what links inside a node lose to short stores.
  double proxy_factor = 1;
  /// Data that one warp moves per round, for protocols that flag their lines; else 0.
  Bytes warp_granule{};
  /// What a round takes longer to load the rank's own data, or to receive, where all of that has
  /// left the GPU's cache (Calibration::cache): it waits so much longer, as a thread of LL does
  /// that has but 8 bytes in hand, or, where rounds do not wait, that is work.
  Seconds cold_load;
  Seconds cold_receive;
  /// And to receive through code that looks at several peers, on top: where the FIFOs of trees of
  /// two ranks on 8 channels hold 10, 20 and 39 MB, a round of long calls takes 3.4, 3.7 and 3.8 us
  /// in place of 3.0 (recordings/h200x2/two-ranks-buffers.yaml and two-ranks.yaml, Tree/LL128).
  Seconds cold_fan;
  /// What a round takes for each thing that it does, however few warps have data: it waits.
  PerTouch<Seconds> round;
  /// And what it keeps the multiprocessor busy where all warps of the largest thread block
  /// (full_warps()) have data; where fewer have, be it that there are no more or that so little is
  /// left, so much less. What the lanes of a thread block do so adds up (a leaf with LL128
  /// empties a full FIFO at 18 GB/s once its way up is done, at 13 while it is not:
  /// recordings/h200x2/rank-ends.csv, one channel).
  PerTouch<Seconds> work;
  /// What the first round of a slice takes longer for each: later, some warps work while others
  /// wait (recordings/h200x4/small-blocks.yaml: what 4 KiB more a step take is the work of them).
  /// Own data is on its way while a warp waits for its peers' (NCCL src/device/prims_ll128.h,
  /// recvReduceSendCopy: loads begin before flags are looked at).
  PerTouch<Seconds> first;
  /// What the stores of a slice's last round take of those of another: nobody but the next round
  /// waits for what others do not see (recordings/h200x4/few-channels.yaml, graphs: with LL, a step
  /// of one round of an all_gather takes no longer than one of a reduce_scatter, which stores
  /// nothing; LL128 passes what it stores through shared memory first, which is work).
  double last_store = 1;
  /// How much longer a round's stores take where the parts of ranks that it gathers begin nowhere
  /// near a multiple of warp_granule (misalignment()).
  double misaligned = 0;

  /// At which data move that a thread block touches so.
  BytesPerSecond rate_of(const Touches& touches, const Cold& cold = {}) const;
  /// What a round of all warps of the largest thread block keeps its multiprocessor busy.
  Seconds work_of(const Touches& touches, const Cold& cold = {}) const;
  /// What a round waits, of however many warps.
  Seconds wait_of(const Touches& touches, const Cold& cold = {}) const;
  /// Data that goes on by itself: what so many warps move in a round where they wait in it; else
  /// what each of them does.
  std::int64_t granule_of(std::uint32_t warps) const {
    return (rounds_wait() ? warps : 1) * warp_granule.count;
  }
  /// What the first round of a slice waits for the rank's own data, which were asked for so long
  /// ago, and what else it takes longer.
  Seconds first_load(const Touches& touches, Seconds ready) const;
  Seconds first_rest(const Touches& touches) const;
  /// Time of the rounds of protocols that flag their lines, `first` aside.
  Seconds rounds(const Touches& touches, const Rounds& rounds, const Cold& cold = {}) const;
  bool flags_lines() const { return warp_granule.count > 0; }
  /// Whether warps wait in a round, for what they load and store or for each other.
  bool rounds_wait() const {
    return (round.load + round.receive + round.store + round.send).value > 0;
  }
  /// What a round takes longer since data have left the GPU's cache.
  Seconds fetch_of(const Touches& touches, const Cold& cold) const;
  /// What thread blocks make of a link that those which send over it could fill so many times:
  /// where they can just fill it, some wait for it while it lies idle for others, and `crowding` of
  /// it is lost; far below nobody waits, far above it never lies idle. (1 + min(x, 1/x)^p)^(-1/p),
  /// which is the p-norm of rates and bandwidth put for the lesser of the two (recordings/h200x2/
  /// thread-blocks.csv, recv_reduce_copy_send on 8 to 32 thread blocks).
  /// Those that have done so many steps of a call since they began together are out of step, as
  /// after so many steps by chance: they lose 1 / sqrt(1 + steps) of it. Of what the link could
  /// carry, rings of two with LL128 on 24 channels leave 27 % in what they take longer from 16 to
  /// 32 MiB, then 21, 17, 12, 10, and 6 from 512 MiB to a GiB (recordings/h200.csv, Ring-LL128-2).
  /// Where only such a share of the link is there for them (see `mixing`), they lose what they
  /// could have used of the rest, too: nothing on a link that has that much to spare.
  double crowded_share(double demand, double steps, double of_link = 1) const;
};

/// The CPU threads that carry what thread blocks have put into a buffer over the network, slice
/// after slice, while the thread blocks go on (Proxies). Not used where a machine's network is part
/// of its GPUs' links.
struct ProxyCost {
  bool used = false;
  Seconds send;                     ///< of the sender's thread, per slice
  Seconds receive;                  ///< of the receiver's thread, per slice
  BytesPerSecond copy = unlimited;  ///< at which both copy, on top
  BytesPerSecond rate = unlimited;  ///< of one connection (a TCP stream)
  Bytes socket{};                   ///< what one connection's sockets hold; 0: there are none
};

/// Host memory through which the GPUs of a node reach each other where they have no peer-to-peer:
/// one writes into a buffer there over its PCIe link, the other reads over its own. A byte counts
/// once. Not used where it was not measured: links are then all that limits.
struct MemoryCost {
  bool used = false;
  BytesPerSecond cached = unlimited;  ///< of a node, all its GPUs together, out of the CPU's cache
  BytesPerSecond rate = unlimited;    ///< the same with every buffer out of the cache
  Bytes cache{};                      ///< buffers of a node that stay in the cache
  /// What a GPU's link carries both ways together while thread blocks receive and send on at once.
  BytesPerSecond at_once = unlimited;
  /// The same while they send and receive in turn: ranks keep step, so that now the one way lies
  /// idle, then the other.
  BytesPerSecond in_turn = unlimited;
};

/// As much as each part of Unevenness can be.
inline constexpr double max_unevenness = 0.4;

/// Links do not serve thread blocks evenly, so that channels fall out of step, further and further,
/// and fill each other's gaps. Shares of its time by which a slice takes longer or shorter than
/// others that load the same links, or than its thread block does on average (uneven_time()).
struct Unevenness {
  double slice = 0;    ///< at most, by chance, of every slice
  double channel = 0;  ///< at most, of all slices of a channel
  double most() const { return slice + channel; }
};

/// Everything that a calibration says about a machine.
struct Calibration {
  std::string name = "ideal";  ///< name of the file it came from
  CalibrationTrust trust{};
  std::string over_tcp;  ///< calibration of the same machines when hosts talk TCP; may be empty
  Seconds launch;        ///< once per call
  /// And for each doubling of its thread blocks: the last one to begin, and to end, is what counts
  /// (recordings/h200x4/nvlink.yaml, as many bytes on each of 1 to 16 channels).
  Seconds launch_per_doubling;
  /// What takes the place of `launch` in a CUDA graph; not known: the same.
  std::optional<Seconds> graph_launch;
  Seconds issue;                ///< no call takes less: the CPU's time to issue the next one
  Seconds issue_per_operation;  ///< and for each further send or receive of its group
  std::array<ProtocolCost, protocol_count> protocols{};
  ProxyCost proxy;
  MemoryCost memory;
  Unevenness unevenness;
  /// Of what comes and goes while a call runs, how much a GPU's cache holds (kept_share(),
  /// cached_share()). 0: not known, nothing waits for memory.
  Bytes cache{};
  /// What a link really carries, as a share of its nominal bandwidth.
  std::array<double, link_kind_count> efficiency{1, 1, 1, 1};

  /// What replaces `protocols` for thread blocks whose slowest link is of a kind: rounds through
  /// host memory take longer, say. Setup, alphas, wire factor and granule are as in `protocols`.
  std::array<std::array<std::optional<ProtocolCost>, link_kind_count>, protocol_count> over{};

  const ProtocolCost& of(Protocol protocol) const {
    return protocols[static_cast<std::size_t>(protocol)];
  }
  const ProtocolCost& of(Protocol protocol, LinkKind slowest) const {
    const auto& own = over[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(slowest)];
    return own ? *own : of(protocol);
  }
  /// Once per call, before the first slice moves: launch and setup. Warps are a thread block's, of
  /// which a GPU runs one for each channel.
  Seconds startup(Protocol protocol, Collective collective, std::uint32_t channels,
                  std::uint32_t warps) const;
  /// What no call takes less than.
  Seconds issue_of(Collective collective, Rank ranks) const {
    return issue + (operations(collective, ranks) - 1) * issue_per_operation;
  }
  /// The costs of sends and receives: theirs in place of the collectives'.
  Calibration of_messages() const;
  /// The costs of calls in a CUDA graph, which no CPU issues one by one.
  Calibration of_graph() const;
  /// At least as fast as any thread block: for bounds.
  ProtocolCost fastest(Protocol protocol) const;
};

}  // namespace collsim
