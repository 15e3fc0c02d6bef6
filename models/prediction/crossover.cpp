#include "models/prediction/crossover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "models/nccl/function.h"
#include "models/prediction/estimator.h"
#include "sim/algorithms/nccl_plan.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

using Way = std::pair<NcclAlgorithm, Protocol>;

std::string name_of(NcclAlgorithm algorithm) {
  return nccl_report_name(algorithm);
}
std::string name_of(Protocol protocol) {
  return lower_case(to_string(protocol));
}
std::string name_of(const Way& way) {
  return fmt::format("{}/{}", name_of(way.first), name_of(way.second));
}

/// What NCCL could run on one machine, with the times of each; every time is simulated once.
class Field {
 public:
  explicit Field(const Planner& planner) : planner_(planner) {
    const auto function = planner.nccl_function();
    if (!function || planner.nccl() == nullptr) {
      throw InputError("nothing to choose from",
                       "a collective that NCCL tunes, of several ranks: all_reduce, all_gather, "
                       "reduce_scatter, broadcast or reduce");
    }
    function_ = *function;
    const Collective planned = under_nccl(planner.spec().collective);
    // Which pairs there are does not depend on the size.
    for (const Candidate& candidate : planner.nccl()->choose(function_, Bytes{8}).candidates) {
      if (!why_no_nccl_plan(planned, candidate.algorithm)) {
        ways_.emplace_back(candidate.algorithm, candidate.protocol);
      }
    }
    if (ways_.empty()) throw InputError("NCCL's algorithms here are not simulated", "ring or tree");
  }

  const std::vector<Way>& ways() const { return ways_; }

  double simulated(const Way& way, Bytes size) {
    const auto key = std::pair(way, size);
    const auto found = times_.find(key);
    if (found != times_.end()) return found->second;
    const Candidate candidate{way.first, way.second, estimated(way, size)};
    const double time = simulate(planner_.plan(size, candidate, &memo_)).time.value;
    times_.emplace(key, time);
    return time;
  }

  /// Infinite where NCCL does not use it for that size.
  double estimated(const Way& way, Bytes size) const {
    const auto estimate = planner_.nccl()->estimate(function_, way.first, way.second, size);
    return estimate ? *estimate : std::numeric_limits<double>::infinity();
  }

  /// The first of the ways with the least time.
  template <typename Time>
  Way best(Bytes size, Time time) {
    Way best = ways_.front();
    for (const Way& way : ways_) {
      if (time(way, size) < time(best, size)) best = way;
    }
    return best;
  }
  Way fastest(Bytes size) {
    return best(size, [this](const Way& way, Bytes of) { return simulated(way, of); });
  }
  Way chosen(Bytes size) {
    return best(size, [this](const Way& way, Bytes of) { return estimated(way, of); });
  }

 private:
  const Planner& planner_;
  LayoutMemo memo_;
  NcclFunction function_ = NcclFunction::all_reduce;
  std::vector<Way> ways_;
  std::map<std::pair<Way, Bytes>, double> times_;
};

/// Those of a field's ways that agree in one thing.
using Side = std::vector<Way>;

template <typename Key, typename KeyOf>
std::map<Key, Side> sides_of(const Field& field, KeyOf key_of) {
  std::map<Key, Side> sides;
  for (const Way& way : field.ways()) sides[key_of(way)].push_back(way);
  return sides;
}

template <typename Time>
double least(const Side& side, Bytes size, Time time) {
  double least = std::numeric_limits<double>::infinity();
  for (const Way& way : side) least = std::min(least, time(way, size));
  return least;
}

template <typename Key>
void add_pairs(Field& field, const std::map<Key, Side>& sides, const std::vector<Bytes>& sizes,
               std::vector<PairCrossover>& pairs) {
  const auto simulated = [&](const Way& way, Bytes size) { return field.simulated(way, size); };
  const auto estimated = [&](const Way& way, Bytes size) { return field.estimated(way, size); };
  for (auto a = sides.begin(); a != sides.end(); ++a) {
    for (auto b = std::next(a); b != sides.end(); ++b) {
      const auto crossover = [&](const auto& time) {
        return bisect_crossover(
            sizes, [&](Bytes size) { return least(a->second, size, time); },
            [&](Bytes size) { return least(b->second, size, time); });
      };
      pairs.push_back(
          {name_of(a->first), name_of(b->first), crossover(simulated), crossover(estimated)});
    }
  }
}

