#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace collsim {

/// A text of at most `most` bytes and a few words, without its middle where it is longer: what a
/// message quotes of an input may be the whole input.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace collsim
