#include "sim/execution/steady_state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "sim/base/division.h"
#include "sim/execution/worker.h"

namespace collsim {

/// Periods are even when `windows` windows of so many take the same time, give or take `tolerance`,
/// on average over all channels. Few are enough where periods repeat to the digit.
struct SteadyCriterion {
  std::size_t periods;
  std::size_t windows;
  double tolerance;
  constexpr std::size_t all() const { return periods * windows; }
};
namespace {

/// Slots of a FIFO come round every eight periods: loops repeat to the digit only if four such
/// turns do.
constexpr std::size_t turn = 8;
constexpr SteadyCriterion repeated_loops{turn, 4, 1e-7};
constexpr std::array criteria_of_steps{SteadyCriterion{2, 4, 1e-8}, SteadyCriterion{8, 3, 1e-3}};
/// So many loops that repeat to the digit are enough, though FIFOs still fill.
constexpr std::size_t surely_repeated = repeated_loops.all();

/// Where loops do not repeat (trees whose lanes and channels fall in and out of step), the more
/// they differ the more it takes to know their mean. Of so many, the last half is cut into six
/// windows: where these are within 5e-3, the mean is known to about 8e-4 (their deviation over the
/// root of six).
SteadyCriterion criterion_of_loops(std::size_t periods) {
  constexpr std::size_t parts = 12;
  return {periods / parts / turn * turn, 6, 5e-3};
}

/// Of loops that differ by chance some look even if one looks often: that is done after 96 loops,
/// 128, 192, 256, 384 and so on.
bool is_time_to_look(std::size_t periods) {
  constexpr std::size_t least = 96;
  return periods >= least &&
         (std::has_single_bit(periods) || (periods % 3 == 0 && std::has_single_bit(periods / 3)));
}

/// Periods before the first that counts.
constexpr std::size_t start = 1;
/// Periods that are simulated at the end.
constexpr std::uint32_t tail = 4;
/// Fewer are not worth a jump.
constexpr std::uint32_t min_skipped = 4;
/// No period has fewer steps.
constexpr std::uint32_t min_steps_of_period = 8;
/// Shorter ones are not worth cutting.
constexpr std::uint32_t shortest_uniform_run = 128;

/// What a period takes, by a line through the ends of periods: that is less disturbed by the last
/// ones than their difference.
double slope(std::span<const double> ends) {
  const auto count = static_cast<double>(ends.size());
  double sum = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    sum += (static_cast<double>(i) - (count - 1) / 2) * (ends[i] - ends.front());
  }
  return sum * 12 / (count * (count * count - 1));
}

/// The ends of the last periods, and the end of the period before them.
std::span<const double> last_periods(std::span<const double> ends, std::size_t periods) {
  return ends.last(periods + 1);
}

/// Steps of a period: over whole nodes, so that hops within and between nodes keep their
/// proportion. As many as a ring has hops for each of the slowest kind.
std::uint32_t steps_of_period(const Execution& execution) {
  const auto& channels = execution.wiring.wires;
  if (channels.empty() || channels.front().empty()) return min_steps_of_period;
  const std::vector<Wire>& wires = channels.front();
  const LinkKind slowest =
      std::max_element(wires.begin(), wires.end(), [](const Wire& one, const Wire& other) {
        return one.kind < other.kind;
      })->kind;
  const auto slow = std::count_if(wires.begin(), wires.end(),
                                  [&](const Wire& wire) { return wire.kind == slowest; });
  const auto hops = static_cast<std::uint32_t>(wires.size());
  return std::max(min_steps_of_period, divide_up(hops, static_cast<std::uint32_t>(slow)));
}

bool changes_later(const Execution& execution) {
  if (execution.events == nullptr) return false;
  const auto& changes = execution.events->changes;
  return std::any_of(changes.begin(), changes.end(),
                     [&](const MachineChange& change) { return change.at > execution.startup(); });
}

}  // namespace

SteadyLength steady_length(const Execution& execution) {
  const auto periods = [](const SteadyCriterion& evenly) {
    return static_cast<std::uint32_t>(start + evenly.all()) + tail;
  };
  return {periods(repeated_loops), steps_of_period(execution) * periods(criteria_of_steps[0])};
}

