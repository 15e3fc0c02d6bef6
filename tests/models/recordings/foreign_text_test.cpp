// Files of other tools are told by what they are, and not as tables that went wrong.

#include <gtest/gtest.h>

#include <string>

#include "models/recordings/recording.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

std::string error_for(const std::string& content) {
  return test::error_of([&] { read_recording(TextFile{"file", content}); });
}

TEST(ForeignText, is_told_by_its_writer) {
  using std::string_literals::operator""s;
  EXPECT_EQ(error_for("\x1f\x8b\x08"),
            "file: no measured times, but compressed by gzip; the file unpacked, by `gunzip`");
  EXPECT_NE(error_for("\x80\x02}q\x00"s).find("collsim hang"), std::string::npos);
  EXPECT_NE(
      error_for(R"({"version": "2.9", "pg_config": {}, "entries": []})").find("Flight Recorder"),
      std::string::npos);
  EXPECT_NE(error_for(R"({"schemaVersion": 1, "traceEvents": []})").find("Kineto"),
            std::string::npos);
  EXPECT_NE(error_for(R"({"distributedInfo": {"pg_config": []}, "traceEvents": []})")
                .find("collsim replay"),
            std::string::npos);
  EXPECT_NE(error_for("[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)\n")
                .find("watchdog"),
            std::string::npos);
}

// A job's log may hold a watchdog's line beside a table, which is read.
TEST(ForeignText, does_not_hide_a_table) {
  const std::string log =
      "Watchdog caught collective operation timeout\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1    100.0   10.49   18.35      0\n";
  EXPECT_EQ(read_recording(TextFile{"log", log}).rows.size(), 1U);
}

}  // namespace
}  // namespace collsim
