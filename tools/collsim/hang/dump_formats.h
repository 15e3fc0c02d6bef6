#pragma once

#include <string>
#include <string_view>

#include "sim/base/file_format.h"
#include "tools/collsim/hang/dump_values.h"

namespace collsim {

/// How a dump is read. Throws InputError at the place of what is wrong.
using DumpFormat =
    ReadFormat<FileKind::dump, DumpValues(const std::string& file, std::string_view content)>;

/// Whether a file begins as a pickle of protocol 2 or later does.
bool is_pickle(std::string_view content);

/// The value that a pickle holds. Nothing is constructed and nothing is called: only the opcodes of
/// dictionaries, lists, tuples, texts, bytes, numbers, booleans, None and the memo are known.
/// Throws InputError, with the byte, for any other opcode and for a pickle that is cut off.
DumpValues read_pickle(const std::string& file, std::string_view content);

}  // namespace collsim
