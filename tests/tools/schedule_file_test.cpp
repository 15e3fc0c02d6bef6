// Schedules that a person wrote, in the commands that take names of algorithms.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

std::string lesson_file(const std::string& name) {
  return std::string(COLLSIM_SOURCE_DIR) + "/docs/learn/schedules/" + name;
}

const std::vector<std::pair<std::string, std::string>> twins{
    {"ring", "ring.yaml"},
    {"tree", "tree.yaml"},
    {"double_binary_tree", "double-binary-tree.yaml"},
    {"recursive_halving_doubling", "halving-doubling.yaml"}};

std::vector<double> times_of(const std::string& command, const std::string& algorithm) {
  const std::string out =
      output_of({command, "--alpha", "1us", "--bandwidth", "50GB/s", "-n", "8", "-a", algorithm,
                 "-b", "1K", "-e", "64M", "-f", "64", "--format", "json"});
  std::vector<double> times;
  for (const nlohmann::json& row : nlohmann::json::parse(out)) times.push_back(row["time_us"]);
  return times;
}

TEST(ScheduleFile, RunsAsTheBuiltInAlgorithmToTheDigit) {
  for (const auto& [name, file] : twins) {
    EXPECT_EQ(times_of("run", lesson_file(file)), times_of("run", name)) << name;
  }
}

// Of alpha and bandwidth alone, formulas and messages agree but for the order of additions.
TEST(ScheduleFile, IsEstimatedAsTheBuiltInAlgorithm) {
  for (const auto& [name, file] : twins) {
    const std::vector<double> written = times_of("estimate", lesson_file(file));
    const std::vector<double> built_in = times_of("estimate", name);
    ASSERT_EQ(written.size(), built_in.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
      EXPECT_NEAR(written[i] / built_in[i], 1, 1e-9) << name;
    }
  }
}

TEST(ScheduleFile, IsTakenByEveryCommand) {
  const std::vector<std::string> machine{"--alpha", "1us", "--bandwidth", "50GB/s", "-n", "8"};
  const auto with = [&](std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), machine.begin(), machine.end());
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  };
  const std::string file = lesson_file("halving-doubling.yaml");
  const test::TemporaryFile page("page.html", "");
  EXPECT_EQ(run({"check", "-a", file, "--ranks", "4,8"}).status, exit_ok);
  EXPECT_EQ(run({"steps", "-a", file, "-n", "8"}).status, exit_ok);
  EXPECT_EQ(with({"explain", "-a", file}, {"-b", "1M"}).status, exit_ok);
  EXPECT_EQ(with({"crossover", "-a", file + ",ring"}, {}).status, exit_ok);
  EXPECT_EQ(with({"view", "-a", file}, {"-b", "64K", "--output", page.path()}).status, exit_ok);
  const Outcome wrong_ranks = run({"steps", "-a", file, "-n", "6"});
  EXPECT_EQ(wrong_ranks.status, exit_bad_input);
  EXPECT_NE(wrong_ranks.err.find("on 6 ranks; a power of two of ranks"), std::string::npos)
      << wrong_ranks.err;
  const Outcome other = run({"steps", "-a", file, "-n", "8", "-c", "broadcast"});
  EXPECT_EQ(other.status, exit_bad_input);
  EXPECT_NE(other.err.find("is a schedule of all_reduce, not of broadcast"), std::string::npos);
}

// The file says that it is of all_gather: -c need not.
TEST(ScheduleFile, says_itself_which_collective_it_is_of) {
  const std::string file = COLLSIM_SOURCE_DIR "/tests/data/msccl/allgather-direct-3.xml";
  const std::string checked = output_of({"check", "-a", file});
  EXPECT_NE(checked.find("credits"), std::string::npos) << checked;
  const std::string run = output_of({"run", "--alpha", "1us", "--bandwidth", "50GB/s", "-n", "3",
                                     "-a", file, "-b", "1M", "-e", "1M"});
  EXPECT_NE(run.find("all_gather"), std::string::npos) << run;
}

