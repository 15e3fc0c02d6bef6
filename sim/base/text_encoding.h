#pragma once

#include <string>

#include "sim/base/input_error.h"

namespace collsim {

/// The text that a file's bytes are, in UTF-8, with "\n" for "\r\n" and without byte-order marks:
/// those of UTF-8 at the start of a line (files that were joined have several) are left out, and
/// UTF-16 is converted, as PowerShell's `>` writes it, with a mark or without one. Half a character
/// of UTF-16 becomes U+FFFD. Throws InputError at the position for UTF-32.
std::string utf8_text(std::string bytes, const SourcePosition& position);

}  // namespace collsim
