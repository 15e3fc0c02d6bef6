#include "tools/collsim/train/pipeline_order.h"

#include <algorithm>

namespace collsim {

std::vector<PipelinePass> passes_of(const TrainingSetup& setup, std::int64_t microbatches,
                                    std::int64_t stage) {
  const std::int64_t stages = setup.pipeline;
  const std::int64_t chunks = setup.interleave;
  std::vector<PipelinePass> forward;
  std::vector<PipelinePass> backward;
  for (std::int64_t first = 0; first < microbatches; first += stages) {
    const std::int64_t end = std::min(microbatches, first + stages);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::int64_t i = first; i < end; ++i) {
        forward.push_back({i, chunk, false});
        backward.push_back({i, chunks - 1 - chunk, true});
      }
    }
  }
  const auto all = std::ssize(forward);
  std::int64_t ahead = all;
  if (setup.order == PipelineOrder::one_forward_one_backward) {
    ahead = chunks > 1 ? 2 * (stages - stage - 1) + (chunks - 1) * stages : stages - stage - 1;
    ahead = std::min<std::int64_t>(ahead, all);
  }
  std::vector<PipelinePass> order(forward.begin(), forward.begin() + ahead);
  for (std::int64_t i = ahead; i < all; ++i) {
    order.push_back(forward[static_cast<std::size_t>(i)]);
    order.push_back(backward[static_cast<std::size_t>(i - ahead)]);
  }
  order.insert(order.end(), backward.end() - ahead, backward.end());
  return order;
}

}  // namespace collsim
