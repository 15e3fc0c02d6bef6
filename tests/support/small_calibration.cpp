#include "tests/support/small_calibration.h"

#include "models/calibration/calibration_file.h"
#include "sim/base/input_error.h"

namespace collsim::test {

TextFile small_calibration(std::string_view lines) {
  return {"c.yaml", "collsim: calibration/1\nname: small\nsource: a test\ndate: 2026-11-21\n" +
                        std::string(lines) + "\n"};
}

Calibration cost_of_small_calibration(std::string_view lines) {
  return read_calibration(small_calibration(lines));
}

std::string error_in_small_calibration(std::string_view lines) {
  try {
    cost_of_small_calibration(lines);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace collsim::test
