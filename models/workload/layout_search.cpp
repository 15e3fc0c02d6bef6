#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/workload/training_step.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::array<std::int64_t, 5> micro_batches{1, 2, 4, 8, 16};
constexpr std::array<std::int64_t, 3> zeros{0, 1, 3};

/// Chunks of a pipeline stage that are tried: none but the whole stage, two, four.
constexpr std::array<std::int64_t, 3> interleaves{1, 2, 4};

bool can_be(const TrainingSetup& setup) {
  try {
    check_setup(setup);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// All layouts of so many ranks that can be and fit.
std::vector<TrainingSetup> layouts_of(const LayoutSearch& search, Rank per_node, double memory) {
  std::vector<TrainingSetup> layouts;
  const auto try_one = [&](TrainingSetup setup) {
    if (!can_be(setup) || step_memory(setup).all() > memory) return;
    if (setup.pipeline > 1 && setup.model.layers % (setup.pipeline * setup.interleave) != 0) return;
    if (setup.interleave > 1 && setup.microbatches() % setup.pipeline != 0) return;
    layouts.push_back(std::move(setup));
  };
  for (std::int64_t tensor = 1; tensor <= per_node; tensor *= 2) {
    for (std::int64_t pipeline = 1; pipeline * tensor <= search.ranks; ++pipeline) {
      if (search.ranks % (pipeline * tensor) != 0) continue;
      for (const std::int64_t interleave : interleaves) {
        for (const std::int64_t zero : zeros) {
          for (const std::int64_t micro : micro_batches) {
            for (const Recompute recompute : {Recompute::none, Recompute::full}) {
              TrainingSetup setup = search.setup;
              setup.tensor = tensor;
              setup.pipeline = pipeline;
              setup.data = search.ranks / (pipeline * tensor);
              setup.interleave = interleave;
              setup.zero = zero;
              setup.micro_batch = micro;
              setup.recompute = recompute;
              setup.sequence_parallel = tensor > 1;
              setup.overlap_gradients = true;
              try_one(std::move(setup));
            }
          }
        }
      }
    }
  }
  return layouts;
}

/// A time that no step of the layout beats: its kernels, without any communication or bubble.
double time_of_kernels(const TrainingSetup& setup, const KernelTimes& kernels) {
  const LayerTimes layer = layer_times(kernels, setup.model, layer_share(setup));
  const double again = setup.recompute == Recompute::full ? layer.all.forward.value : 0;
  return static_cast<double>(setup.microbatches()) * static_cast<double>(setup.model.layers) /
         static_cast<double>(setup.pipeline) *
         (layer.all.forward.value + layer.all.backward.value + again);
}

}  // namespace

std::vector<FoundLayout> search_layouts(StepMachine& machine, const LayoutSearch& search,
                                        std::size_t& tried) {
  const double memory = usable_memory * static_cast<double>(machine.kernels().gpu().holds.count);
  std::vector<std::pair<double, TrainingSetup>> layouts;
  for (TrainingSetup& setup : layouts_of(search, machine.per_node(), memory)) {
    // Of a batch that is divided by speed no replica has less than if all were the quickest.
    const double least =
        time_of_kernels(setup, machine.kernels()) / (search.by_speed ? machine.quickest() : 1);
    layouts.emplace_back(least, std::move(setup));
  }
  tried = layouts.size();
  std::stable_sort(layouts.begin(), layouts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<FoundLayout> found;
  for (auto& [least, setup] : layouts) {
    if (found.size() >= search.limit && least > found[search.limit - 1].step.time.value) break;
    StepPrediction step =
        search.by_speed ? machine.predict_by_speed(setup) : machine.predict(setup);
    const auto place = std::upper_bound(
        found.begin(), found.end(), step.time,
        [](Seconds time, const FoundLayout& other) { return time < other.step.time; });
    found.insert(place, {std::move(setup), std::move(step)});
  }
  if (found.size() > search.limit) found.resize(search.limit);
  return found;
}

}  // namespace collsim
