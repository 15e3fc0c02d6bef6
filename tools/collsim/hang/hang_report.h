#pragma once

#include "tools/collsim/hang/hang_analysis.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// The answer, the reasons, and a table of the communicators in which ranks wait or disagree.
Answer hang_answer(const Job& job, const HangAnalysis& analysis);

}  // namespace collsim::command
