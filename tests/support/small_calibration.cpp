#include "tests/support/small_calibration.h"

#include "models/calibration/calibration_file.h"
#include "sim/base/data_directory.h"
#include "tests/support/error_of.h"

namespace collsim::test {

Calibration default_calibration() {
  return load_calibration(find_data_file("default", "models/data/calibrations"));
}

TextFile small_calibration(std::string_view lines) {
  return {"c.yaml", "collsim: calibration/1\nname: small\nsource: a test\ndate: 2026-11-21\n" +
                        std::string(lines) + "\n"};
}

Calibration cost_of_small_calibration(std::string_view lines) {
  return read_calibration(small_calibration(lines));
}

std::string error_in_small_calibration(std::string_view lines) {
  return error_of([&] { return cost_of_small_calibration(lines); });
}

}  // namespace collsim::test
