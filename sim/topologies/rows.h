#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace collsim {

/// Lists of numbers, one behind the other: what every device or link of a graph has.
class Rows {
 public:
  Rows() = default;
  /// Makes rows of `entries` (row, number), each row's in the order given.
  Rows(std::size_t rows, std::span<const std::pair<std::uint32_t, std::uint32_t>> entries)
      : begins_(rows + 1), numbers_(entries.size()) {
    for (const auto& [row, number] : entries) ++begins_[row + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (const auto& [row, number] : entries) numbers_[next[row]++] = number;
  }

  /// Empty where there are no rows at all.
  std::span<const std::uint32_t> operator[](std::size_t row) const {
    if (begins_.empty()) return {};
    return std::span(numbers_).subspan(begins_[row], begins_[row + 1] - begins_[row]);
  }

 private:
  std::vector<std::uint32_t> begins_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace collsim
