#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "tools/recorder/rank_group.h"
#include "tools/recorder/run_list.h"

namespace collsim::recorder {

using Tell = std::function<void(const std::string&)>;

/// What one rank of a run does, in a process of its own that has not used CUDA: joins its host,
/// starts NCCL, makes every case's call once (asks NCCL what it chooses and checks the result),
/// then times every case. Rank 0 tells a row_message for each, and "done". Throws when anything
/// fails. `logs` is a folder for NCCL's logs, LABEL-RANK.log and, of what is logged while timing,
/// LABEL-RANK-timing.log.
void record_rank(const Run& run, const std::filesystem::path& logs, const std::string& label,
                 int rank, SharedState& shared, const Tell& tell);

/// Tells the machine's facts, "fact NAME VALUE" each, and "done". For one process.
void tell_machine(SharedState& shared, const Tell& tell);

}  // namespace collsim::recorder