SteadyState::SteadyState(const Execution& execution, const CallLayout& call)
    : execution_(execution), steps_(steps_of_period(execution)) {
  if (!execution.steady || changes_later(execution) || !execution.wiring.bursts.empty()) return;
  channels_.resize(execution.partition.channels());
  std::uint32_t max_loops = 0;
  for (const Worker& worker : call.workers) {
    Channel& channel = channels_[worker.channel];
    channel.round = channel.loops = worker.loops;
    ++channel.workers;
    max_loops = std::max(max_loops, worker.loops);
    fades_ = fades_ || (worker.contends && contends_for_links(worker.cost()));
  }
  laps_.resize(call.workers.size());
  if (max_loops > steady_length(execution).loops + min_skipped) {
    period_ = Period::loop;
  } else {
    find_uniform_runs(call);
  }
  for (Channel& channel : channels_) {
    const std::uint64_t rounds =
        period_ == Period::loop ? 1 : std::uint64_t{channel.loops} * stretches_.size();
    channel.laps_of_call = channel.round * rounds;
    channel.all_laps = channel.laps_of_call * execution.calls;
  }
}

/// Periods are steps where all programs have the same uniform runs, and all chunks are alike: a
/// worker that skips steps goes on with other chunks.
void SteadyState::find_uniform_runs(const CallLayout& call) {
  const DataPartition& partition = execution_.partition;
  for (const Worker& worker : call.workers) {
    const std::uint32_t chunks = worker.schedule->chunks();
    for (std::uint32_t loop = 0; loop < worker.loops; ++loop) {
      const Bytes first = partition.chunk_bytes(worker.channel, loop, {0, 1});
      const Bytes last = partition.chunk_bytes(worker.channel, loop, {chunks - 1, 1});
      if (first != last && worker.cost().flags_lines()) return;
    }
    std::vector<UniformRun> own;
    std::uint32_t begin = 0;
    for_each_uniform_run(worker.program, [&](const Primitive&, std::uint32_t length) {
      if (length >= shortest_uniform_run) own.push_back({begin, length / steps_});
      begin += length;
    });
    if (&worker == call.workers.data()) stretches_ = own;
    if (own.empty() || own != stretches_ || own.front().periods != own.back().periods) return;
  }
  for (Channel& channel : channels_) {
    if (channel.round > 0) channel.round = stretches_.front().periods;
  }
  period_ = Period::steps;
}

bool SteadyState::ends_lap(const Worker& worker, std::uint32_t primitive) const {
  if (period_ == Period::loop) return worker.primitive == 0;
  return std::any_of(stretches_.begin(), stretches_.end(), [&](const UniformRun& stretch) {
    const std::uint32_t done = primitive + 1 - stretch.begin;
    return primitive >= stretch.begin && done % steps_ == 0 && done / steps_ <= stretch.periods;
  });
}

void SteadyState::end_primitive(CallLayout& call, WorkerId worker, std::uint32_t primitive,
                                Seconds now) {
  if (period_ == Period::none || !ends_lap(call.workers[worker], primitive)) return;
  Channel& channel = channels_[call.workers[worker].channel];
  const std::size_t ahead = laps_[worker]++ - channel.periods;
  if (channel.more.size() <= ahead) channel.more.push_back(0);
  ++channel.more[ahead];
  if (channel.more.front() < channel.workers) return;
  count_lap(channel, now.value);
  const std::size_t even = even_laps(channel);
  if (even == 0) return;
  const std::vector<double> periods = periods_of_channels(even);
  const double seconds = time_for_all(even, periods);
  if (seconds > 0) jump(call, seconds, even, periods);
}

/// Of the same round: steps of the next stretch may take another time.
void SteadyState::Channel::note_after() {
  if (before > 0 && after == 0 && ends.size() >= 3) after = slope(ends);
}

/// The last worker of the channel has ended a period. Periods at the beginning are not like others,
/// nor are those when the first workers are done.
void SteadyState::count_lap(Channel& channel, double now) {
  channel.more.pop_front();
  ++channel.periods;
  const std::uint64_t period = channel.periods % channel.round;
  if (period == 0) {
    channel.note_after();
    channel.ends.assign(1, now);
    channel.leads.clear();
    return;
  }
  if (channel.max_periods() >= channel.round_end()) {
    for (Channel& other : channels_) other.note_after();  // what follows has more of the links
    return;
  }
  channel.ends.push_back(now);
  channel.leads.push_back(static_cast<double>(channel.more.size()));
}

/// Periods that all workers of a channel can skip: before the data change their sizes, and before
/// the end.
std::uint32_t SteadyState::laps_left(std::size_t number, std::size_t even) const {
  const Channel& channel = channels_[number];
  const auto now = static_cast<std::uint32_t>(channel.periods % channel.round);
  const auto most = now + static_cast<std::uint32_t>(channel.more.size());
  const std::uint32_t last = (fades_ ? static_cast<std::uint32_t>(even) : 0) + tail;
  std::uint32_t end = channel.round - std::min(channel.round, last);
  if (period_ == Period::loop) {
    const auto alike = execution_.partition.alike_until(static_cast<std::uint32_t>(number), now);
    end = std::min(end, alike);
  }
  return end > most ? end - most : 0;
}

