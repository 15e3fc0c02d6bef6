#pragma once

#include <string>

namespace collsim::test {

/// The text as part of a test's name: with '_' for what is no letter or digit.
std::string test_name(std::string text);

}  // namespace collsim::test
