#pragma once

#include <iosfwd>
#include <string>

#include "sim/base/text_file.h"

namespace collsim {

/// What a stream, such as standard input, has until its end, read as utf8_text() does.
TextFile read_text_stream(std::istream& stream, const std::string& name);

}  // namespace collsim
