#pragma once

#include <filesystem>

#include "models/program/call_program.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// Ranks, and ops after `repeat`, that one program file may have.
inline constexpr std::int64_t max_program_ranks = 131'072;
inline constexpr std::int64_t max_program_ops = 1'000'000;

/// Reads a program file (`collsim: program/1`, docs/training.md). Ops of `product` and `moves` have
/// no `compute` yet. Throws InputError at the place of a mistake: names that nothing has, ops that
/// come after themselves, ranks in two groups or in none, communicators of part of a group.
CallProgram load_call_program(const std::filesystem::path& path);
/// Reads a program from the root of a file. Throws InputError.
CallProgram read_call_program(const YamlValue& root);

}  // namespace collsim
