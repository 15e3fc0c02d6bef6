#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "tools/collsim/train/training_step.h"

namespace collsim {

namespace {

constexpr std::array<std::int64_t, 5> micro_batches{1, 2, 4, 8, 16};
constexpr std::array<std::int64_t, 3> zeros{0, 1, 3};
constexpr std::array<std::int64_t, 5> contexts{1, 2, 4, 8, 16};
constexpr double bytes_of_gigabyte = 1e9;

/// Chunks of a pipeline stage that are tried: none but the whole stage, two, four.
constexpr std::array<std::int64_t, 3> interleaves{1, 2, 4};

/// A time that no step of the layout beats: its kernels, and the bubble until the last stage begins
/// and after it ends, without any communication.
double time_of_kernels(const TrainingSetup& setup, const KernelTimes& kernels) {
  const Seconds works =
      static_cast<double>(setup.microbatches()) * kernels_of_microbatch(setup, kernels);
  const auto others = static_cast<double>(setup.pipeline - 1);
  return (works + others * min_chunk_time(setup, kernels)).value;
}

/// The batch that replicas divide next to the one that is asked for, on either side.
std::array<std::int64_t, 2> near_batches(const TrainingSetup& setup) {
  const std::int64_t together = setup.micro_batch * setup.data;
  const std::int64_t below = setup.global_batch / together * together;
  return {below, below + together};
}

/// All layouts of so many ranks that can be and fit.
class LayoutLister {
 public:
  LayoutLister(const LayoutSearch& search, std::int64_t ranks, std::int64_t per_node,
               LayoutCounts& counts)
      : search_(search), ranks_(ranks), per_node_(per_node), counts_(counts) {}

  std::vector<TrainingSetup> list();

 private:
  void add_pipelines(TrainingSetup setup);
  void add_experts(TrainingSetup setup);
  void add_software(TrainingSetup setup);
  void add(TrainingSetup setup);
  void look_for_batch(TrainingSetup setup);
  bool interleaves_evenly(const TrainingSetup& setup) const;

