#pragma once

#include <boost/program_options/variables_map.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

// Options of subcommands that show one call. `command` is the subcommand's name, for messages.

/// The size, which has to be given; none of a barrier. Throws InputError.
Bytes only_size(std::string_view command, const boost::program_options::variables_map& values,
                const CallRequest& request);
/// Ranks of a node, as --ranks-per-node or --nodes say; nothing where neither is given. Throws
/// InputError where both are, or the ranks do not fill the nodes equally.
std::optional<Rank> ranks_of_node(const boost::program_options::variables_map& values, Rank ranks);
/// The file of --output, which has to be given and writable; `form` is how it is written in
/// messages, such as "FILE.html". Throws InputError.
std::string output_file(std::string_view command, std::string_view form,
                        const boost::program_options::variables_map& values);

/// Refuses options that no run of the request heeds: those of `by_nccl` or `textbook`, the names of
/// the command's modes for the two kinds of schedules, are heeded by such runs.
void heed_schedules(std::string_view command, const boost::program_options::variables_map& values,
                    const CallRequest& request, const std::string& by_nccl = "NCCL's schedule",
                    const std::string& textbook = "a textbook schedule");

}  // namespace collsim::command
