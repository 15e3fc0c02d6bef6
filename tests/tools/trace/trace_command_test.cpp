#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/base/data_directory.h"
#include "sim/base/text_file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

TEST(TraceCommand, WritesWhatItSays) {
  const test::TemporaryFile file("ring.pftrace", "");
  const Outcome outcome = run(
      trace_subcommand.run, {"-t", "switch-8", "-a", "ring", "-b", "1M", "--output", file.path()});
  EXPECT_EQ(outcome.status, exit_ok);
  // 14 hops of 1 us, 14 x 128 KiB at 50 GB/s; 8 ranks x 15 slices; 8 ports in and 8 out.
  EXPECT_NE(outcome.out.find("one call takes 50.70 us"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("8 threads, 120 slices, 112 messages, the 16 busiest links"),
            std::string::npos)
      << outcome.out;
  const std::string trace = read_text_file(file.path(), "a trace").content;
  for (const char* const what : {"rank 7", "waits for rank 2"}) {
    EXPECT_NE(trace.find(what), std::string::npos) << what;
  }
}

TEST(TraceCommand, AsksForWhatIsMissing) {
  const auto error = [](const std::vector<std::string>& args) {
    return test::error_of([&] { return run(trace_subcommand.run, args).status; });
  };
  EXPECT_NE(error({"-t", "switch-8", "-b", "1M"}).find("--output FILE"), std::string::npos);
  EXPECT_NE(error({"-t", "switch-8", "-b", "1M", "--output", "a.json"}).find(".pftrace"),
            std::string::npos);
  const test::TemporaryFile file("a.pftrace", "as before");
  EXPECT_NE(error({"-t", "switch-8", "--output", file.path()}).find("-b SIZE"), std::string::npos);
  EXPECT_NE(error({"-t", "switch-8", "-a", "ring,tree", "-b", "1M", "--output", file.path()})
                .find("one algorithm"),
            std::string::npos);
  EXPECT_NE(error({"-t", "switch-4096", "-a", "ring", "-b", "1M", "--output", file.path()})
                .find("at most 500000"),
            std::string::npos);
  EXPECT_EQ(read_text_file(file.path(), "a trace").content, "as before");
}

}  // namespace
}  // namespace collsim::command
