#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/text_file.h"

namespace collsim {

/// The numbers of nodes that a list names, in its order: "node0,node4", or as Slurm writes it
/// "node[0,4,8-11]", with zeros before the numbers or without. Throws InputError, which names the
/// option, for what is no such list and for a node that occurs twice.
std::vector<std::uint32_t> parse_node_list(std::string_view option, std::string_view text);

/// The numbers that a file names: names or lists, one or several on a line, and comments after `#`,
/// as `scontrol show hostnames` prints them. Throws InputError with the place in the file.
std::vector<std::uint32_t> read_node_list(const TextFile& file);

}  // namespace collsim
