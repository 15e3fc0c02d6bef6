#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/text_file.h"

namespace collsim {

/// The constants of a calibration file as texts, in the order of the file. Changing one leaves the
/// others as they were written. The class does not interpret them, so it keeps whatever
/// load_calibration() accepts. It drops comments and provenance.
class CalibrationText {
 public:
  /// Throws InputError if it is no calibration file.
  explicit CalibrationText(const TextFile& text);

  const std::string& name() const { return name_; }
  const std::string& source() const { return source_; }
  const std::string& date() const { return date_; }

  /// The calibration that it extends.
  std::optional<std::string> base() const;
  /// Adds from `base` what it does not state itself. After that it extends nothing.
  void take_from(const CalibrationText& base);

  /// Takes a group of the first level, such as "proxy", as `other` has it, in place of its own.
  void take_group(const CalibrationText& other, const std::string& key);

  /// Whether the file states a constant or a group of constants, named as in Parameter:
  /// "ll.alpha.nvlink", "ll.over.pcie".
  bool states(std::string_view parameter) const;
  /// Changes or adds a constant.
  void set(std::string_view parameter, const std::string& text);
  /// Removes a constant or a group, and groups that are then empty.
  void erase(std::string_view parameter);
  /// The lines of the constants.
  std::string constants() const;
  /// The line of `trust`; empty where there is none.
  const std::string& trust() const { return trust_; }

 private:
  std::string name_;
  std::string source_;
  std::string date_;
  std::string trust_;
  nlohmann::ordered_json entries_;  ///< of a mapping an object, of all others a text
};

}  // namespace collsim
