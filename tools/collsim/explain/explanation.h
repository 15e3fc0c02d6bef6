#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/bounds/critical_path.h"
#include "models/call/prediction.h"

namespace collsim {

/// A pair that NCCL could have run for a call.
struct CandidateTime {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  LaunchSize launch;
  std::optional<Seconds> nccl_estimate;  ///< none: NCCL does not consider it
  std::optional<Seconds> simulated;      ///< none: it has no plan
  std::string why_not;                   ///< why it is not considered or not simulated
  bool chosen = false;
};

/// How a call is cut.
struct CallShape {
  std::uint32_t channels = 1;  ///< that carry data
  std::uint32_t threads = 0;   ///< of a thread block; 0 where the schedule does not say
  Bytes chunk;                 ///< the largest that there is
  std::uint32_t slices = 1;    ///< per chunk
  Bytes slice;                 ///< the largest
  std::uint32_t credits = 0;   ///< slices that a sender may be ahead
  std::uint32_t loops = 0;     ///< of the channel that has the most
};

/// What the time of a call went into; the sum is all of it.
struct TimeShares {
  Seconds launch;        ///< once per call
  Seconds latency;       ///< alphas and links' latencies on the critical path
  Seconds serial;        ///< work per slice of the thread blocks on it
  Seconds bandwidth;     ///< of its transfers, what the busiest resource needs in any case
  Seconds rest;          ///< transfers beyond that: filling the pipeline, contention
  Seconds floor_launch;  ///< that the floor of the busiest resource contains: no share of the time
};

/// A run of records on the critical path that one program of one rank, or of a switch that adds up,
/// makes without waiting for another.
struct Station {
  Rank participant = 0;  ///< a rank, or beyond them a switch
  bool is_switch = false;
  std::string name;  ///< "rank 3", "switch 0"
  std::uint32_t channel = 0;
  std::string phase;
  std::uint32_t slices = 0;
  Bytes bytes;    ///< of all of them
  Seconds begin;  ///< after the launch
  Seconds end;
  Cause cause = Cause::begin;  ///< what the first record waited for
};

/// Equally loaded resources of one kind.
struct ResourceUse {
  std::string name;         ///< of the first: a link, a shared resource, a thread block
  std::uint32_t alike = 1;  ///< how many there are
  double bytes = 0;         ///< on the wire, of each
  BytesPerSecond capacity;
  double utilisation = 0;  ///< bytes / capacity / the whole time
};

/// The memory that a communicator of NCCL's takes on each GPU for what arrives by Ring and Tree:
/// every channel has a connection from every rank that is its neighbour in its ring or tree, and
/// that has a buffer for each protocol (NCCL src/transport/p2p.cc). Not counted: what NVLS,
/// CollNet, sends and receives have of their own, send buffers for the network, and the user's.
struct BufferMemory {
  std::uint32_t channels = 0;
  std::uint32_t connections = 0;  ///< of all channels, of the GPU that has most
  PerProtocol<Bytes> buffers{};   ///< of one connection
  Bytes total;
};
/// The memory of a communicator's buffers; nothing where there is none.
std::optional<BufferMemory> buffer_memory(const CallCompiler& compiler);

/// Why one call takes as long as it does.
struct Explanation {
  Prediction prediction;
  std::vector<CandidateTime> candidates;  ///< by NCCL's estimate, then those not considered
  CallShape shape;
  TimeShares shares;
  CriticalPath path;
  std::vector<Station> stations;  ///< first to last
  /// Ranks of the call whose timeline the path and the stations are of, and its part of the bytes:
  /// fewer than were asked for where another call stands for it (Predictor::representative()). Its
  /// ranks have the numbers of the whole.
  Rank timeline_ranks = 0;
  double timeline_part = 1;
  Seconds timeline_time;             ///< what that call takes
  std::vector<ResourceUse> busiest;  ///< the most used first, at most 8 kinds
  std::optional<BufferMemory> memory;
};

/// Simulates one call with all its alternatives, as a Predictor does, and takes it apart: where a
/// small cluster stands for a large one, by the small one's timeline, whose shares are scaled to
/// the time of the whole. Candidates there are only where NCCL chooses: under its rules, for what
/// it tunes.
Explanation explain(const CallCompiler& compiler, Bytes size, Engine engine);

}  // namespace collsim
