#include <array>
#include <string_view>

#include "tools/recorder/cuda_check.h"
#include "tools/recorder/nccl_call.h"

namespace collsim::recorder {

namespace {

constexpr int root = 0;

int sum_of_factors(int ranks) {
  return ranks * (ranks + 1) / 2;
}

/// Sends and receives of one call, grouped so that they progress together.
template <typename Body>
ncclResult_t grouped(const Body& body) {
  ncclResult_t result = ncclGroupStart();
  if (result == ncclSuccess) result = body();
  const ncclResult_t ended = ncclGroupEnd();
  return result == ncclSuccess ? ended : result;
}

ncclResult_t send_recv(const NcclCall& call, ncclComm_t comm, cudaStream_t stream) {
  const int next = (call.rank + 1) % call.ranks;
  const int previous = (call.rank + call.ranks - 1) % call.ranks;
  return grouped([&] {
    const ncclResult_t sent = ncclSend(call.send, call.part, ncclFloat, next, comm, stream);
    if (sent != ncclSuccess) return sent;
    return ncclRecv(call.receive, call.part, ncclFloat, previous, comm, stream);
  });
}

/// To and from every rank: what all_to_all, gather and scatter have in common.
ncclResult_t exchange(const NcclCall& call, bool sends_to_all, bool receives_from_all,
                      ncclComm_t comm, cudaStream_t stream) {
  return grouped([&] {
    for (int peer = 0; peer < call.ranks; ++peer) {
      const bool sends = sends_to_all || peer == root;
      const bool receives = receives_from_all || peer == root;
      const bool mine_goes = call.measured.collective != "scatter" || call.rank == root;
      const bool comes_here = call.measured.collective != "gather" || call.rank == root;
      const std::size_t peers_part = static_cast<std::size_t>(peer) * call.part;
      ncclResult_t result = ncclSuccess;
      if (sends && mine_goes) {
        const float* from = call.send + (sends_to_all ? peers_part : 0);
        result = ncclSend(from, call.part, ncclFloat, peer, comm, stream);
      }
      if (result == ncclSuccess && receives && comes_here) {
        float* into = call.receive + (receives_from_all ? peers_part : 0);
        result = ncclRecv(into, call.part, ncclFloat, peer, comm, stream);
      }
      if (result != ncclSuccess) return result;
    }
    return ncclSuccess;
  });
}

ncclResult_t enqueue_nccl(const NcclCall& call, ncclComm_t comm, cudaStream_t stream) {
  const std::string_view name = call.measured.collective;
  const auto type = ncclFloat;
  if (name == "all_reduce") {
    return ncclAllReduce(call.send, call.receive, call.part, type, ncclSum, comm, stream);
  }
  if (name == "all_gather") {
    return ncclAllGather(call.send, call.receive, call.part, type, comm, stream);
  }
  if (name == "reduce_scatter") {
    return ncclReduceScatter(call.send, call.receive, call.part, type, ncclSum, comm, stream);
  }
  if (name == "broadcast") {
    return ncclBroadcast(call.send, call.receive, call.part, type, root, comm, stream);
  }
  if (name == "reduce") {
    return ncclReduce(call.send, call.receive, call.part, type, ncclSum, root, comm, stream);
  }
  if (name == "send_recv") return send_recv(call, comm, stream);
  if (name == "all_to_all") return exchange(call, true, true, comm, stream);
  if (name == "gather") return exchange(call, false, true, comm, stream);
  if (name == "scatter") return exchange(call, true, false, comm, stream);
  throw std::runtime_error("no collective " + std::string(name));
}

}  // namespace

bool is_point_to_point(const Case& c) {
  constexpr std::array<std::string_view, 4> names{"send_recv", "all_to_all", "gather", "scatter"};
  for (const std::string_view name : names) {
    if (c.collective == name) return true;
  }
  return false;
}

NcclCall lay_out(const Case& c, int ranks, int rank, float* first, float* second) {
  const std::string_view name = c.collective;
  const std::size_t count = static_cast<std::size_t>(c.bytes) / sizeof(float);
  const std::size_t part = count / static_cast<std::size_t>(ranks);
  const std::size_t mine = static_cast<std::size_t>(rank) * part;
  NcclCall call{c, ranks, rank, c.in_place ? second : first, second, count, count, {}};
  call.expected = {count, count, 0, sum_of_factors(ranks)};
  if (name == "all_gather" || name == "gather") {
    call.send_count = call.part = part;
    call.expected = {count, part, 0, 0};
    if (name == "gather" && rank != root) call.expected.count = 0;
    if (c.in_place) call.send = second + mine;
  } else if (name == "reduce_scatter") {
    call.part = part;
    call.expected = {part, part, mine, sum_of_factors(ranks)};
    if (c.in_place) call.receive = second + mine;
  } else if (name == "broadcast") {
    call.expected.factor = root + 1;
  } else if (name == "reduce") {
    if (rank != root) call.expected.count = 0;
  } else if (name == "send_recv") {
    call.expected.factor = (rank + ranks - 1) % ranks + 1;
  } else if (name == "all_to_all") {
    call.part = part;
    call.expected = {count, part, mine, 0};
  } else if (name == "scatter") {
    call.part = part;
    call.expected = {part, part, mine, root + 1};
    if (c.in_place) call.receive = second + mine;
  }
  return call;
}

void enqueue(const NcclCall& call, ncclComm_t communicator, cudaStream_t stream) {
  if (call.measured.collective == "launch") {
    launch_empty(stream);
  } else {
    check(enqueue_nccl(call, communicator, stream), call.measured.collective.c_str(), communicator);
  }
}

}  // namespace collsim::recorder
