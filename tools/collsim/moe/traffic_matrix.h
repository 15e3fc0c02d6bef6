#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// A line of numbers of a file, with the place of each.
struct NumberRow {
  std::vector<double> numbers;
  std::vector<SourcePosition> places;
};

/// A file of comma-separated numbers: what people write about traffic.
struct NumberTable {
  std::string header;           ///< the first line where it begins with a letter, else empty
  std::vector<NumberRow> rows;  ///< without comments (`#`) and empty lines
};

/// Reads such a text. A number is zero or more, and may have a unit of bytes ("4 MiB"). Throws
/// InputError, at its place, for anything else and where there is no row.
NumberTable read_number_table(const TextFile& text);

/// How much every rank sends to every rank, itself included: bytes, or messages of one size.
class TrafficMatrix {
 public:
  explicit TrafficMatrix(Rank ranks)
      : ranks_(ranks), row_(ranks), amounts_(static_cast<std::size_t>(ranks) * ranks) {}
  /// Every rank sends what the row says. That takes the room of one row, and nothing can be added.
  static TrafficMatrix of_equal_rows(std::vector<double> row);

  Rank ranks() const { return ranks_; }
  double amount(Rank from, Rank to) const { return amounts_[place(from, to)]; }
  void add(Rank from, Rank to, double amount) { amounts_[place(from, to)] += amount; }

  /// What a rank sends, or gets, its own share included.
  double sent(Rank from) const;
  double received(Rank to) const;
  double total() const;
  /// The bytes that the busiest sender sends to others.
  double busiest_sender() const;

 private:
  std::size_t place(Rank from, Rank to) const { return static_cast<std::size_t>(from) * row_ + to; }

  Rank ranks_;
  Rank row_;  ///< from one row to the next: 0 where all are the same
  std::vector<double> amounts_;
};

/// The matrix of a file: a line for each sender, in it a size for each receiver. Throws InputError
/// where it is not square or has other than `ranks` lines.
TrafficMatrix matrix_of(const NumberTable& table, Rank ranks);

/// Reads the matrix of an all_gather_v: every rank sends its own size to each rank. The file has
/// one line, with a size for each rank. Throws InputError where it has another number of them.
TrafficMatrix gathered_matrix(const NumberTable& table, Rank ranks);

/// Every rank sends `bytes`, divided among the receivers by their weights, which are not all zero.
TrafficMatrix weighted_matrix(const std::vector<double>& weights, double bytes);

/// A matrix of as many bytes between ranks in all, the same from each rank to each, itself
/// included.
TrafficMatrix evened(const TrafficMatrix& matrix);

}  // namespace collsim
