#include "models/faults/long_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/base/parallel.h"
#include "sim/execution/worker.h"
#include "sim/fabric/native_fabric.h"

namespace collsim {

namespace {

/// What the period's own drift may change of the whole call's time.
constexpr double tolerance = 1e-2;
/// Runs shorter than this are not worth cutting.
constexpr std::uint32_t shortest_run = 128;
/// What the first few probes keep of a run.
constexpr std::uint32_t handy_run = 64;

/// Messages of one loop, and those in runs of `run` primitives.
struct Sends {
  std::uint64_t all = 0;
  std::uint64_t in_runs = 0;
};

Sends sends_of(const Schedule& schedule, std::uint32_t run) {
  Sends found;
  for_each_program(schedule, [&](Rank, std::uint32_t, const Program& program) {
    for_each_stretch(program, [&](const Primitive& first, std::uint32_t length) {
      if (!sends(first.kind)) return;
      const std::uint64_t messages = length * schedule.peers(first.send_group).size();
      found.all += messages;
      if (length == run) found.in_runs += messages;
    });
  });
  return found;
}

/// The length of the long runs, where all long runs are as long; else 0.
std::uint32_t length_of_runs(const Plan& plan) {
  std::uint32_t longest = 0;
  bool uniform = true;
  for (const Schedule& schedule : plan.schedules) {
    for_each_program(schedule, [&](Rank, std::uint32_t, const Program& program) {
      for_each_stretch(program, [&](const Primitive&, std::uint32_t length) {
        if (length < shortest_run) return;
        if (longest == 0) longest = length;
        uniform = uniform && length == longest;
      });
    });
  }
  return uniform ? longest : 0;
}

/// With `keep` primitives of every run of `run`.
Plan with_short_runs(const Plan& plan, std::uint32_t run, std::uint32_t keep) {
  Plan shorter;
  shorter.collective = plan.collective;
  shorter.algorithm = plan.algorithm;
  shorter.root = plan.root;
  shorter.channels_divide_chunks = plan.channels_divide_chunks;
  shorter.several_peers = plan.several_peers;
  shorter.min_credits = plan.min_credits;
  shorter.schedule_of_channel = plan.schedule_of_channel;
  for (const Schedule& schedule : plan.schedules) {
    shorter.schedules.push_back(schedule.with_short_stretches(run, keep));
  }
  return shorter;
}

/// Whether every connection of the schedule has as many sends as receives in runs of that length.
bool cuts_evenly(const Schedule& schedule, std::uint32_t run) {
  std::vector<std::int64_t> balance(schedule.connections().size());
  for_each_program(schedule, [&](Rank, std::uint32_t, const Program& program) {
    for_each_stretch(program, [&](const Primitive& first, std::uint32_t length) {
      if (length != run) return;
      for (const ConnectionId id : schedule.peers(first.send_group)) ++balance[id];
      for (const ConnectionId id : schedule.peers(first.receive_group)) --balance[id];
    });
  });
  return std::all_of(balance.begin(), balance.end(), [](std::int64_t left) { return left == 0; });
}

/// Whether all chunks of a channel's first loop are as large.
bool has_even_chunks(const Plan& plan, const Binding& binding, std::uint32_t channel) {
  const Bytes first = binding.chunk_bytes(channel, 0, {0, 1});
  for (std::uint32_t chunk = 1; chunk < plan.schedule(channel).chunks(); ++chunk) {
    if (binding.chunk_bytes(channel, 0, {chunk, 1}) != first) return false;
  }
  return true;
}

/// Pieces in which the slices of a call go: those of most loops.
std::uint64_t pieces_of(const Execution& call) {
  const ProtocolCost& cost = call.cost.of(call.protocol);
  const std::int64_t round = call.warps * cost.warp_granule.count;
  if (round == 0 || call.binding.channels() == 0) return 1;
  constexpr std::uint32_t many_loops = 64;
  const bool amid = call.binding.loops(0) > many_loops;
  const Bytes slice = call.binding.slice_bytes(call.binding.chunk_bytes(0, 0, {0, 1}), 0);
  if (slice.count == 0) return 1;
  const std::int64_t granule = cost.granule_of(call.warps);
  const std::int64_t piece = bytes_of_pieces(slice.count, round, granule, amid);
  return static_cast<std::uint64_t>((slice.count + piece - 1) / piece);
}

}  // namespace

LongCall::LongCall(const Execution& whole) : whole_(whole) {
  std::vector<std::uint64_t> sent;  // by schedule
  for (const Schedule& schedule : whole.plan.schedules) sent.push_back(sends_of(schedule, 0).all);
  for (std::uint32_t channel = 0; channel < whole.binding.channels(); ++channel) {
    transfers_ += sent[whole.plan.schedule_of_channel[channel]] * whole.binding.loops(channel);
  }
  messages_per_send_ = pieces_of(whole) * whole.binding.chunking().slices * whole.calls;
  transfers_ *= messages_per_send_;
  if (whole.plan.channels_divide_chunks) return;
  find_loops();
  if (effort() == transfers_) find_steps();
}

void LongCall::find_loops() {
  for (std::uint32_t channel = 0; channel < whole_.binding.channels(); ++channel) {
    count_ = std::max(count_, whole_.binding.loops(channel));
  }
  if (count_ == 0) return;
  repeats_ = Repeats::loops;
  per_repeat_ = transfers_ / count_;
}

void LongCall::find_steps() {
  repeats_ = Repeats::nothing;
  const std::uint32_t run = length_of_runs(whole_.plan);
  if (run == 0) return;
  const bool flags_lines = whole_.cost.of(whole_.protocol).flags_lines();
  std::uint64_t in_runs = 0;
  for (std::uint32_t channel = 0; channel < whole_.binding.channels(); ++channel) {
    if (whole_.binding.loops(channel) == 0) continue;
    // Where lines are flagged, what is sent and what is waited for are bytes.
    if (flags_lines && !has_even_chunks(whole_.plan, whole_.binding, channel)) return;
    in_runs += whole_.binding.loops(channel) * sends_of(whole_.plan.schedule(channel), run).in_runs;
  }
  for (const Schedule& schedule : whole_.plan.schedules) {
    if (!cuts_evenly(schedule, run)) return;
  }
  repeats_ = Repeats::steps;
  count_ = run;
  handy_.kept = std::min(handy_run, run);
  handy_.plan = with_short_runs(whole_.plan, run, handy_.kept);
  per_repeat_ = in_runs / run * messages_per_send_;
}

LongCall::Probe LongCall::first_probe() const {
  // While a long stream fills and drains, the executor cuts it more finely than in between.
  constexpr Probe in_pieces{48, 8};
  constexpr Probe whole{8, 4};
  // Steps over whole nodes of up to eight GPUs, so that hops within and between nodes keep their
  // proportion.
  constexpr Probe of_steps{16, 8};
  if (repeats_ == Repeats::steps) return of_steps;
  return whole_.cost.of(whole_.protocol).flags_lines() ? in_pieces : whole;
}

std::uint64_t LongCall::effort_of(Probe probe) const {
  const std::uint32_t last = probe.base + 2 * probe.more;
  if (repeats_ == Repeats::nothing || last >= count_) return transfers_;
  const std::uint64_t once = transfers_ - per_repeat_ * count_;  // what does not repeat
  return std::min(transfers_, 3 * (once + per_repeat_ * (probe.base + probe.more)));
}

std::uint64_t LongCall::effort() const {
  return effort_of(first_probe());
}

std::optional<CallTime> LongCall::time(const Disturbance& disturbance, std::uint64_t most,
                                       std::uint32_t threads) const {
  std::uint64_t messages = 0;
  for (Probe probe = first_probe();; probe = {2 * probe.base, 2 * probe.more}) {
    messages += effort_of(probe);
    if (messages > most) return std::nullopt;
    if (effort_of(probe) == transfers_) {
      return CallTime{time_of_whole(disturbance), true, messages};
    }
    std::array<Seconds, 3> times;
    for_each_in_parallel(times.size(), threads, [&](std::size_t i) {
      times[i] = time_of(disturbance, probe.base + static_cast<std::uint32_t>(2 - i) * probe.more);
    });
    const auto [late, amid, early] = times;
    const double further = static_cast<double>(count_ - probe.base - 2 * probe.more) / probe.more;
    const Seconds time = late + further * (late - amid);
    const double drift = std::abs(((late - amid) - (amid - early)).value);
    if (further * drift <= tolerance * time.value) return CallTime{time, false, messages};
  }
}

Seconds LongCall::time_of_whole(const Disturbance& disturbance) const {
  Execution execution = whole_;
  execution.disturbance = &disturbance;
  NativeFabric fabric;
  return execute(execution, fabric).time;
}

Seconds LongCall::time_of(const Disturbance& disturbance, std::uint32_t repeats) const {
  NativeFabric fabric;
  if (repeats_ == Repeats::loops) {
    const Binding shorter = whole_.binding.without_loops(count_ - repeats);
    return execute({whole_.plan, shorter, whole_.wiring, whole_.cost, whole_.protocol, whole_.warps,
                    whole_.calls, &disturbance},
                   fabric)
        .time;
  }
  const bool handy = repeats <= handy_.kept;
  const Plan shorter = handy ? with_short_runs(handy_.plan, handy_.kept, repeats)
                             : with_short_runs(whole_.plan, count_, repeats);
  return execute({shorter, whole_.binding, whole_.wiring, whole_.cost, whole_.protocol,
                  whole_.warps, whole_.calls, &disturbance},
                 fabric)
      .time;
}

}  // namespace collsim
