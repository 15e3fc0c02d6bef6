#pragma once

#include <string>
#include <vector>

#include "tools/collsim/trace/call_trace.h"

namespace collsim {

/// One call that a page shows.
struct ViewedCall {
  std::string name;  ///< "ring Simple", "healthy"
  CallTrace trace;
  std::vector<std::string> faults{};  ///< of its machine, as people write them
  std::string wrong{};  ///< why the schedule is no such collective, if a person wrote it so
};

/// What the page's script reads: calls that are shown side by side, on one clock, with the machine
/// they ran on. Text: base64 of deflate of
///
///   the length of the header, 4 bytes, little-endian; the header, JSON, padded to 8 bytes;
///   arrays of numbers, little-endian, each padded to 8 bytes.
///
/// The header says where each array is: {"type": "f64", "at": bytes, "length": numbers}.
/// tools/web/viewer/src/data.ts reads it.
/// `embedded`: the page stands inside another one, and shows the picture and the clock alone.
std::string view_data(const std::string& title, const std::string& command,
                      const std::vector<ViewedCall>& calls, bool embedded = false);

}  // namespace collsim
