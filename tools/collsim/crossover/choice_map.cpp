#include "tools/collsim/crossover/choice_map.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>

#include "tools/collsim/crossover/crossover_report.h"

namespace collsim {

namespace {

/// The fastest way but one.
std::size_t second_of(const std::vector<Seconds>& times, std::size_t best) {
  std::size_t second = best;
  for (std::size_t way = 0; way < times.size(); ++way) {
    if (way == best) continue;
    if (second == best || times[way] < times[second]) second = way;
  }
  return second;
}

ChoiceCell cell_of(NcclVariants& ways, bool simulated, Bytes size) {
  VariantTimes& times = ways.times();
  ChoiceCell cell;
  cell.size = size;
  cell.best =
      simulated ? times.fastest(times.all(), size) : times.likely_fastest(times.all(), size);
  cell.chosen = ways.chosen(size);
  if (simulated && cell.chosen != cell.best) {
    times.simulated(cell.best, size);
    times.simulated(cell.chosen, size);
  }
  for (const std::size_t way : times.all()) {
    cell.times.push_back(Seconds{times.likely(way, size)});
    cell.estimates.push_back(ways.nccl_estimate(way, size));
  }
  cell.second = second_of(cell.times, cell.best);
  return cell;
}

/// The last size at which `best` is still faster than `next`, between two sizes; halfway, as
/// logarithms go, where they are one.
Bytes boundary(VariantTimes& times, bool simulated, const ChoiceCell& low, const ChoiceCell& high) {
  if (low.best == high.best) {
    const double middle =
        std::sqrt(static_cast<double>(low.size.count) * static_cast<double>(high.size.count));
    return Bytes{static_cast<std::int64_t>(middle)};
  }
  const auto likely = [&](Bytes size) {
    return times.likely(low.best, size) <= times.likely(high.best, size);
  };
  const auto leads = [&](Bytes size) {
    return simulated ? times.leads({low.best}, {high.best}, size) : likely(size);
  };
  constexpr double tolerance = 0.03;
  const Crossover crossover = last_crossover({low.size, high.size}, leads, likely, tolerance);
  const double after = crossover.size.value_or(static_cast<double>(high.size.count));
  return Bytes{static_cast<std::int64_t>(after) - 1};
}

/// What NCCL runs where it is kept to a limit; none where that leaves it nothing.
std::optional<std::size_t> chosen_within(const ChoiceRow& row, const ChoiceCell& cell,
                                         const ChoiceLimit& limit) {
  std::optional<std::size_t> chosen;
  for (std::size_t way = 0; way < row.pairs.size(); ++way) {
    const auto& [algorithm, protocol] = row.pairs[way];
    if (limit.algorithm && *limit.algorithm != algorithm) continue;
    if (limit.protocol && *limit.protocol != protocol) continue;
    if (cell.estimates[way] == std::numeric_limits<double>::infinity()) continue;
    if (!chosen || cell.estimates[way] < cell.estimates[*chosen]) chosen = way;
  }
  return chosen;
}

/// None where NCCL would have nothing to run at some size.
std::optional<ChoiceLimit> with_losses(const ChoiceRow& row, ChoiceLimit limit) {
  for (const ChoiceCell& cell : row.cells) {
    const auto chosen = chosen_within(row, cell, limit);
    if (!chosen) return std::nullopt;
    const double loss = cell.loss(*chosen);
    limit.mean_loss += loss / static_cast<double>(row.cells.size());
    if (loss <= limit.worst_loss) continue;
    limit.worst_loss = loss;
    limit.worst_size = cell.size;
  }
  return limit;
}

}  // namespace

ChoiceRow choice_row(const CallCompiler& compiler, const std::vector<Bytes>& sizes,
                     const ErrorTable& errors) {
  assert(!sizes.empty());
  Predictor predictor(compiler, by_whole_simulation());
  NcclVariants ways(predictor);
  ChoiceRow row;
  row.ranks = compiler.ranks();
  row.nodes = compiler.nccl()->nodes();
  row.function = *compiler.nccl_function();
  row.version = compiler.nccl()->version();
  row.simulated = row.ranks <= max_simulated_map_ranks;
  row.pairs = ways.pairs();
  for (const Bytes size : sizes) {
    ChoiceCell& cell = row.cells.emplace_back(cell_of(ways, row.simulated, size));
    const auto& [algorithm, protocol] = row.pairs[cell.best];
    cell.channels = compiler.nccl()->launch(algorithm, protocol, size).channels;
    cell.trust = std::max(ways.trust(cell.best, size), ways.trust(cell.chosen, size));
    cell.error = typical_error(errors, cell.trust, ways.medium(cell.best, size), size);
  }
  for (std::size_t i = 0; i + 1 < row.cells.size(); ++i) {
    row.cells[i].until = boundary(ways.times(), row.simulated, row.cells[i], row.cells[i + 1]);
  }
  row.cells.back().until = Bytes{std::numeric_limits<std::int64_t>::max()};
  return row;
}

std::vector<ChoiceLimit> choice_limits(const ChoiceRow& row) {
  std::vector<ChoiceLimit> asked(1);
  const auto ask = [&](std::optional<NcclAlgorithm> algorithm, std::optional<Protocol> protocol) {
    ChoiceLimit& limit = asked.emplace_back();
    limit.algorithm = algorithm;
    limit.protocol = protocol;
  };
  std::set<NcclAlgorithm> algorithms;
  std::set<Protocol> protocols;
  for (const auto& [algorithm, protocol] : row.pairs) {
    if (algorithms.insert(algorithm).second) ask(algorithm, std::nullopt);
    if (protocols.insert(protocol).second) ask(std::nullopt, protocol);
  }
  for (const auto& [algorithm, protocol] : row.pairs) ask(algorithm, protocol);
  std::vector<ChoiceLimit> limits;
  for (const ChoiceLimit& limit : asked) {
    if (const auto found = with_losses(row, limit)) limits.push_back(*found);
  }
  std::stable_sort(limits.begin(), limits.end(), [](const ChoiceLimit& a, const ChoiceLimit& b) {
    return a.mean_loss < b.mean_loss;
  });
  return limits;
}

}  // namespace collsim
