#pragma once

namespace collsim {

/// From now on predictions are made with the calibrations in tests/data/frozen.
void use_frozen_data();

/// While it lives, predictions are made with the calibrations that are shipped.
class ShippedData {
 public:
  ShippedData();
  ~ShippedData();
  ShippedData(const ShippedData&) = delete;
  ShippedData& operator=(const ShippedData&) = delete;
};

}  // namespace collsim
