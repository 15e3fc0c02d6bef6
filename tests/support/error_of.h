#pragma once

#include <string>

#include "sim/base/input_error.h"

namespace collsim::test {

/// What the InputError says that the action throws; empty where it throws none.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace collsim::test
