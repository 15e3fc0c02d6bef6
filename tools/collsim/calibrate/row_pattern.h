#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/recordings/recording.h"

namespace collsim {

inline constexpr std::string_view accepted_row_patterns =
    "id=forced/4/*, collective=broadcast, ranks=3, ranks=4..8, size=64M.., size=..4K, or several "
    "joined by '&'";

/// A pattern that recorded rows match or not: "id=forced/4/*", "collective=broadcast",
/// "ranks=3", "ranks=4..8", "size=64M..", "size=..4K". A bare pattern is one for ids. Several that
/// must all match are joined by "&": "forced/*&ranks=4".
class RowPattern {
 public:
  /// Reads a pattern. Throws InputError.
  explicit RowPattern(std::string_view text);

  bool matches(const RecordedRow& row) const;

 private:
  enum class Key { id, collective, ranks, size };
  struct Condition {
    Key key = Key::id;
    std::string pattern{};  ///< of an id or a collective
    std::int64_t min = 0;
    std::int64_t max = 0;

    bool holds(const RecordedRow& row) const;
  };
  static Condition condition(std::string_view text);

  std::vector<Condition> conditions_;
};

/// Whether one of them matches.
bool any_matches(const std::vector<RowPattern>& patterns, const RecordedRow& row);

}  // namespace collsim
