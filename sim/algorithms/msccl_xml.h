#pragma once

#include <string>

#include "sim/algorithms/transfer_list.h"
#include "sim/base/text_file.h"

namespace collsim {

/// Reads an algorithm in the XML of Microsoft's MSCCL (msccl-tools, MSCCLang): thread blocks of
/// every GPU with their sends, receives and dependencies. It becomes steps: a message belongs to
/// the step in which a clock of unit messages receives it. Throws InputError, with line and column,
/// for what is no such file, a program that waits for itself, scratch buffers, local copies between
/// chunks, and messages that change their chunk.
TransferList read_msccl_xml(const TextFile& text);

/// A schedule as MSCCL's XML, in place, protocol Simple: one thread block for each peer and lane
/// that a GPU sends to, and one for each that it receives from, with the dependencies that keep the
/// order of the steps.
std::string msccl_xml(const TransferList& list, const std::string& name);

}  // namespace collsim
