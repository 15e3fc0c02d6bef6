#include "tools/collsim/diagnose/run_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/base/input_error.h"
#include "sim/base/median.h"
#include "sim/base/words.h"

namespace collsim {

namespace {

/// So many standard deviations hold 19 of 20 values of a normal distribution.
constexpr double deviations = 1.96;

/// A call without what may differ between two runs of it.
struct SizeKey {
  RecordedCall call;
  bool in_place = false;
  Bytes size;
  auto operator<=>(const SizeKey&) const = default;
};

SizeKey key_of(const RecordedRow& row) {
  SizeKey key{call_of(row), row.in_place, row.size};
  key.call.variables.clear();
  return key;
}

/// Sums of logarithms of times.
struct Times {
  double sum = 0;
  double rows = 0;
  Seconds mean() const { return {std::exp(sum / rows)}; }
};

using TimesBySize = std::map<SizeKey, Times>;

TimesBySize times_of(const Recording& recording) {
  TimesBySize times;
  for (const RecordedRow& row : recording.rows) {
    if (!row.collective || row.ranks == 0 || row.time.value <= 0) continue;
    Times& of_size = times[key_of(row)];
    of_size.sum += std::log(row.time.value);
    ++of_size.rows;
  }
  return times;
}

Change change_of(double log_ratio, double limit) {
  if (std::abs(log_ratio) <= limit) return Change::same;
  return log_ratio > 0 ? Change::slower : Change::faster;
}

/// Of two times, each with the noise of its size.
double limit_of(Bytes size, double threshold, const Spread& spread) {
  return std::max(std::log1p(threshold), deviations * std::sqrt(2.0) * spread.noise(size));
}

std::vector<ChangedBand> bands_of(const std::vector<ChangedSize>& sizes) {
  std::map<std::pair<RecordedCall, bool>, std::vector<const ChangedSize*>> bands;
  for (const ChangedSize& size : sizes) {
    bands[{size.call, size.size >= bandwidth_bound}].push_back(&size);
  }
  std::vector<ChangedBand> changed;
  for (const auto& [key, members] : bands) {
    std::vector<double> ratios;
    std::vector<double> limits;
    for (const ChangedSize* member : members) {
      ratios.push_back(std::log(member->ratio()));
      limits.push_back(member->limit);
    }
    ChangedBand band{key.first, key.second, members.size()};
    const double middle = median(std::move(ratios));
    band.ratio = std::exp(middle);
    band.change = change_of(-middle, median(std::move(limits)));
    changed.push_back(std::move(band));
  }
  return changed;
}

using Settings = std::map<std::string, std::set<std::string>>;

/// All values that each setting has in a recording, beside what is known of its machine.
Settings settings_of(const Recording& recording) {
  Settings settings;
  for (const char* const fact : {"gpu", "gpus", "nccl", "cuda", "driver"}) {
    const auto found = recording.machine.find(fact);
    if (found != recording.machine.end()) settings[fact].insert(found->second);
  }
  for (const RecordedRow& row : recording.rows) {
    for (const auto& [name, value] : row.variables) settings[name].insert(value);
  }
  return settings;
}

std::string values_in(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "not set" : fmt::format("{}", fmt::join(found->second, ", "));
}

std::vector<std::string> differences(const Settings& before, const Settings& after) {
  std::set<std::string> names;
  for (const auto& [name, values] : before) names.insert(name);
  for (const auto& [name, values] : after) names.insert(name);
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const std::string was = values_in(before, name);
    const std::string is = values_in(after, name);
    if (was != is) found.push_back(fmt::format("{}: {} before, {} after", name, was, is));
  }
  return found;
}

}  // namespace

std::string_view to_string(Change change) {
  return word_for(change,
                  {{Change::same, "same"}, {Change::faster, "faster"}, {Change::slower, "slower"}});
}

bool RunChange::is_slower() const {
  return std::any_of(bands.begin(), bands.end(),
                     [](const ChangedBand& band) { return band.change == Change::slower; });
}

RunChange compare_runs(const Recording& before, const Recording& after, double threshold,
                       const Spread& spread) {
  const TimesBySize old_times = times_of(before);
  const TimesBySize new_times = times_of(after);
  RunChange change;
  for (const auto& [key, times] : old_times) {
    const auto found = new_times.find(key);
    if (found == new_times.end()) {
      ++change.only_before;
      continue;
    }
    ChangedSize size{key.call, key.in_place, key.size, times.mean(), found->second.mean()};
    size.limit = limit_of(key.size, threshold, spread);
    size.change = change_of(std::log(size.after.value / size.before.value), size.limit);
    change.sizes.push_back(std::move(size));
  }
  change.only_after = new_times.size() - change.sizes.size();
  if (change.sizes.empty()) {
    throw InputError(SourcePosition{after.file.string(), 0, 0},
                     fmt::format("no size of a call is in {} as well", before.file.string()),
                     "two logs of the same collective, ranks and sizes");
  }
  change.bands = bands_of(change.sizes);
  change.settings = differences(settings_of(before), settings_of(after));
  return change;
}

}  // namespace collsim