Following follow(Field& field, const std::vector<Bytes>& sizes) {
  Following following;
  Regret& regret = following.regret;
  for (const Bytes size : sizes) {
    const Way fastest = field.fastest(size);
    const Way chosen = field.chosen(size);
    const double lost = field.simulated(chosen, size) / field.simulated(fastest, size) - 1;
    ++regret.sizes;
    regret.mean += lost;
    if (lost <= 0) ++regret.best;
    if (regret.sizes > 1 && lost <= regret.worst) continue;
    regret.worst = lost;
    following.worst_size = size;
    following.choice = name_of(chosen);
    following.choice_time.value = field.simulated(chosen, size);
    following.fastest = name_of(fastest);
    following.fastest_time.value = field.simulated(fastest, size);
  }
  regret.mean /= static_cast<double>(regret.sizes);
  return following;
}

double simulated(const Planner& planner, Bytes size) {
  return simulate(planner.plan(size)).time.value;
}
}  // namespace

Crossover bisect_crossover(const std::vector<Bytes>& sizes,
                           const std::function<double(Bytes)>& first,
                           const std::function<double(Bytes)>& second) {
  assert(!sizes.empty());
  const auto first_leads = [&](Bytes size) { return first(size) <= second(size); };
  Crossover crossover;
  crossover.first_before = first_leads(sizes.front());
  crossover.first_after = first_leads(sizes.back());
  // From the largest size down: the last change.
  for (std::size_t i = sizes.size() - 1; i > 0; --i) {
    if (first_leads(sizes[i - 1]) == crossover.first_after) continue;
    Bytes low = sizes[i - 1];
    Bytes high = sizes[i];
    constexpr std::int64_t percent = 100;
    while (high.count - low.count > std::max(float_size.count, low.count / percent)) {
      const std::int64_t middle = (low.count + high.count) / 2;
      const Bytes size{middle / float_size.count * float_size.count};
      if (!(low < size)) break;
      (first_leads(size) == crossover.first_after ? high : low) = size;
    }
    crossover.size = static_cast<double>(high.count);
    break;
  }
  return crossover;
}

CrossoverReport find_crossovers(const Planner& planner, const std::vector<Bytes>& sizes) {
  assert(!sizes.empty());
  Field field(planner);
  CrossoverReport report;
  report.ranks = planner.ranks();
  const auto algorithms = sides_of<NcclAlgorithm>(field, [](const Way& way) { return way.first; });
  const auto protocols = sides_of<Protocol>(field, [](const Way& way) { return way.second; });
  add_pairs(field, algorithms, sizes, report.pairs);
  add_pairs(field, protocols, sizes, report.pairs);
  report.following = follow(field, sizes);
  return report;
}

CrossoverReport find_textbook_crossovers(const std::vector<Planner>& planners,
                                         const std::vector<Bytes>& sizes) {
  assert(!planners.empty() && !sizes.empty());
  CrossoverReport report;
  report.ranks = planners.front().ranks();
  for (auto a = planners.begin(); a != planners.end(); ++a) {
    for (auto b = std::next(a); b != planners.end(); ++b) {
      Estimator of_a(*a);
      Estimator of_b(*b);
      report.pairs.push_back({a->spec().run.algorithm, b->spec().run.algorithm,
                              bisect_crossover(
                                  sizes, [&](Bytes size) { return simulated(*a, size); },
                                  [&](Bytes size) { return simulated(*b, size); }),
                              bisect_crossover(
                                  sizes, [&](Bytes size) { return of_a.estimate(size).time.value; },
                                  [&](Bytes size) { return of_b.estimate(size).time.value; })});
    }
  }
  return report;
}

}  // namespace collsim
