#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/input_error.h"

namespace collsim {

// What read_text_file() remembers of what it has read, until forget_read_files().
//
// A pipe can be read once, and a command may ask for a machine or a log several times. So the
// process keeps what came out of a pipe, beside the descriptor that it came from. And an output
// must not replace an input, by whatever path either was named.

/// Adds a piece of an input to what was read of it. Throws InputError at once where it becomes
/// larger than read_text_file() takes: a device may never end.
void append_input(std::string& text, std::string_view piece, const SourcePosition& position);

/// Whether read_text_file() has read this very file.
bool was_read(const std::filesystem::path& path);

/// Begins anew, as one command in a process of many does.
void forget_read_files();

}  // namespace collsim