/// Whether FIFOs have filled: while the first workers run away from the last ones, a tree's periods
/// get slower. The first are faster than the last by what their lead grows in each period. When
/// FIFOs are full, all are between the two: a fortieth is the most that a mean may change by then.
/// In most such calls the end comes before. Not so a ring's steps, where whoever is ahead keeps
/// nobody waiting, nor periods that repeat to the digit, all of which wait for one slow port.
bool SteadyState::are_settled(std::size_t even) const {
  if (period_ == Period::steps || even == surely_repeated) return true;
  constexpr double tolerance = 1.0 / 40;
  double growth = 0;
  double channels = 0;
  for (const Channel& channel : channels_) {
    if (is_idle(channel)) continue;
    growth += slope(std::span<const double>(channel.leads).last(even));
    ++channels;
  }
  return std::abs(growth) <= tolerance * channels;
}

/// Whether the channel does nothing until another one's round is over: all of its workers have
/// ended a call in whose midst all of the other's are. A rank launches its next call when all of
/// its channels have ended the last.
bool SteadyState::is_idle(const Channel& channel) const {
  if (channel.is_done()) return true;
  const bool ends_round = channel.periods > 0 && channel.periods % channel.round == 0;
  if (period_ != Period::loop || !ends_round || !channel.more.empty()) return false;
  const std::uint64_t calls = channel.periods / channel.round;
  return std::any_of(channels_.begin(), channels_.end(), [&](const Channel& other) {
    return other.round > 0 && other.periods % other.round > 0 &&
           other.periods / other.round + 1 == calls;
  });
}

/// How many periods all working channels have to show for themselves.
std::size_t SteadyState::known_periods() const {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const Channel& channel : channels_) {
    if (!is_idle(channel)) least = std::min(least, channel.ends.size());
  }
  return least - std::min(least, start + 1);
}

/// The periods over which those of all working channels are even; 0: they are not.
std::size_t SteadyState::even_laps(const Channel& last) const {
  const std::size_t known = known_periods();
  if (period_ == Period::steps) {
    for (const SteadyCriterion& evenly : criteria_of_steps) {
      if (are_even(evenly, known)) return evenly.all();
    }
    return 0;
  }
  if (are_even(repeated_loops, known)) return repeated_loops.all();
  const bool is_last = last.ends.size() == known + start + 1;
  if (!is_last || !is_time_to_look(known)) return 0;
  const SteadyCriterion evenly = criterion_of_loops(known);
  return are_even(evenly, known) ? evenly.all() : 0;
}

bool SteadyState::are_even(const SteadyCriterion& evenly, std::size_t known) const {
  if (known < evenly.all()) return false;
  std::vector<double> times(evenly.windows);  // of a period of each window, over that of all
  for (const Channel& channel : channels_) {
    if (is_idle(channel)) continue;
    const std::span<const double> ends(channel.ends);
    const double all = slope(last_periods(ends, evenly.all()));
    for (std::size_t i = 0; i < evenly.windows; ++i) {
      const std::size_t later = (evenly.windows - 1 - i) * evenly.periods;
      const auto window = ends.first(ends.size() - later);
      times[i] += slope(last_periods(window, evenly.periods)) / all;
    }
  }
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return *most - *least <= evenly.tolerance * *most;
}

/// Whether all channels work, and their periods take about the same time. Where one waits for a
/// slow link that it shares with others, it is not known how it goes on when they end: there, only
/// periods that repeat to the digit are skipped, while all go on.
bool SteadyState::are_alike(std::size_t even) const {
  constexpr double tolerance = 0.2;
  double shortest = std::numeric_limits<double>::infinity();
  double longest = 0;
  for (const Channel& channel : channels_) {
    if (channel.round == 0) continue;
    if (is_idle(channel)) return false;
    const double period = slope(last_periods(channel.ends, even));
    shortest = std::min(shortest, period);
    longest = std::max(longest, period);
  }
  return longest <= (1 + tolerance) * shortest;
}