  const LayoutSearch& search_;
  std::int64_t ranks_;
  std::int64_t per_node_;
  LayoutCounts& counts_;
  std::vector<TrainingSetup> layouts_;
  bool divides_sequences_ = false;  ///< by context parallelism, where nothing else fits
};

bool LayoutLister::interleaves_evenly(const TrainingSetup& setup) const {
  return setup.interleave == 1 || (setup.model.layers % (setup.pipeline * setup.interleave) == 0 &&
                                   setup.microbatches() % setup.pipeline == 0);
}

/// Of a layout that the batch alone keeps from running: with which one it would.
void LayoutLister::look_for_batch(TrainingSetup setup) {
  ++counts_.of_batch;
  const std::int64_t wanted = setup.global_batch;
  for (const std::int64_t batch : near_batches(setup)) {
    setup.global_batch = batch;
    if (batch < 1 || !interleaves_evenly(setup)) continue;
    const bool nearer = batch < wanted ? batch > counts_.smaller_batch
                                       : counts_.larger_batch == 0 || batch < counts_.larger_batch;
    if (!nearer || step_memory(setup).all() > counts_.memory) continue;
    (batch < wanted ? counts_.smaller_batch : counts_.larger_batch) = batch;
  }
}

void LayoutLister::add(TrainingSetup setup) {
  const SetupLimit limit = limit_of(setup);
  if (limit == SetupLimit::batch) return look_for_batch(std::move(setup));
  if (limit != SetupLimit::none || !interleaves_evenly(setup)) return;
  const double bytes = step_memory(setup).all();
  if (bytes <= counts_.memory) {
    layouts_.push_back(std::move(setup));
    return;
  }
  ++counts_.too_large;
  if (counts_.min_memory == 0 || bytes < counts_.min_memory) counts_.min_memory = bytes;
}

void LayoutLister::add_software(TrainingSetup setup) {
  for (const std::int64_t interleave : interleaves) {
    for (const std::int64_t zero : zeros) {
      // In a pipeline ZeRO 3 holds and moves what ZeRO 1 does.
      if (zero == 3 && setup.pipeline > 1) continue;
      for (const std::int64_t micro : micro_batches) {
        // Sequences are divided where not even one of them has a rank for itself.
        if (micro > 1 && setup.context > search_.setup.context) continue;
        for (const Recompute recompute : {Recompute::none, Recompute::full}) {
          setup.interleave = interleave;
          setup.zero = zero;
          setup.micro_batch = micro;
          setup.recompute = recompute;
          add(setup);
        }
      }
    }
  }
}

void LayoutLister::add_experts(TrainingSetup setup) {
  const std::int64_t most = search_.setup.expert > 1 ? 1 : setup.data * setup.context;
  add_software(setup);
  for (std::int64_t expert = 2; expert <= std::min(most, setup.model.experts); ++expert) {
    if (setup.model.experts % expert != 0 || most % expert != 0) continue;
    setup.expert = expert;
    add_software(setup);
  }
}

void LayoutLister::add_pipelines(TrainingSetup setup) {
  const std::int64_t most = std::min(setup.model.layers, ranks_ / setup.tensor);
  for (setup.pipeline = 1; setup.pipeline <= most; ++setup.pipeline) {
    for (const std::int64_t context : contexts) {
      if ((context > 1) != divides_sequences_) continue;
      setup.context = search_.setup.context * context;
      const std::int64_t others = setup.tensor * setup.pipeline * setup.context;
      if (ranks_ % others != 0) continue;
      setup.data = ranks_ / others;
      add_experts(setup);
    }
  }
}

std::vector<TrainingSetup> LayoutLister::list() {
  TrainingSetup setup = search_.setup;
  setup.overlap_gradients = true;
  for (const bool divides : {false, true}) {
    if (divides && (!layouts_.empty() || search_.setup.context > 1)) break;
    divides_sequences_ = divides;
    for (setup.tensor = 1; setup.tensor <= per_node_; setup.tensor *= 2) {
      setup.sequence_parallel = setup.tensor > 1;
      add_pipelines(setup);
    }
  }
  return std::move(layouts_);
}

/// Adds the quickest of the layouts of a machine to those that are found.
void add_layouts_on(const MachineCalls& calls, const KernelTable& table, const LayoutSearch& search,
                    FoundLayouts& all) {
  StepMachine machine(calls, table);
  all.counts.memory = usable_memory * static_cast<double>(machine.kernels().gpu().holds.count);
  std::vector<std::pair<double, TrainingSetup>> layouts;
  // Of a batch that is divided by speed no replica has less than if all were the quickest.
  const double speed = search.by_speed ? machine.quickest() : 1;
  LayoutLister lister(search, machine.gpus(), machine.per_node(), all.counts);
  for (TrainingSetup& setup : lister.list()) {
    const double least = time_of_kernels(setup, machine.kernels()) / speed;
    layouts.emplace_back(least, std::move(setup));
  }
  all.counts.fit += layouts.size();
  std::stable_sort(layouts.begin(), layouts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<FoundLayout>& found = all.layouts;
  for (auto& [least, setup] : layouts) {
    const bool is_full = found.size() >= search.limit;
    const Seconds limit{is_full ? found[search.limit - 1].step.time.value
                                : std::numeric_limits<double>::infinity()};
    if (least > limit.value) break;
    if (is_full && machine.min_step_time(setup).value / speed > limit.value) continue;
    std::optional<StepPrediction> step =
        search.by_speed ? machine.predict_by_speed(setup) : machine.predict_within(limit, setup);
    if (!step) continue;
    const auto place = std::upper_bound(
        found.begin(), found.end(), step->time,
        [](Seconds time, const FoundLayout& other) { return time < other.step.time; });
    found.insert(place, {std::move(setup), std::move(*step), machine.per_node()});
  }
  if (found.size() > search.limit) found.resize(search.limit);
}

}  // namespace

std::string why_none(const LayoutCounts& counts, const TrainingSetup& setup) {
  std::vector<std::string> reasons;
  if (counts.too_large > 0) {
    reasons.push_back(
        fmt::format("of those whose replicas divide a batch of {} the smallest needs "
                    "{:.1f} GB of a GPU, of which {:.1f} can be used",
                    setup.global_batch, counts.min_memory / bytes_of_gigabyte,
                    counts.memory / bytes_of_gigabyte));
  }
  if (counts.of_batch > 0 && counts.too_large == 0) {
    reasons.push_back(
        fmt::format("replicas and microbatches divide no batch of {}", setup.global_batch));
  }
  std::vector<std::string> batches;
  for (const std::int64_t batch : {counts.smaller_batch, counts.larger_batch}) {
    if (batch > 0) batches.push_back(fmt::format("{}", batch));
  }
  if (!batches.empty()) {
    reasons.push_back(fmt::format("a batch of {} would do", fmt::join(batches, " or ")));
  }
  if (reasons.empty()) {
    reasons.push_back(fmt::format("its {} layers and {} heads are too few for as many ranks",
                                  setup.model.layers, setup.model.heads));
  }
  return fmt::format("no layout of '{}' fits: {}", setup.model.name, fmt::join(reasons, "; "));
}

MachineCalls some_of_each_node(MachineCalls calls, Rank per_node) {
  std::map<std::int32_t, Rank> of_node;
  std::erase_if(calls.gpus,
                [&](DeviceId gpu) { return of_node[calls.topology->node_of(gpu)]++ >= per_node; });
  return calls;
}

FoundLayouts search_layouts(const MachineCalls& calls, const KernelTable& table,
                            const LayoutSearch& search) {
  FoundLayouts all;
  add_layouts_on(calls, table, search, all);
  const Rank per_node = gpus_of_node(calls);
  const Rank power = std::bit_floor(per_node);
  if (power < per_node) {
    add_layouts_on(some_of_each_node(calls, power), table, search, all);
  }
  return all;
}

}  // namespace collsim
