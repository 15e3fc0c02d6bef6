// collsim --complete: what may stand in the place of the last word.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using Words = std::vector<std::string>;

Words complete(Words args) {
  args.insert(args.begin(), "--complete");
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
  Words lines;
  std::istringstream text(outcome.out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(Completion, offers_subcommands_and_actions) {
  EXPECT_EQ(complete({}).size(), subcommands().size());
  EXPECT_EQ(complete({"st"}), Words{"steps"});
  EXPECT_TRUE(has(complete({"plan", "t"}), "train"));
  EXPECT_EQ(complete({"topo", "s"}), Words{"show"});
  EXPECT_TRUE(complete({"no-such-subcommand", ""}).empty());
}

TEST(Completion, offers_every_option_of_every_subcommand) {
  for (const Subcommand& each : subcommands()) {
    const Words options = complete({each.name, "--"});
    EXPECT_TRUE(has(options, "--help")) << each.name;
    EXPECT_TRUE(has(options, "--time-limit")) << each.name;
  }
  EXPECT_TRUE(has(complete({"run", "--"}), "--nccl-version"));
  EXPECT_TRUE(has(complete({"topo", "show", "--"}), "--pairs"));
}

TEST(Completion, offers_names) {
  EXPECT_TRUE(has(complete({"run", "hgx-h"}), "hgx-h200"));
  EXPECT_TRUE(has(complete({"run", "hgx-h"}), "hgx-h200-all-reduce"));  // a scenario
  EXPECT_TRUE(has(complete({"run", "-t", ""}), "dgx-h100-x64"));
  EXPECT_FALSE(has(complete({"run", "-t", ""}), "hgx-h200-all-reduce"));
  EXPECT_EQ(complete({"run", "-c", "all_r"}), Words{"all_reduce"});
  EXPECT_EQ(complete({"topo", "show", "dgx-2"}), Words{"dgx-2"});
  EXPECT_TRUE(has(complete({"train", "hgx-h200", "--model", "gpt3"}), "gpt3-175b"));
}

TEST(Completion, offers_the_words_that_an_option_takes) {
  EXPECT_EQ(complete({"run", "-p", ""}), (Words{"ll", "ll128", "simple"}));
  EXPECT_EQ(complete({"list", "--format", ""}), (Words{"json", "table"}));
  EXPECT_EQ(complete({"run", "--format=h"}), Words{"--format=html"});
  EXPECT_EQ(complete({"run", "--format", "=", "h"}), Words{"html"});  // as bash splits it
}

TEST(Completion, goes_on_with_the_last_name_of_a_list) {
  EXPECT_EQ(complete({"run", "-a", "ring,double"}), Words{"ring,double_binary_tree"});
}

TEST(Completion, leaves_files_to_the_shell) {
  EXPECT_EQ(complete({"diagnose", ""}), Words{":files"});
  EXPECT_EQ(complete({"trace", "--output", ""}), Words{":files"});
  EXPECT_TRUE(has(complete({"run", "./scen"}), ":files"));
}

/// What bash offers in the place of the last word.
std::string complete_in_bash(const std::string& words, std::size_t count) {
  const std::string script = "collsim() { " COLLSIM_COMMAND " \"$@\"; }; source " COLLSIM_SOURCE_DIR
                             "/tools/completion/collsim.bash; COMP_WORDS=(" +
                             words + "); COMP_CWORD=" + std::to_string(count - 1) +
                             "; _collsim; echo \"${COMPREPLY[*]}\"";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("bash -c '" + script + "'").c_str(), "r"),
                                                   pclose);
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    text += static_cast<char>(c);
  }
  return text;
}

TEST(Completion, works_in_bash) {
  EXPECT_EQ(complete_in_bash("collsim tr", 2), "trace train\n");
  EXPECT_EQ(complete_in_bash("collsim run --format = h", 5), "html\n");
}

}  // namespace
}  // namespace collsim::command