/// What a period of each channel takes from now on; 0 of idle ones. Where periods do not repeat,
/// such small differences between the means of channels are chance: none gets further ahead of
/// another by a jump than it did while they were measured. At its own mean it would be done long
/// before the others, and leave them its part of the links.
std::vector<double> SteadyState::periods_of_channels(std::size_t even) const {
  constexpr double tolerance = 0.05;
  std::vector<double> periods(channels_.size());
  double sum = 0;
  double left = 0;
  double working = 0;
  for (std::size_t number = 0; number < channels_.size(); ++number) {
    if (is_idle(channels_[number])) continue;
    periods[number] = slope(last_periods(channels_[number].ends, even));
    sum += periods[number];
    left += laps_left(number, even);
    ++working;
  }
  const double mean = sum / working;
  const bool differ = std::any_of(periods.begin(), periods.end(), [&](double period) {
    return period > 0 && std::abs(period - mean) > tolerance * mean;
  });
  if (period_ == Period::steps || even == surely_repeated || differ) return periods;
  const double fading = std::min(1.0, static_cast<double>(even) * working / left);
  for (double& period : periods) {
    if (period > 0) period = mean + fading * (period - mean);
  }
  return periods;
}

/// Whether whole periods of every channel make up the time, but for a small part of it.
bool SteadyState::fit_into(double seconds, std::size_t even) const {
  constexpr double tolerance = 1e-4;
  return std::all_of(channels_.begin(), channels_.end(), [&](const Channel& channel) {
    if (is_idle(channel)) return true;
    const double period = slope(last_periods(channel.ends, even));
    return std::abs(std::round(seconds / period) * period - seconds) <= tolerance * seconds;
  });
}

/// How long all channels can go on as they do: a whole number of periods of the channel that will
/// be the last, and some of each; 0 where one of them is not steady.
double SteadyState::time_for_all(std::size_t even, const std::vector<double>& periods) const {
  double least = std::numeric_limits<double>::infinity();
  double longest = 0;  // time that a channel still takes, and what its periods take
  double period_of_last = 0;
  double slowest_period = 0;
  for (std::size_t number = 0; number < channels_.size(); ++number) {
    const Channel& channel = channels_[number];
    if (is_idle(channel)) continue;
    if (!channel.is_together()) return 0;
    const std::uint32_t left = laps_left(number, even);
    if (left < min_skipped) return 0;
    const double period = periods[number];
    least = std::min(least, left * period);
    slowest_period = std::max(slowest_period, period);
    if (left * period <= longest) continue;
    longest = left * period;
    period_of_last = period;
  }
  if (longest == 0 || !are_settled(even)) return 0;
  const double seconds = std::floor(least / period_of_last + 1e-6) * period_of_last;
  if (seconds < min_skipped * slowest_period * (1 - 1e-6)) return 0;
  if (period_ == Period::steps || are_alike(even)) return seconds;
  return even == surely_repeated && fit_into(seconds, even) ? seconds : 0;
}

void SteadyState::jump(CallLayout& call, double seconds, std::size_t even,
                       const std::vector<double>& periods) {
  settle();
  std::vector<std::uint32_t> skipped(channels_.size());
  for (std::size_t number = 0; number < channels_.size(); ++number) {
    Channel& channel = channels_[number];
    if (is_idle(channel)) continue;
    channel.before = periods[number];
    const double fitting = std::round(seconds / channel.before);
    skipped[number] = std::min(static_cast<std::uint32_t>(fitting), laps_left(number, even));
    channel.from = static_cast<double>(channel.periods % channel.laps_of_call);
    channel.periods += skipped[number];
    channel.to = channel.from + skipped[number];
    channel.ends.assign(1, channel.ends.back());
    channel.leads.clear();
  }
  for (std::size_t id = 0; id < call.workers.size(); ++id) {
    Worker& worker = call.workers[id];
    const std::uint32_t laps = skipped[worker.channel];
    laps_[id] += laps;
    if (period_ == Period::loop) {
      worker.loop += laps;
    } else {
      worker.skip(laps * steps_);
    }
  }
  pending_ = seconds;
}

/// A period has taken so many times what it took before the jump, on average over the skipped
/// periods.
Seconds SteadyState::settle() {
  double ratio = 0;
  double channels = 0;
  for (Channel& channel : channels_) {
    if (!fades_ || channel.before == 0) continue;
    channel.note_after();
    if (channel.after == 0) continue;
    const double a = std::sqrt(channel.from);
    const double b = std::sqrt(channel.to);
    ratio += (a * channel.before + b * channel.after) / (a + b) / channel.before;
    ++channels;
  }
  for (Channel& channel : channels_) channel.before = channel.after = 0;
  const double change = channels > 0 ? (ratio / channels - 1) * pending_ : 0;
  settled_ += pending_ + change;
  pending_ = 0;
  return Seconds{change};
}

}  // namespace collsim
