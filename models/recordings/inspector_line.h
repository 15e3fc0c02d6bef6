#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/input_error.h"
#include "sim/plan/collective.h"

namespace collsim {

/// One call as one rank saw it: a line of NCCL's Inspector.
struct RankCall {
  std::string communicator;
  std::string name;         ///< "AllReduce"
  std::string host;         ///< empty where the line has none
  std::int64_t number = 0;  ///< of the communicator's calls, the same in all ranks
  std::int64_t bytes = 0;   ///< what one rank sends or receives
  std::int64_t rank = 0;
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;
  double microseconds = 0;      ///< of this rank, waiting for others included
  std::int64_t written_us = 0;  ///< since 1970; 0 where the line has no time

  /// The collective of that name; nothing where we have none.
  [[nodiscard]] std::optional<Collective> collective() const;
  /// nccl-tests' size of the call.
  [[nodiscard]] std::int64_t size() const;
};

/// Reads a line, with its values checked. Throws InputError, with the place, for anything else.
RankCall read_inspector_line(const SourcePosition& place, std::string_view text);

/// Whether a line looks like one of the Inspector's.
bool is_inspector_line(std::string_view text);

}  // namespace collsim