// Two pairs add, then each copies the other's sum over its own (exercise 3): rank 0's contribution
// is gone from rank 0 when 2 -> 0 copies.
TEST(ScheduleFile, AWrongOneIsToldEverywhere) {
  const std::string file = lesson_file("exercise-3.yaml");
  const std::string fault =
      "rank 0 lacks rank 0's contribution to chunk 0: step 2, 2 -> 0, copies over it at rank 0";
  const Outcome check = run({"check", "-a", file});
  EXPECT_EQ(check.status, exit_answer_is_no);
  EXPECT_NE(check.out.find(fault), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("exercise-3.yaml:14:9"), std::string::npos) << check.out;
  const Outcome steps = run({"steps", "-a", file, "-n", "4"});
  EXPECT_EQ(steps.status, exit_answer_is_no);
  EXPECT_NE(steps.err.find(fault), std::string::npos) << steps.err;
  const test::TemporaryFile page("wrong.html", "");
  const std::vector<std::string> machine{"--alpha", "1us", "--bandwidth", "50GB/s",
                                         "-n",      "4",   "-b",          "64K"};
  std::vector<std::string> view{"view", "-a", file, "--output", page.path()};
  view.insert(view.end(), machine.begin(), machine.end());
  const Outcome viewed = run(view);
  EXPECT_EQ(viewed.status, exit_ok);
  EXPECT_NE(viewed.out.find(fault), std::string::npos) << viewed.out;
  std::vector<std::string> timed{"run", "-a", file, "-e", "64K"};
  timed.insert(timed.end(), machine.begin(), machine.end());
  EXPECT_NE(run(timed).err.find("is no all_reduce: " + fault), std::string::npos);
}

/// Schedules that move too little for what they say that they are, or far more than they need.
std::vector<std::pair<std::string, std::string>> odd_schedules() {
  std::vector<std::pair<std::string, std::string>> texts;
  const auto add = [&](const std::string& collective, const std::string& rest) {
    texts.emplace_back(collective, "collsim: schedule/1\ncollective: " + collective + "\n" + rest);
  };
  const std::string one = "steps:\n  - do:\n      - 0 -> 1: chunk 0, copy\n";
  for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                 "reduce", "gather", "scatter", "send_recv"}) {
    add(collective, one);
  }
  add("all_to_all", "chunks: N*N\n" + one);
  add("all_reduce",
      "chunks: 1000\nsteps:\n  - do:\n      - for: r in 0..N-1\n        do:\n"
      "          - r -> (r+1) % N: chunk 0, reduce\n");
  add("broadcast",
      "chunks: 1\nsteps:\n  - for: r in 1..N-1\n    do:\n      - 0 -> r: chunk 0, copy\n"
      "  - for: t in 0..4000\n    do:\n      - 0 -> 1: chunk 0, copy\n");
  return texts;
}

/// MSCCL's counterparts: rank 0 sends rank 1 a chunk, once or so often.
std::string msccl_text(const std::string& collective, int times) {
  const auto block = [times](const std::string& peers, const std::string& type) {
    std::string text = "<tb id=\"0\" " + peers + " chan=\"0\">";
    for (int i = 0; i < times; ++i) {
      text += fmt::format(
          "<step s=\"{}\" type=\"{}\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" "
          "cnt=\"1\" "
          "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n",
          i, type);
    }
    return text + "</tb>";
  };
  std::string text = fmt::format(
      "<algo name=\"odd\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"4\" ngpus=\"4\" "
      "coll=\"{}\" inplace=\"1\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"0\">\n",
      collective);
  const std::array blocks{block("send=\"1\" recv=\"-1\"", "s"),
                          block("send=\"-1\" recv=\"0\"", "r"), std::string(), std::string()};
  for (std::size_t gpu = 0; gpu < blocks.size(); ++gpu) {
    text += fmt::format("<gpu id=\"{}\" i_chunks=\"4\" o_chunks=\"4\" s_chunks=\"0\">{}</gpu>\n",
                        gpu, blocks[gpu]);
  }
  return text + "</algo>\n";
}

