#pragma once

#include <string>
#include <string_view>

#include "tools/collsim/hang/dump_values.h"

namespace collsim {

/// Whether a file begins as a pickle of protocol 2 or later does.
bool is_pickle(std::string_view content);

/// The value that a pickle holds. Nothing is constructed and nothing is called: only the opcodes of
/// dictionaries, lists, tuples, texts, bytes, numbers, booleans, None and the memo are known.
/// Throws InputError, with the byte, for any other opcode and for a pickle that is cut off.
DumpValues read_pickle(const std::string& file, std::string_view content);

/// The value that a JSON text holds. Throws InputError with line and column where it is not JSON.
DumpValues read_dump_json(const std::string& file, std::string_view content);

}  // namespace collsim
