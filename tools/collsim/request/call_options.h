#pragma once

#include <boost/program_options/variables_map.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// Names of options, as modes have them: which machine and which of its GPUs; a list of sizes.
std::string machine_options();
std::string size_options();

/// The modes of a question about a call: by NCCL's schedule, and by a textbook's. Both heed what
/// questions have in common and `heeded`; `by_nccl` and `textbook` are what else one of them does.
std::vector<Mode> call_modes(const std::string& heeded, const std::string& by_nccl,
                             const std::string& textbook, const std::string& shown = {});
/// The modes of `run` and `estimate`, whose rows are of a list of sizes: of calls, peer kernels and
/// registered buffers. Calls heed `of_calls`, too.
std::vector<Mode> sweep_modes(const std::string& of_calls);

/// What the manuals of questions about a call have in common.
inline constexpr std::string_view call_manual =
    "Without -c it is an all_reduce. --alpha, --bandwidth and --ranks, in place of a machine, make "
    "the textbook's: --nodes or --ranks-per-node (1) say which ranks are on one node. Schedule "
    "textbook is the default for algorithms that NCCL has not, and on machines with calibration "
    "ideal. docs/formats.md lists the keys of faults; --seed is that of their jitter.";

/// The modes of questions about peer kernels and registered buffers.
Mode kernel_mode(const std::string& heeded, const std::string& shown = {});
Mode registered_mode(const std::string& heeded, const std::string& shown = {});

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
void heed_schedules(const Subcommand& subcommand,
                    const boost::program_options::variables_map& values, const CallRequest& request,
                    const std::string& by_nccl = "NCCL's schedule",
                    const std::string& textbook = "a textbook schedule");

}  // namespace collsim::command