/// Runs a schedule through the commands that take one; none may take it for a bug.
void expect_no_bug(const std::string& collective, const std::string& file) {
  const std::vector<std::string> machine{"--alpha", "1us", "--bandwidth", "50GB/s", "-n", "4"};
  const bool is_direct = collective == "gather" || collective == "scatter" ||
                         collective == "send_recv" || collective == "all_to_all";
  const std::string other = is_direct ? "direct" : "ring";
  const std::vector<std::pair<std::string, std::vector<std::string>>> calls{
      {"run", {"-a", file, "-b", "8", "-e", "64M", "-f", "4096"}},
      {"run", {"-a", file, "-b", "1M", "-e", "1M", "--exact", "--fault", "rank: 0, slow: 3"}},
      {"estimate", {"-a", file, "-b", "8", "-e", "64M", "-f", "4096"}},
      {"explain", {"-a", file, "-b", "1M"}},
      {"crossover", {"-a", file + "," + other, "-b", "1K", "-e", "16M"}},
      {"faults", {"-a", file, "-b", "1M"}},
  };
  for (const auto& [command, options] : calls) {
    std::vector<std::string> args{command, "-c", collective};
    args.insert(args.end(), machine.begin(), machine.end());
    args.insert(args.end(), options.begin(), options.end());
    const Outcome outcome = run(args);
    EXPECT_LT(outcome.status, exit_internal) << command << ' ' << collective << outcome.err;
  }
  EXPECT_LT(run({"steps", "-a", file, "-n", "4", "--values"}).status, exit_internal) << collective;
}

TEST(ScheduleFile, AWrongOrSlowOneIsNoBug) {
  for (const auto& [collective, text] : odd_schedules()) {
    const test::TemporaryFile file("odd.yaml", text);
    expect_no_bug(collective, file.path());
  }
  for (const int times : {1, 4'000}) {
    const test::TemporaryFile file("odd.xml", msccl_text("allreduce", times));
    expect_no_bug("all_reduce", file.path());
  }
}

TEST(ScheduleFile, GoesToMscclAndBack) {
  const test::TemporaryFile xml("ring.xml", "");
  EXPECT_EQ(run({"steps", "-a", "ring", "-n", "4", "--msccl", xml.path()}).status, exit_ok);
  EXPECT_EQ(run({"check", "-a", xml.path()}).status, exit_ok);
  EXPECT_EQ(run({"steps", "-a", "ring,tree", "-n", "4", "--msccl", xml.path()}).status,
            exit_bad_input);
}

// 8 ranks, alpha 1 us, 50 GB/s: the ring takes 14 us + 1.75 S/B. In the tree, five messages pass
// one port after the other each way: 6 us + 10 S/B. They meet where 8 us = 8.25 S/B, at 48,485 B.
TEST(TextbookCurves, MapAndDrawingNameTheFastest) {
  const std::vector<std::string> ask{"crossover", "--alpha", "1us", "--bandwidth", "50GB/s",
                                     "-n",        "8",       "-a",  "ring,tree"};
  auto map = ask;
  map.insert(map.end(), {"-b", "1K", "-e", "1M", "-f", "32", "--map"});
  EXPECT_NE(output_of(map).find("\n     8 T T R\n"), std::string::npos) << output_of(map);
  const test::TemporaryFile drawing("curves.svg", "");
  auto svg = ask;
  svg.insert(svg.end(), {"-b", "1K", "-e", "1M", "--svg", drawing.path()});
  EXPECT_EQ(run(svg).status, exit_ok);
  std::ifstream stream(drawing.path());
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t end = text.find("K</text>\n</svg>");
  ASSERT_NE(end, std::string::npos) << text;
  const std::size_t begin = text.rfind('>', end) + 1;
  EXPECT_NEAR(std::stod(text.substr(begin, end - begin)), 48485.0 / 1024, 0.05) << text;
  EXPECT_NE(text.find("14 alpha + 1.75 S/B"), std::string::npos);
}

TEST(TextbookCurves, ThePageIsOfAnyMachine) {
  const std::string page = output_of({"crossover", "-t", "switch-8", "-a", "ring,tree",
                                      "--schedule", "textbook", "--format", "html"});
  EXPECT_NE(page.find("all_reduce on 8 one-GPU nodes on a switch, 8 ranks"), std::string::npos)
      << page;
}

}  // namespace
}  // namespace collsim::command
