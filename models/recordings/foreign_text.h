#pragma once

#include <optional>
#include <string_view>

namespace collsim {

/// A text that holds no measured times of collectives.
struct ForeignText {
  std::string_view what;   ///< "a PyTorch profiler's trace (Kineto)"
  std::string_view taken;  ///< what collsim takes instead, or which command takes it
};

/// What such a text is, by marks that its writer leaves in it; nothing where none is known.
std::optional<ForeignText> recognize_foreign_text(std::string_view content);

}  // namespace collsim
