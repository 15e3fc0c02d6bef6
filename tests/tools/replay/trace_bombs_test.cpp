// Small traces that would fill the memory, or keep a reader busy: each is refused by what it has
// too much of.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tools/collsim/traces/job_trace.h"

namespace collsim {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

std::string refusal_of(const std::string& file) {
  try {
    read_job_trace(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "taken";
}

void expect_refusal(const std::string& text, const std::string& wrong) {
  const test::TemporaryFile file("trace.0", text);
  const std::string refusal = refusal_of(file.path().string());
  EXPECT_NE(refusal.find(wrong), std::string::npos) << refusal.substr(0, 300);
}

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80U; number >>= 7U) bytes += static_cast<char>((number & 0x7FU) | 0x80U);
  return bytes + static_cast<char>(number);
}

std::string message(const std::string& text) {
  return varint(text.size()) + text;
}

const std::string metadata = message("\x12\x08\x0A\x06schema");

std::string kineto(const std::string& events) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

TEST(TraceBombs, of_chakra_messages) {
  expect_refusal(metadata + std::string(2'000'001, '\0'), "more than 2000000 nodes");
  expect_refusal(metadata + varint(900 * mebibyte) + "\x2A", "a message of 943718400 bytes");
  expect_refusal(metadata + varint(~std::uint64_t{0}), "a message of");
  expect_refusal(metadata + std::string(20, '\xFF'), "damaged");
}

TEST(TraceBombs, of_chakra_json) {
  std::string values = R"({"workload_graph": [0)";
  for (int i = 0; i < 4'000'000; ++i) values += ",[[]]";
  expect_refusal(values + "]}", "more than 8000000 values");
}

TEST(TraceBombs, of_words_and_numbers) {
  const std::string much(mebibyte + 1, '1');
  expect_refusal(kineto(R"({"ts": )" + much + "}"), "a word of more than 1 MiB");
  expect_refusal(kineto(R"({"name": ")" + much + R"("})"), "a word of more than 1 MiB");
  expect_refusal(kineto("{\"" + much + "\": 1}"), "a word of more than 1 MiB");
  expect_refusal(kineto(std::string(mebibyte + 1, ' ')), "a word of more than 1 MiB");
  std::string marks = "\"";
  while (marks.size() <= mebibyte + 1) marks += "\\\\,:{";  // no mark of JSON, within a text
  expect_refusal(kineto("{\"name\": " + marks), "a word of more than 1 MiB");
}

// Each of 300 kernels is of the one call whose communicator has a name of 1,000,000 letters.
TEST(TraceBombs, of_words_that_many_kernels_share) {
  std::string events =
      R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 0, "dur": 1,)"
      R"( "args": {"External id": 7, "Collective name": "allreduce",)"
      R"( "Process Group Name": ")" +
      std::string(1'000'000, 'x') + R"("}})";
  for (int i = 0; i < 300; ++i) {
    events +=
        fmt::format(R"(,{{"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce", "ts": {},)"
                    R"( "dur": 1, "args": {{"External id": 7}}}})",
                    i + 1);
  }
  expect_refusal(kineto(events), "MiB of kernels, calls and their words");
}

// Eighteen times a message of 15 MiB that says nothing: 270 MiB in some 300 kB.
TEST(TraceBombs, of_gzip) {
  const std::string big = message("\x7A" + message(std::string(15 * mebibyte, '\0')));
  const test::TemporaryFile file("trace.0.et", "");
  const gzFile packed = gzopen(file.path().c_str(), "wb1");
  ASSERT_NE(packed, nullptr);
  gzwrite(packed, metadata.data(), static_cast<unsigned>(metadata.size()));
  for (int i = 0; i < 18; ++i) gzwrite(packed, big.data(), static_cast<unsigned>(big.size()));
  gzclose(packed);
  const std::string refusal = refusal_of(file.path().string());
  EXPECT_NE(refusal.find("larger than 256 MiB when unpacked"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace collsim
