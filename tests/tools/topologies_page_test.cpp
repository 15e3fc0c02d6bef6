#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

const std::string source = COLLSIM_SOURCE_DIR;

std::string listed(const std::string& format) {
  const Outcome outcome = run(topo_subcommand.run, {"list", "--format", format});
  EXPECT_EQ(outcome.status, exit_ok);
  return outcome.out;
}

TEST(TopologiesPage, IsCurrent) {
  const TextFile page = read_text_file(source + "/docs/topologies.md", "a page");
  EXPECT_EQ(page.content, listed("markdown"))
      << "tools/dev/update-topologies-page rewrites the page";
}

TEST(TopologiesPage, SaysWhereEveryNumberOfATemplateComesFrom) {
  // Each row of the last two tables ends with what the file opens with.
  std::istringstream lines(listed("markdown"));
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| [")) continue;
    EXPECT_FALSE(line.ends_with("|  |") && line.find("nodes/") != std::string::npos) << line;
    ++rows;
  }
  EXPECT_GE(rows, 100U);
}

TEST(TopologiesPage, ListsHaveALineForEveryMachine) {
  for (const std::string format : {"table", "csv", "json"}) {
    const std::string text = listed(format);
    EXPECT_NE(text.find("hgx-h200"), std::string::npos);
    EXPECT_NE(text.find("dgx-h100-x2048"), std::string::npos);
  }
  // 8 GPUs on one node, 17 links; any two at 18 x 26.56 GB/s; no fabric.
  EXPECT_NE(listed("csv").find("\nhgx-h200,\"HGX H200, 8 GPUs on NVSwitch\",8,1,17,478.08,478.08,0,"
                               "hgx-h200,,"),
            std::string::npos);
  EXPECT_THROW(listed("xml"), InputError);
}

}  // namespace
}  // namespace collsim::command
