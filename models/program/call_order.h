#pragma once

#include <string>

#include "models/program/call_program.h"

namespace collsim {

/// Whether a program can hang.
struct CallOrderVerdict {
  bool hangs = false;  ///< whatever the times are
  /// It ends where all streams of a rank run at the same time, but not where a rank runs one call
  /// at a time, in the order in which its host issues them: as when the kernels of two
  /// communicators do not fit onto a GPU together.
  bool hangs_one_at_a_time = false;
  std::string why{};  ///< who waits for whom; empty: nobody for ever
};

/// Proves that no order of events makes a program hang, or says why it does. Streams run in order
/// and calls meet by their place among those of their communicator, so whether a program ends does
/// not depend on when things happen: one run without times shows it. Throws InputError where those
/// who take part in a call disagree on it.
CallOrderVerdict check_call_order(const CallProgram& program);

/// The program with all calls of a rank on one stream, in the order in which they are issued.
CallProgram one_call_at_a_time(CallProgram program);

}  // namespace collsim
