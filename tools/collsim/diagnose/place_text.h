#pragma once

#include <string>
#include <vector>

namespace collsim {

/// Names of places in few words: "node[0..1]/nic[2..7], node0/nic0" of 13 ports, "rank [8..15]" of
/// eight ranks.
std::string places_text(const std::vector<std::string>& places);

}  // namespace collsim
