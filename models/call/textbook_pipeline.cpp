#include "models/call/textbook_pipeline.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "models/nccl/choice.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

struct Pieces {
  std::int64_t step = 0;           // of a connection's buffer, in bytes of data
  std::int64_t channel_share = 0;  // threads of a block times what each should have
};

Pieces pieces_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return {32 << 10, 512L * 8};
    case Protocol::ll128:
      return {576'000, 640L * 8};
    case Protocol::simple:
      break;
  }
  return {512 << 10, 512L * 64};
}

bool goes_round(Collective collective, std::string_view algorithm) {
  const bool everywhere = collective == Collective::all_reduce ||
                          collective == Collective::all_gather ||
                          collective == Collective::reduce_scatter;
  return everywhere && algorithm == "ring";
}

}  // namespace

std::uint32_t nccls_channels(const Topology& topology, std::span<const DeviceId> gpus) {
  std::map<std::int32_t, std::uint32_t> of_node;
  for (const DeviceId gpu : gpus) ++of_node[topology.node_of(gpu)];
  std::uint32_t most = 0;
  for (const auto& [node, count] : of_node) most = std::max(most, count);
  if (of_node.size() * most < 2) return 1;
  Nccl::LocalGpus places(most);
  std::iota(places.begin(), places.end(), 0U);
  try {
    const Nccl nccl(topology, {}, default_nccl_version, static_cast<std::uint32_t>(of_node.size()),
                    places);
    return nccl.channel_count();
  } catch (const InputError&) {
    return 1;
  }
}

Chunking nccls_chunking(Collective collective, std::string_view algorithm, Protocol protocol) {
  const Pieces pieces = pieces_of(protocol);
  Chunking chunking;
  chunking.largest_chunk = {pieces.step};
  chunking.smallest_channel_share = {pieces.channel_share};
  if (protocol == Protocol::simple && goes_round(collective, algorithm)) {
    chunking.largest_chunk = {4 * pieces.step};
    chunking.slices = 2;
    chunking.smallest_slice = {32 << 10};
    chunking.credits = 4;
  }
  return chunking;
}

}  // namespace collsim
