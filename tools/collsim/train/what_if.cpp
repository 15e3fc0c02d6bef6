#include "tools/collsim/train/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/base/input_error.h"
#include "tools/collsim/request/change.h"
#include "tools/collsim/train/step_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::array<std::int64_t, 8> bucket_mebibytes{1, 5, 10, 25, 50, 100, 250, 1024};
constexpr std::int64_t mebibyte = 1 << 20;
/// Buckets whose steps differ by less are taken to be equal.
constexpr double equal_within = 1e-3;
/// What gains less is not worth a line: half of the published steps are off by more than 10 %.
constexpr double min_gain = 0.01;
/// The share of a step from which on communication is much.
constexpr double much_communication = 0.3;
constexpr double in_percent = 100;
constexpr double in_ms = 1e3;

/// Setups that differ from one in one thing, with words for it.
using NamedSetups = std::vector<std::pair<std::string, TrainingSetup>>;

void add_software(const TrainingSetup& setup, NamedSetups& all) {
  const auto add = [&](std::string what, auto&& change) {
    TrainingSetup other = setup;
    change(other);
    all.emplace_back(std::move(what), std::move(other));
  };
  if (!setup.overlap_gradients && setup.data > 1) {
    add("reduce gradients while the backward pass runs",
        [](TrainingSetup& each) { each.overlap_gradients = true; });
  }
  if (setup.tensor > 1 && !setup.sequence_parallel) {
    add("sequence parallelism", [](TrainingSetup& each) { each.sequence_parallel = true; });
  }
  if (setup.sequence_parallel && setup.tensor_overlap != TensorOverlap::all) {
    add("--tp-overlap all (user buffers)",
        [](TrainingSetup& each) { each.tensor_overlap = TensorOverlap::all; });
  }
  for (const std::int64_t zero : {0, 1, 3}) {
    if (zero == setup.zero) continue;
    add(fmt::format("--zero {}", zero), [&](TrainingSetup& each) { each.zero = zero; });
  }
  if (setup.zero == 3 && setup.reshard) {
    add("--no-reshard (parameters stay gathered)",
        [](TrainingSetup& each) { each.reshard = false; });
  }
  add(fmt::format("--micro-batch {}", 2 * setup.micro_batch),
      [](TrainingSetup& each) { each.micro_batch *= 2; });
  if (setup.recompute == Recompute::full) {
    add("--recompute none", [](TrainingSetup& each) { each.recompute = Recompute::none; });
  }
  if (setup.pipeline > 1) {
    add(fmt::format("--interleave {}", 2 * setup.interleave),
        [](TrainingSetup& each) { each.interleave *= 2; });
  }
}

/// Layouts with half and twice as many tensor-parallel ranks or stages, on as many GPUs.
void add_layouts(const TrainingSetup& setup, NamedSetups& all) {
  const auto add = [&](std::int64_t tensor, std::int64_t pipeline) {
    const std::int64_t others = tensor * pipeline * setup.context;
    if (tensor < 1 || pipeline < 1 || setup.ranks() % others != 0) return;
    TrainingSetup other = setup;
    other.tensor = tensor;
    other.pipeline = pipeline;
    other.data = setup.ranks() / others;
    if (tensor == 1) other.sequence_parallel = false;
    if (pipeline == 1) other.interleave = 1;
    all.emplace_back(fmt::format("--tp {} --pp {} (dp {})", tensor, pipeline, other.data),
                     std::move(other));
  };
  if (setup.tensor > 1) {
    add(setup.tensor / 2, setup.pipeline);
    add(setup.tensor / 2, 2 * setup.pipeline);
  }
  if (setup.pipeline > 1) {
    add(setup.tensor, setup.pipeline / 2);
    add(2 * setup.tensor, setup.pipeline / 2);
  }
  add(2 * setup.tensor, setup.pipeline);
  add(setup.tensor, 2 * setup.pipeline);
}

std::optional<StepPrediction> try_setup(const RemedyRequest& request, const TrainingSetup& setup) {
  try {
    StepPrediction step = request.machine.predict(setup, request.straggler);
    if (step.fits) return step;
  } catch (const InputError&) {  // a layout that cannot be
  }
  return std::nullopt;
}

