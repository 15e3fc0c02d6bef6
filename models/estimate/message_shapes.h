#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/message_time.h"

namespace collsim {

/// Grouped sends and receives on a machine, for each number of parts of a message found once.
class MessageShapes {
 public:
  struct Laid {
    MessageShape shape;
    std::uint32_t channels = 0;  ///< that carry messages
  };

  /// Adds the kinds of links that messages use to `kinds`. Refers to all.
  MessageShapes(const CallCompiler& compiler, const MachineView& view, std::set<LinkKind>& kinds)
      : compiler_(compiler), view_(view), kinds_(kinds) {}

  const Laid& of(std::uint32_t parts);

 private:
  Laid made(std::uint32_t parts);

  const CallCompiler& compiler_;
  const MachineView& view_;
  std::set<LinkKind>& kinds_;
  std::map<std::uint32_t, Laid> laid_;
};

}  // namespace collsim
