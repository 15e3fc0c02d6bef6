#pragma once

#include <string>
#include <string_view>

#include "models/recordings/recording.h"

namespace collsim {

/// Says of recorded rows whether they are meant: "id=forced/4/*", "collective=broadcast",
/// "ranks=3", "ranks=4..8", "size=64M..", "size=..4K". A bare pattern is one for ids.
class RowPattern {
 public:
  /// Throws InputError.
  explicit RowPattern(std::string_view text);

  bool matches(const RecordedRow& row) const;
  const std::string& text() const { return text_; }

 private:
  enum class Key { id, collective, ranks, size };

  std::string text_;
  Key key_ = Key::id;
  std::string pattern_;
  std::int64_t least_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace collsim
