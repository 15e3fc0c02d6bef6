// Plants causes on ten machines, diagnoses the logs, and prints which cause was taken for which;
// with --places one slow port, NVLink or GPU in so many places of each of six machines.
// The same seed gives the same cases. Standard error has a line for each case as it ends;
// the log of a single case is written as well. Exit code 1 means that too few causes were found.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/parallel.h"
#include "tests/support/planted_case.h"

namespace collsim::test {
namespace {

/// What is planted.
struct Plan {
  std::size_t cases = 0;
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;
  std::optional<std::size_t> only;  ///< the one case that is run

  [[nodiscard]] std::uint64_t seed_of(std::size_t index) const { return seed * 1'000'003 + index; }
};

/// Says how far it is, as cases end in any order.
class Progress {
 public:
  Progress(std::size_t cases, bool with_log) : cases_{cases}, with_log_{with_log} {}

  void tell(std::size_t index, const std::string& machine, const PlantedCase& planted,
            std::size_t place, const std::string& found, double seconds) {
    const std::lock_guard lock(mutex_);
    ++done_;
    first_ += place == 0 ? 1U : 0U;
    first_two_ += place <= 1 ? 1U : 0U;
    if (with_log_) fmt::print("{}", planted.log.content);
    fmt::print(stderr, "{}/{} first {} two {} | case {} {}: {}: {} -> {} (number {}, {:.1f} s)\n",
               done_, cases_, first_, first_two_, index, machine, planted.cause, planted.text,
               found, place + 1, seconds);
  }

 private:
  std::mutex mutex_;
  std::size_t cases_ = 0;
  bool with_log_ = false;
  std::size_t done_ = 0;
  std::size_t first_ = 0;
  std::size_t first_two_ = 0;
};

/// What became of one case.
struct Result {
  std::string machine;
  PlantedCase planted;
  std::size_t unseen = 0;  ///< cases that were drawn before it, and change less than the spread
  std::size_t place = 0;
  std::string found;      ///< the first cause
  std::size_t group = 0;  ///< causes in the first group
  bool leads = false;     ///< the planted one leads its group
  double seconds = 0;     ///< that the diagnosis took
};

/// Plants until the effect is seen.
Result run_case(const LoadedMachine& machine, const Spread& spread, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Result result;
  result.machine = machine.shape.name;
  for (;;) {
    result.planted = plant(machine, spread, random);
    const auto begin = std::chrono::steady_clock::now();
    const Diagnosis diagnosis = diagnose(result.planted, machine, spread);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (diagnosis.verdict != Verdict::low) {
      ++result.unseen;
      continue;
    }
    result.place = place_of(result.planted, diagnosis);
    const CauseGroup& first = diagnosis.causes.front();
    result.found = describe(first.causes.front().hypothesis, first.causes.front().value);
    result.group = first.causes.size();
    result.leads = first.causes.front().hypothesis.cause == result.planted.cause;
    return result;
  }
}

struct Tally {
  std::size_t cases = 0;
  std::size_t first = 0;
  std::size_t first_two = 0;
  std::size_t leads = 0;
  std::size_t alone = 0;
  std::size_t in_group = 0;

