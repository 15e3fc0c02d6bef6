#pragma once

#include <string>
#include <string_view>

namespace collsim {

/// Names that count up: "gpu[0..7]", or one name.
struct NameRun {
  std::string stem;
  int first = -1;  ///< -1: the name has no number
  int last = -1;

  /// The run as a name pattern, which expand_names() takes apart again.
  std::string text() const;
};

/// The run of one name.
NameRun run_of(std::string_view name);

/// Links that stand in one line: their ends count up together, or one end does.
struct LinkRun {
  NameRun from;
  NameRun to;
  std::string properties;  ///< equal for all of them
};

/// Adds the link `next` to the run if it goes on as the run has begun.
bool try_extend(LinkRun& run, const LinkRun& next);

}  // namespace collsim
