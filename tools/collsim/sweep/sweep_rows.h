#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/predict/predictor.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/engine_name.h"
#include "tools/collsim/sweep/sweep_space.h"

namespace collsim::command {

/// What all rows of a sweep share. Threads may share it.
struct Sweep {
  SweepSpace space;
  ErrorTable errors{};
  EngineName engine_name = EngineName::native;
  bool exact = false;
  std::string id{};                    ///< of the scenario's text and of how it is answered
  std::vector<std::uint64_t> first{};  ///< row of every point; after the last: how many rows
};

/// Reads the scenario and checks every value of its sweep. Throws InputError.
Sweep read_sweep(const std::filesystem::path& file, EngineName engine_name, bool exact);

/// How many rows the sweep has.
std::uint64_t row_count(const Sweep& sweep);
/// The point of a row.
std::uint64_t point_of(const Sweep& sweep, std::uint64_t row);
/// Which of its scenario's runs a row is of.
std::size_t run_index(const Sweep& sweep, std::uint64_t row);
/// The rows from `row` on that have one point and one run, and so share what is laid out.
std::uint64_t rows_alike(const Sweep& sweep, std::uint64_t row);

/// The columns of every row, in order: `row`, the fields of the sweep, those of `collsim run`,
/// `problem` and `sweep`. A field whose name a column of `collsim run` has is `sweep.<field>`.
std::vector<std::string> sweep_columns(const Sweep& sweep);

/// Thrown out of a simulation after Ctrl-C.
struct SweepInterrupted {};

/// Answers rows, one after another; neighbours share what they can. One thread each.
class SweepRows {
 public:
  explicit SweepRows(const Sweep& sweep);

  /// A point that cannot be answered has the reason as its `problem`, and no answer. Throws
  /// SweepInterrupted after Ctrl-C.
  Record answer(std::uint64_t row);

 private:
  struct Call;
  Call& call_of(std::uint64_t point, std::size_t run);
  Record answer_of(std::uint64_t point, std::uint64_t place);

  const Sweep& sweep_;
  Watch watch_;
  std::vector<std::string> columns_;
  std::string machine_key_;
  std::optional<Topology> machine_;
  std::string call_key_;
  std::shared_ptr<Call> call_;
};

}  // namespace collsim::command
