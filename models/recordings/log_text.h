#pragma once

#include <string>
#include <string_view>

namespace collsim {

/// A log as its programs wrote it, line by line. Left out are a terminal's colours, and the tags
/// that launchers put before a writer's text wherever a piece of it arrived, inside lines too:
/// Open MPI's `[1,0]<stdout>:` with or without its time, and kubectl's `[pod/worker-0/mpi] `. A
/// tag that begins a line stays, so that columns in messages hold. What remains is clean_text().
std::string log_text(std::string_view text);

}  // namespace collsim
