#include "tools/collsim/sweep/row_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "tools/collsim/sweep/sweep_range.h"

namespace collsim::command {

namespace {

constexpr std::array<std::string_view, 3> unit_endings{"_us", "_GBps", "_bytes"};

double cost_of_value(const std::string& column, const Record& value) {
  double amount = 0;
  if (value.is_string()) {
    const auto read = amount_of(value.get<std::string>());
    if (!read) {
      throw InputError(fmt::format("--pareto: '{}' of column {} is no quantity",
                                   value.get<std::string>(), column),
                       "columns of numbers or of quantities with a unit");
    }
    amount = *read;
  } else {
    amount = value.get<double>();
  }
  return column.ends_with("_GBps") ? -amount : amount;
}

/// Whether the first is at least as good in all.
bool covers(const std::vector<double>& one, const std::vector<double>& other) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
  }
  return true;
}

}  // namespace

std::string find_column(std::string_view option, std::string_view name,
                        std::span<const std::string> columns) {
  const auto has = [&](const std::string& column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  std::string written(name);
  if (has(written)) return written;
  for (const std::string_view ending : unit_endings) {
    std::string whole = written + std::string(ending);
    if (has(whole)) return whole;
  }
  const std::vector<std::string> names(columns.begin(), columns.end());
  throw InputError(fmt::format("--{}: no column '{}'", option, name),
                   names_instead_of(name, names));
}

void FastestBy::add(const Record& row) {
  if (row["time_us"].is_null()) return;
  const auto [found, is_new] = index_.try_emplace(csv_field(row[column_]), best_.size());
  if (is_new) {
    best_.push_back(row);
  } else if (Record& best = best_[found->second]; row["time_us"] < best["time_us"]) {
    best = row;
  }
}

std::vector<Record> FastestBy::rows() const {
  return best_;
}

void ParetoFront::add(const Record& row) {
  Entry entry{{}, row};
  for (const std::string& column : columns_) {
    if (row[column].is_null()) return;
    entry.costs.push_back(cost_of_value(column, row[column]));
  }
  for (const Entry& other : front_) {
    if (covers(other.costs, entry.costs) && other.costs != entry.costs) return;
  }
  std::erase_if(front_, [&](const Entry& other) {
    return covers(entry.costs, other.costs) && other.costs != entry.costs;
  });
  front_.push_back(std::move(entry));
}

std::vector<Record> ParetoFront::rows() const {
  std::vector<Entry> sorted = front_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Entry& a, const Entry& b) { return a.costs < b.costs; });
  std::vector<Record> rows;
  rows.reserve(sorted.size());
  for (Entry& entry : sorted) rows.push_back(std::move(entry.row));
  return rows;
}

}  // namespace collsim::command