  void add(const Result& result) {
    ++cases;
    first += result.place == 0 ? 1U : 0U;
    first_two += result.place <= 1 ? 1U : 0U;
    leads += result.place == 0 && result.leads ? 1U : 0U;
    alone += result.place == 0 && result.group == 1 ? 1U : 0U;
    in_group += result.group;
  }
};

void print(const std::string& name, const Tally& tally) {
  const auto percent = [&](std::size_t count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(tally.cases);
  };
  fmt::print("{:<24} {:>5} {:>7.1f} {:>8.1f} {:>7.1f} {:>7.1f} {:>6.1f}\n", name, tally.cases,
             percent(tally.first), percent(tally.first_two), percent(tally.leads),
             percent(tally.alone), 0.01 * percent(tally.in_group));
}

/// Whether the true cause is first in nine of ten cases, and among the first two in 97 of 100. Of
/// few cases, the share that may be missed is rounded up to whole ones.
bool are_enough(const Tally& tally) {
  constexpr double missed_first = 0.1;
  constexpr double missed_first_two = 0.03;
  const auto cases = static_cast<double>(tally.cases);
  return static_cast<double>(tally.cases - tally.first) <= std::ceil(missed_first * cases) &&
         static_cast<double>(tally.cases - tally.first_two) <= std::ceil(missed_first_two * cases);
}

/// Returns what all cases add up to.
Tally print_tables(const std::vector<Result>& results) {
  std::map<std::string, Tally> by_cause;
  std::map<std::string, Tally> by_machine;
  Tally all;
  std::size_t unseen = 0;
  double longest = 0;
  for (const Result& result : results) {
    by_cause[result.planted.cause].add(result);
    by_machine[result.machine].add(result);
    all.add(result);
    unseen += result.unseen;
    longest = std::max(longest, result.seconds);
  }
  fmt::print("{:<24} {:>5} {:>7} {:>8} {:>7} {:>7} {:>6}\n", "planted", "cases", "first %", "two %",
             "leads %", "alone %", "group");
  for (const auto& [name, tally] : by_cause) print(name, tally);
  fmt::print("\n");
  for (const auto& [name, tally] : by_machine) print(name, tally);
  fmt::print("\n");
  print("all", all);
  fmt::print(
      "\n{} more were drawn whose effect is within the spread; longest diagnosis {:.1f} s\n"
      "\ntaken for another:\n",
      unseen, longest);
  for (const Result& result : results) {
    if (result.place == 0) continue;
    fmt::print("{}: {} -> {} (planted is number {})\n", result.machine, result.planted.text,
               result.found, result.place + 1);
  }
  return all;
}

int plant_causes(const Plan& plan) {
  const Spread spread = load_spread();
  std::vector<LoadedMachine> machines;
  for (const PlantedMachine& machine : planted_machines()) machines.push_back(load(machine));
  std::vector<Result> results(plan.only ? 1 : plan.cases);
  Progress progress(results.size(), plan.only.has_value());
  for_each_in_parallel(results.size(), plan.threads, [&](std::size_t i) {
    const std::size_t index = plan.only.value_or(i);
    Result& result = results[i];
    result = run_case(machines[index % machines.size()], spread, plan.seed_of(index));
    progress.tell(index, result.machine, result.planted, result.place, result.found,
                  result.seconds);
  });
  if (plan.only) return 0;
  return are_enough(print_tables(results)) ? 0 : 1;
}

/// What became of one slow part.
struct PlaceResult {
  std::string machine;
  PlantedCase planted;
  double share = 0;
  Verdict verdict = Verdict::healthy;
  std::size_t place = 0;
  std::string found;
  double seconds = 0;
};

/// Plants until a size is slower by a tenth: less is within what simulations differ by.
PlaceResult run_place(const LoadedMachine& machine, const Spread& spread, double share,
                      std::uint64_t seed) {
  constexpr double least_effect = 0.1;
  std::mt19937_64 random(seed);
  PlaceResult result;
  result.machine = machine.shape.name;
  result.share = share;
  do {
    result.planted = plant_slow_part(machine, spread, random, share);
  } while (result.planted.effect < least_effect);
  const auto begin = std::chrono::steady_clock::now();
  const Diagnosis diagnosis = diagnose(result.planted, machine, spread);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.verdict = diagnosis.verdict;
  result.place =
      diagnosis.causes.empty() ? std::size_t{1} : place_of(result.planted, diagnosis, true);
  if (!diagnosis.causes.empty()) {
    const FittedCause& first = diagnosis.causes.front().causes.front();
    result.found = describe(first.hypothesis, first.value);
  }
  return result;
}

void print_places(const std::vector<PlaceResult>& results) {
  std::map<double, std::vector<const PlaceResult*>> by_share;
  double longest = 0;
  for (const PlaceResult& result : results) {
    by_share[result.share].push_back(&result);
    longest = std::max(longest, result.seconds);
  }
  fmt::print("{:<10} {:>5} {:>7} {:>8} {:>11} {:>5}\n", "rate left", "cases", "first", "healthy",
             "cannot tell", "low");
  for (const auto& [share, group] : by_share) {
    const auto count = [&, &group = group](const auto& holds) {
      return std::count_if(group.begin(), group.end(), holds);
    };
    const auto of = [&](Verdict verdict) {
      return count([&](const PlaceResult* each) { return each->verdict == verdict; });
    };
    fmt::print("{:<10} {:>5} {:>7} {:>8} {:>11} {:>5}\n", share, group.size(),
               count([](const PlaceResult* each) { return each->place == 0; }),
               of(Verdict::healthy), of(Verdict::cannot_tell), of(Verdict::low));
  }
  fmt::print("\nlongest diagnosis {:.1f} s\n\nnot first:\n", longest);
  for (const PlaceResult& result : results) {
    if (result.place == 0) continue;
    fmt::print("{}: {} ({}, {:.2f} times as long) -> {}\n", result.machine, result.planted.text,
               to_string(result.verdict), std::exp(result.planted.effect),
               result.found.empty() ? "nothing" : result.found);
  }
}

/// One part slowed in so many places of each of six machines.
int plant_places(const Plan& plan) {
  constexpr std::array shares{0.75, 0.5, 0.25, 0.1};
  const std::set<std::string> names{"hgx-h200",    "dgx-a100",      "dgx-h100-x4",
                                    "dgx-a100-x4", "azure-ndv4-x8", "gcp-a3-ultra-x4"};
  const Spread spread = load_spread();
  std::vector<LoadedMachine> machines;
  for (const PlantedMachine& machine : planted_machines()) {
    if (names.contains(machine.name)) machines.push_back(load(machine));
  }
  std::vector<PlaceResult> results(plan.only ? 1 : plan.cases * machines.size());
  Progress progress(results.size(), plan.only.has_value());
  for_each_in_parallel(results.size(), plan.threads, [&](std::size_t i) {
    const std::size_t index = plan.only.value_or(i);
    PlaceResult& result = results[i];
    result = run_place(machines[index % machines.size()], spread,
                       shares[index / machines.size() % shares.size()], plan.seed_of(index));
    progress.tell(index, result.machine, result.planted, result.place,
                  result.found + " " + std::string(to_string(result.verdict)), result.seconds);
  });
  if (!plan.only) print_places(results);
  return 0;
}

}  // namespace
}  // namespace collsim::test

int main(int argc, char** argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const bool in_places = !arguments.empty() && arguments.front() == "--places";
  if (in_places) arguments.erase(arguments.begin());
  std::vector<std::uint64_t> numbers{in_places ? 20U : 500U, 1, 1, 0};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view text = arguments[i];
    const auto* const end = text.data() + text.size();
    if (i >= numbers.size() || std::from_chars(text.data(), end, numbers[i]).ptr != end) {
      fmt::print(stderr, "usage: plant-faults [--places] [cases [seed [threads [only]]]]\n");
      return 2;
    }
  }
  collsim::test::Plan plan{numbers[0], numbers[1], static_cast<std::uint32_t>(numbers[2]), {}};
  if (arguments.size() == numbers.size()) plan.only = numbers[3];
  return in_places ? collsim::test::plant_places(plan) : collsim::test::plant_causes(plan);
}
