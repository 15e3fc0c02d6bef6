#pragma once

#include <cstdint>
#include <map>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/hop_cache.h"
#include "models/estimate/message_time.h"

namespace collsim {

/// Grouped sends and receives on a machine, for each number of parts of a message found once.
class MessageShapes {
 public:
  struct Laid {
    MessageShape shape;
    std::uint32_t channels = 0;  ///< that carry messages
  };

  /// Refers to both.
  MessageShapes(const CallCompiler& compiler, CallHops& hops)
      : compiler_(compiler), view_(hops.view()), hops_(hops) {}

  const Laid& of(std::uint32_t parts);

 private:
  Laid made(std::uint32_t parts);

  const CallCompiler& compiler_;
  const MachineView& view_;
  CallHops& hops_;
  std::map<std::uint32_t, Laid> laid_;
};

}  // namespace collsim