/// The step on a machine with NICs of twice the rate, where that can be.
std::optional<StepPrediction> try_faster_network(const RemedyRequest& request) {
  constexpr double twice = 2;
  try {
    const PlacedMachine placed = machine_with_nics(request.values, request.machine_name, twice);
    MachineCalls calls = calls_of_step(request.values, placed);
    if (placed.topology.node_count() < 2) return std::nullopt;
    StepMachine machine(calls, load_kernel_table());
    return machine.predict(request.setup, request.straggler);
  } catch (const InputError&) {  // a machine whose NICs cannot be changed
    return std::nullopt;
  }
}

}  // namespace

std::vector<BucketTime> try_buckets(StepMachine& machine, const TrainingSetup& setup,
                                    const std::optional<Straggler>& straggler) {
  std::vector<BucketTime> buckets;
  buckets.reserve(bucket_mebibytes.size());
  for (const std::int64_t size : bucket_mebibytes) {
    TrainingSetup other = setup;
    other.bucket = Bytes{size * mebibyte};
    buckets.push_back({other.bucket, machine.predict(other, straggler)});
  }
  return buckets;
}

const BucketTime& quickest(std::span<const BucketTime> buckets) {
  const BucketTime* best = &buckets.front();
  for (const BucketTime& each : buckets) {
    if (each.step.time < best->step.time) best = &each;
  }
  const Seconds equal = (1 + equal_within) * best->step.time;
  for (const BucketTime& each : buckets) {
    if (each.step.time <= equal) best = &each;
  }
  return *best;
}

Table bucket_table(std::span<const BucketTime> buckets) {
  Table table;
  for (const BucketTime& each : buckets) {
    const auto exposed = each.step.exposed.find("dp");
    NewRow add(table);
    add({"bucket", "bucket"}, fmt::format("{} MiB", each.bucket.count / mebibyte));
    add({"step_ms", "step", "(ms)", 1}, in_ms * each.step.time.value);
    add({"exposed_dp_ms", "exposed dp", "(ms)", 1},
        exposed == each.step.exposed.end() ? 0.0 : in_ms * exposed->second.value);
    add({"mark", ""}, each.bucket == quickest(buckets).bucket ? "taken" : "");
  }
  return table;
}

std::vector<Remedy> try_remedies(const RemedyRequest& request) {
  NamedSetups setups;
  add_software(request.setup, setups);
  add_layouts(request.setup, setups);
  std::vector<Remedy> remedies;
  const auto add = [&](std::string what, const std::optional<StepPrediction>& step) {
    if (!step) return;
    const double gain = 1 - step->time.value / request.time.value;
    if (gain >= min_gain) remedies.push_back({std::move(what), step->time, gain});
  };
  for (auto& [what, setup] : setups) add(std::move(what), try_setup(request, setup));
  TrainingSetup buckets = request.setup;
  buckets.bucket = quickest(try_buckets(request.machine, buckets, request.straggler)).bucket;
  add(fmt::format("--bucket {}M", buckets.bucket.count / mebibyte), try_setup(request, buckets));
  add("NICs of twice the rate", try_faster_network(request));
  std::stable_sort(remedies.begin(), remedies.end(),
                   [](const Remedy& a, const Remedy& b) { return a.gain > b.gain; });
  return remedies;
}

double communication_share(const StepPrediction& step) {
  Seconds exposed;
  for (const auto& [name, time] : step.exposed) exposed += time;
  return exposed.value / step.time.value;
}

AnswerSection remedy_section(const StepPrediction& step, std::span<const Remedy> remedies) {
  const double share = communication_share(step);
  AnswerSection section;
  section.apart = true;
  section.notes.emplace_back(
      fmt::format("Communication that nothing hides is {:.1f} % of the step{}.", in_percent * share,
                  share > much_communication ? ", which is much" : ": compute is the larger part"));
  if (remedies.empty()) section.notes.emplace_back("Nothing that was tried gains 1 % or more.");
  Table table;
  for (const Remedy& each : remedies) {
    NewRow add(table);
    add({"remedy", "remedy"}, each.what);
    add({"step_ms", "step", "(ms)", 1}, in_ms * each.time.value);
    add({"gain", "gain", "(%)", 1, in_percent}, each.gain);
  }
  section.tables.push_back(std::move(table));
  return section;
}

std::string straggler_words(const Straggler& straggler, const StepPrediction& with,
                            const StepPrediction& without) {
  return fmt::format(
      "Rank {} takes {:g} times as long for its kernels: the step takes {:.1f} ms more ({:+.1f} "
      "%), since all wait for it.",
      straggler.rank, straggler.slower, in_ms * (with.time - without.time).value,
      in_percent * (with.time.value / without.time.value - 1));
}

}  // namespace collsim::command
