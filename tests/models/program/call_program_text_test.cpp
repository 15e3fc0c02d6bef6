// Programs that are written as files are read as the same programs.

#include "models/program/call_program_text.h"

#include <gtest/gtest.h>

#include <string>

#include "models/program/call_program_yaml.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"

namespace collsim {
namespace {

CallProgram read_text(const std::string& text) {
  return read_call_program(read_yaml({"program.yaml", text}, "program"));
}

const std::string every_key = R"(collsim: program/1
name: "a \"b\": {c}"
ranks: 6
measured: true
communicators: { all: "0..5", pair: [[0, 1], [2, 3], [4, 5]], pp: [0, 1] }
groups:
  even:
    ranks: [0, 2, 4]
    ops:
      - { compute: 12.5 us, name: first, kernels: 3 }
      - { product: [8, 16, 32], host: 3 us }
      - { moves: 5 MB, stream: "copy: 1", after: first }
      - { all_reduce: 1 MiB, on: all, stream: calls, host_after: first }
      - { all_gather: 2 kB, on: pair, after: [first], channels: 24 }
      - { calls: [ { send: 8 B, on: pp, to: odd }, { receive: 16 B, on: pp, from: odd } ], after: first }
  odd:
    ranks: [1, 3, 5]
    ops:
      - { all_reduce: 1 MiB, on: all }
      - { all_gather: 2 kB, on: pair }
      - { calls: [ { receive: 8 B, on: pp, from: even }, { send: 16 B, on: pp, to: even } ] }
)";

TEST(CallProgramText, writes_what_it_reads) {
  const std::string whole = every_key;
  // `pp` is of two ranks of groups with three: it is written as three communicators, so compare the
  // program without it, which has nothing that the file cannot say.
  std::string text = whole;
  const std::string from = ", pp: [0, 1] }";
  text.replace(text.find(from), from.size(), ", pp: [[0, 1], [2, 3], [4, 5]] }");
  const CallProgram program = read_text(text);
  EXPECT_EQ(read_text(call_program_text(program)), program);
}

TEST(CallProgramText, names_ops_that_others_come_after) {
  CallProgram program = read_text(R"(collsim: program/1
ranks: 1
groups: { all: { ranks: 0, ops: [ { compute: 1 us }, { compute: 2 us, stream: b } ] } }
)");
  program.groups[0].ops[1].after = {0};
  const CallProgram again = read_text(call_program_text(program));
  EXPECT_EQ(again.groups[0].ops[1].after, program.groups[0].ops[1].after);
}

TEST(CallProgramText, refuses_ranks_whose_communicators_nothing_says) {
  CallProgram program = read_text(R"(collsim: program/1
ranks: 3
communicators: { all: "0..2" }
groups: { all: { ranks: "0..2", ops: [ { all_reduce: 4 B, on: all } ] } }
)");
  program.communicators[0].ranks = {0, 1};  // rank 2 would need one of its own
  EXPECT_THROW(call_program_text(program), InputError);
}

}  // namespace
}  // namespace collsim
