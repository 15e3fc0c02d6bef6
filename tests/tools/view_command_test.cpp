#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/subcommand.h"

namespace collsim::command {
namespace {

std::string content(const test::TemporaryFile& file) {
  return read_text_file(file.path(), "a page").content;
}

TEST(ViewCommand, WritesAPageWithTwoCalls) {
  const test::TemporaryFile file("two.html", "");
  const Outcome outcome =
      run(run_view, {"-t", "switch-8", "-a", "ring,tree", "-b", "1M", "--output", file.path()});
  EXPECT_EQ(outcome.status, exit_ok);
  // 14 hops of 1 us and 14 x 128 KiB at 50 GB/s.
  EXPECT_NE(outcome.out.find("ring Simple, 120 slices, 50.70 us"), std::string::npos);
  EXPECT_NE(outcome.out.find("tree Simple"), std::string::npos);
  const std::string page = content(file);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_EQ(page.find("@COLLSIM_DATA@"), std::string::npos);
  // Nothing that a browser would fetch.
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
}

TEST(ViewCommand, ShowsTheHealthyCallBesideTheFault) {
  const test::TemporaryFile file("slow.html", "");
  const Outcome outcome =
      run(run_view, {"-t", "hgx-h200", "-a", "ring", "-b", "1M", "--fault",
                     "device: node0/gpu3, bandwidth: 10%", "--healthy", "--output", file.path()});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_NE(outcome.out.find(": healthy, ring"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(": with faults, ring"), std::string::npos) << outcome.out;
}

TEST(ViewCommand, AsksForWhatIsMissing) {
  const auto error = [](const std::vector<std::string>& args) {
    return test::error_of([&] { return run(run_view, args).status; });
  };
  EXPECT_NE(error({"-t", "switch-8", "-b", "1M"}).find("--output FILE.html"), std::string::npos);
  const test::TemporaryFile file("a.html", "as before");
  EXPECT_NE(error({"-t", "switch-8", "--output", file.path()}).find("-b SIZE"), std::string::npos);
  EXPECT_NE(error({"-t", "switch-8", "-a", "ring,tree,recursive_doubling", "-b", "1M", "--output",
                   file.path()})
                .find("one, or two to compare"),
            std::string::npos);
  EXPECT_EQ(content(file), "as before");
}

}  // namespace
}  // namespace collsim::command
