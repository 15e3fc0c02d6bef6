// The command as a whole: exit codes, and where its output goes.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/fabric/simgrid_fabric.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Command, without_a_subcommand_says_how_it_is_used) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_TRUE(outcome.out.empty());
  EXPECT_NE(outcome.err.find("usage: collsim"), std::string::npos);
}

// Folders of results are often named after the machine; `trust` and so on are names of data files
// that the program itself reads.
TEST(Command, folders_named_like_shipped_files_hide_none) {
  const test::TemporaryFile here("here", "");
  const std::string folder = here.path().parent_path().string();
  const Outcome outcome =
      run_shell("cd " + folder +
                " && mkdir trust noise transformers nccl-variables ideal hgx-h200-2"
                " && " COLLSIM_COMMAND " run hgx-h200-2 -b 1K -e 1K");
  EXPECT_EQ(outcome.status, exit_ok) << outcome.out;
}

TEST(Command, every_subcommand_has_help) {
  const std::string help = run({"--help"}).out;
  for (const Subcommand& subcommand : subcommands()) {
    EXPECT_NE(help.find("\n  " + subcommand.name), std::string::npos);
    const Outcome outcome = run({subcommand.name, "--help"});
    EXPECT_EQ(outcome.status, exit_ok) << subcommand.name;
    EXPECT_NE(outcome.out.find("usage: collsim " + subcommand.name), std::string::npos);
    EXPECT_TRUE(outcome.err.empty()) << subcommand.name;
  }
}

// Nothing half-written: what cannot be answered leaves standard output empty.
TEST(Command, bad_input_is_one_message_and_exit_code_2) {
  const std::vector<std::vector<std::string>> calls{
      {"nonsense"},
      {"run"},
      {"run", "no-such-file.yaml"},
      {"run", "-t", "no-such-machine"},
      {"run", "-t", "switch-8", "-a", "rign"},
      {"run", "-t", "switch-8", "-a", "hierarchical:"},
      {"run", "-t", "switch-8", "-n", "9"},
      {"run", "-t", "switch-8", "-n", "0"},
      {"run", "-t", "switch-8", "-n", "two"},
      {"run", "-t", "switch-8", "-b", "8", "-e", "4"},
      {"run", "-t", "switch-8", "-b", "-8"},
      {"run", "-t", "switch-8", "-b", "8X"},
      {"run", "-t", "switch-8", "-e", "99999999999999999999"},
      {"run", "-t", "switch-8", "-f", "1"},
      {"run", "-t", "switch-8", "-f", "nan"},
      {"run", "-t", "switch-8", "--channels", "65"},
      {"run", "-t", "switch-8", "-p", "ll256"},
      {"run", "-t", "switch-8", "-c", "all_redcue"},
      {"run", "-t", "switch-8", "--engine", "warp"},
      {"run", "-t", "switch-8", "--format", "xml"},
      {"run", "-t", "switch-8", "--calibration", "nobody"},
      {"run", "-t", "switch-8", "--unknown"},
      {"run", "-t", "switch-8", "--rank", "4"},
      {"run", "-t", "switch-8", "one.yaml", "two.yaml"},
      {"run", "-t", "hgx-h200", "--schedule", "ncl"},
      {"run", "-t", "hgx-h200", "--ranks-per-node", "4", "-n", "5"},
      {"run", "-t", "hgx-h200", "--ranks-per-node", "0"},
      {"run", "-t", "hgx-h200", "-a", "nvls", "-c", "broadcast"},
      {"run", "-t", "hgx-h200", "-a", "ring", "-c", "all_to_all"},
      {"run", "-t", "hgx-h200", "-a", "parameter_server", "--env", "NCCL_PROTO=LL"},
      {"run", "-t", "hgx-h200", "--schedule", "textbook", "--env", "NCCL_PROTO=LL"},
      {"explain", "-t", "hgx-h200"},
      {"explain", "-t", "hgx-h200", "-b", "1M", "--format", "csv"},
      {"check", "--schedule", "textbook", "-t", "hgx-h200"},
      {"check", "--schedule", "ncl"},
      {"check", "--schedule", "nccl", "-t", "no-such-machine"},
      {"run", "-t", "hgx-h200", "--schedule", "nccl", "--channels", "3"},
      {"run", "-t", "hgx-h200", "--schedule", "nccl", "--env", "NCCL_ALGO"},
      {"run", "-t", "hgx-h200", "--schedule", "nccl", "--env", "NCCL_ALGO=Rign"},
      {"run", "-t", "hgx-h200", "--schedule", "nccl", "--nccl-version", "1.3"},
      {"run", "-t", "hgx-h200", "-c", "broadcast", "--root", "8"},
      {"estimate"},
      {"steps", "--ranks", "0"},
      {"check", "--ranks", "x"},
      {"topo"},
      {"topo", "show"},
      {"topo", "show", "no-such-machine"},
  };
  for (const auto& call : calls) {
    const Outcome outcome = run(call);
    std::string line;
    for (const std::string& word : call) line += word + " ";
    EXPECT_EQ(outcome.status, exit_bad_input) << line << outcome.err;
    EXPECT_EQ(outcome.out, "") << line;
    EXPECT_EQ(count_lines(outcome.err), 1U) << line << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("collsim: ")) << line << outcome.err;
  }
}

TEST(Command, a_calibration_that_extends_wrongly_is_exit_code_2) {
  const test::TemporaryFile file("c.yaml", "");
  for (const std::string& wrong :
       std::vector<std::string>{"extends: nobody", "extends: " + file.path().string(),
                                "time_scale: 140%", "extends: h100\ntime_scale: 0%"}) {
    const test::TemporaryFile content(
        file.path(), "collsim: calibration/1\nname: c\nsource: s\ndate: d\n" + wrong + "\n");
    const Outcome outcome = run({"run", "-t", "switch-8", "--calibration", file.path().string()});
    EXPECT_EQ(outcome.status, exit_bad_input) << wrong;
    EXPECT_EQ(outcome.out, "") << wrong;
    EXPECT_TRUE(outcome.err.starts_with("collsim: " + file.path().string() + ":")) << outcome.err;
  }
}

// The same through the command for every broken file of the loader's tests.
TEST(Command, every_broken_machine_is_exit_code_2) {
  namespace fs = std::filesystem;
  int tried = 0;
  for (const auto& entry :
       fs::directory_iterator(COLLSIM_SOURCE_DIR "/tests/cases/bad_topologies")) {
    if (entry.path().extension() != ".yaml") continue;
    const Outcome outcome = run({"run", "-t", entry.path().string(), "--format", "csv"});
    EXPECT_EQ(outcome.status, exit_bad_input) << entry.path();
    EXPECT_EQ(outcome.out, "") << entry.path();
    EXPECT_FALSE(outcome.err.empty()) << entry.path();
    ++tried;
  }
  EXPECT_GE(tried, 60);
}

TEST(Command, csv_has_its_columns_and_a_line_a_size) {
  const Outcome outcome =
      run({"run", "-t", "switch-8", "-b", "1K", "-e", "4K", "-a", "ring,tree", "--format", "csv"});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find('\n')),
            "size_bytes,count,type,redop,root,nranks,algorithm,protocol,channels,time_us,"
            "algbw_GBps,busbw_GBps,bound_us,engine,schedule,calibration,wirebw_GBps,"
            "nccl_estimate_us,measured_us,error,extent,classes,messages,trust,trust_error,"
            "time_p10_us,time_p90_us,medium,method,"
            "form_alpha_us,form_transfer_us,"
            "bound_bandwidth_us,bound_latency_us,"
            "floor_busiest_us,floor_latency_us,machine,collective,faults,nccl_version,"
            "collsim_version");
  EXPECT_EQ(count_lines(outcome.out), 1U + 2 * 3);
}

// 8 ranks, 50 GB/s, 1 us: 14 hops of 1 us + 1 MiB / 8 / 50 GB/s = 2.62144 us: 50.70016 us.
TEST(Command, json_is_one_array_with_the_columns_as_keys) {
  const Outcome outcome = run({"run", "-t", "switch-8", "-b", "1M", "-e", "1M", "--calibration",
                               "ideal", "--format", "json"});
  const auto rows = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NEAR(rows[0].at("time_us").get<double>(), 50.70016, 1e-6);
  EXPECT_NEAR(rows[0].at("algbw_GBps").get<double>(), 1048576 / 50.70016e-6 * 1e-9, 1e-6);
  EXPECT_NEAR(rows[0].at("busbw_GBps").get<double>(), 1.75 * 1048576 / 50.70016e-6 * 1e-9, 1e-6);
  EXPECT_EQ(rows[0].at("engine"), "native");
  EXPECT_EQ(rows[0].at("nranks"), 8);
}

// 2 GiB by LL128 on 8 H100 take hundreds of equal loops.
TEST(Command, run_continues_long_calls_unless_told_to_be_exact) {
  const std::vector<std::string> call{"run", "-t",    "dgx-h100-x4",   "-a",       "ring", "-b",
                                      "4G",  "--env", "NCCL_PROTO=LL", "--format", "json"};
  std::vector<std::string> exact = call;
  exact.emplace_back("--exact");
  const auto steady = nlohmann::json::parse(run(call).out)[0];
  const auto whole = nlohmann::json::parse(run(exact).out)[0];
  EXPECT_EQ(steady["extent"], "steady");
  EXPECT_EQ(whole["extent"], "whole");
  EXPECT_LT(2 * steady["messages"].get<double>(), whole["messages"].get<double>());
  const double time = whole["time_us"].get<double>();
  EXPECT_NEAR(steady["time_us"].get<double>(), time, 0.005 * time);
}

TEST(Command, a_run_over_its_time_limit_is_refused) {
  const Outcome outcome =
      run({"run", "-t", "switch-1024", "-b", "1G", "--exact", "--time-limit", "0.001"});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_NE(outcome.err.find("--time-limit"), std::string::npos);
}

TEST(Command, engine_that_the_build_lacks_is_bad_input) {
  if (has_simgrid()) GTEST_SKIP() << "built with SimGrid";
  const Outcome outcome = run({"run", "-t", "switch-8", "-b", "8", "--engine", "simgrid"});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_TRUE(outcome.out.empty());
  EXPECT_NE(outcome.err.find("built without the simgrid engine"), std::string::npos) << outcome.err;
}

TEST(Command, engines_give_the_same_answer) {
  if (!has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  const auto time = [](const std::string& engine) {
    const Outcome outcome = run({"run", "-t", "dgx-h100-x4", "-a", "hierarchical:tree", "-b", "1M",
                                 "-e", "1M", "--format", "json", "--engine", engine});
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    return nlohmann::json::parse(outcome.out)[0].at("time_us").get<double>();
  };
  const double native = time("native");
  EXPECT_NEAR(time("simgrid") / native, 1, 1e-9);
  EXPECT_NEAR(time("auto") / native, 1, 1e-15);
}

// NCCL 2.28 on 8 x H200 logs 24 channels, and LL for small all-reduces (recordings/nccl).
TEST(Command, nccls_schedule_is_what_nccl_chooses) {
  const Outcome outcome = run({"run", "-t", "hgx-h200", "--schedule", "nccl", "--nccl-version",
                               "2.28", "--env", "NCCL_NVLS_ENABLE=0", "-b", "1K", "-e", "1M", "-f",
                               "1024", "--format", "json", "--nccl-estimate"});
  ASSERT_EQ(outcome.status, exit_ok) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const auto rows = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("algorithm"), "ring");
  EXPECT_EQ(rows[0].at("protocol"), "LL");
  EXPECT_EQ(rows[0].at("channels"), 1);
  EXPECT_EQ(rows[1].at("protocol"), "LL");
  EXPECT_GT(rows[1].at("nccl_estimate_us").get<double>(), 0);
}

// On Blackwell's NVLink a ring's latency grew for gathers with 2.31, so LL128 lasts longer
// (tests/models/nccl/version_test.cpp); Hopper's rules stayed.
TEST(Command, choose_compares_two_releases) {
  const Outcome blackwell =
      run({"choose", "dgx-b200", "--nccl-version", "2.30,2.31", "--format", "json"});
  ASSERT_EQ(blackwell.status, exit_ok) << blackwell.err;
  const auto rows = nlohmann::json::parse(blackwell.out);
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) {
    EXPECT_NE(row.at("collective"), "all_reduce");
    EXPECT_EQ(row.at("choice_1"), "Ring Simple x 32");
    EXPECT_EQ(row.at("choice_2"), "Ring LL128 x 32");
    const double change = row.at("time_2_us").get<double>() / row.at("time_1_us").get<double>() - 1;
    EXPECT_DOUBLE_EQ(row.at("change"), change);
  }
  const Outcome hopper = run({"choose", "hgx-h200", "--nccl-version", "2.30,2.31"});
  EXPECT_NE(hopper.out.find("they choose alike"), std::string::npos);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"choose", "hgx-h200", "--nccl-version", "2.28,2.30,2.31"},
        {"choose", "hgx-h200", "--nccl-version", "2.28,2.30", "--registered"},
        {"choose", "hgx-h200", "--nccl-version", "2.28,2.30", "--format", "golden"},
        {"run", "hgx-h200", "--nccl-version", "2.28,2.30"},
        {"choose", "hgx-h200", "--nccl-version", "2.28,"}}) {
    EXPECT_EQ(run(args).status, exit_bad_input) << args.back();
  }
}

// What is too large is refused by the name that was asked for, not by a place in a file that
// nobody wrote.
TEST(Command, a_machine_of_too_many_gpus_is_refused_by_its_name) {
  const Outcome outcome = run({"estimate", "dgx-h100-x131073", "-b", "1M", "-e", "1M"});
  EXPECT_EQ(outcome.status, exit_bad_input);
  EXPECT_NE(outcome.err.find("dgx-h100-x131073: 131073 nodes of 8 GPUs"), std::string::npos)
      << outcome.err;
}

// Whose schedule is meant where nobody says: NCCL's, but for what only a textbook has.
TEST(Command, the_schedule_is_nccls_unless_only_the_textbook_fits) {
  const auto schedule = [](std::vector<std::string> args) {
    args.insert(args.begin(), "run");
    args.insert(args.end(), {"-b", "4K", "-e", "4K", "--format", "json"});
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    return nlohmann::json::parse(outcome.out)[0].at("schedule").get<std::string>();
  };
  EXPECT_EQ(schedule({"-t", "hgx-h200"}), "nccl");
  EXPECT_EQ(schedule({"-t", "hgx-h200", "-a", "ring"}), "nccl");
  EXPECT_EQ(schedule({"-t", "hgx-h200", "-a", "ring", "--schedule", "textbook"}), "textbook");
  EXPECT_EQ(schedule({"-t", "hgx-h200", "-a", "recursive_halving_doubling"}), "textbook");
  EXPECT_EQ(schedule({"-t", "hgx-h200", "-a", "tree", "-c", "broadcast"}), "textbook");
  EXPECT_EQ(schedule({"-t", "hgx-h200", "-a", "ring", "--channels", "4"}), "textbook");
  EXPECT_EQ(schedule({"-t", "hgx-h200", "-c", "all_to_all"}), "nccl");
  EXPECT_EQ(schedule({"-t", "hgx-h200", "-c", "all_to_all", "-a", "direct"}), "textbook");
  EXPECT_EQ(schedule({"-t", "switch-8"}), "textbook");
  EXPECT_EQ(schedule({"-t", "switch-8", "--schedule", "nccl"}), "nccl");
  EXPECT_EQ(schedule({"-t", "switch-8", "--env", "NCCL_PROTO=Simple"}), "nccl");
}

// Tree on 8 ranks: an inner rank's port carries 2 S, where a ring's would carry 14/8 S.
TEST(Command, the_rate_on_the_wire_stands_beside_busbw) {
  const Outcome outcome = run({"run", "-t", "hgx-h200", "-a", "tree", "-p", "simple", "-b", "1M",
                               "-e", "1M", "--format", "json"});
  const auto row = nlohmann::json::parse(outcome.out)[0];
  const double algbw = row.at("algbw_GBps").get<double>();
  EXPECT_NEAR(row.at("busbw_GBps").get<double>(), 1.75 * algbw, 1e-9 * algbw);
  EXPECT_NEAR(row.at("wirebw_GBps").get<double>(), 2 * algbw, 1e-9 * algbw);
}

// An 8-byte barrier would be no other than the all_reduce of one float that stands for it.
TEST(Command, a_barrier_is_an_all_reduce_of_one_element) {
  const auto time = [](const std::vector<std::string>& args) {
    return nlohmann::json::parse(run(args).out)[0].at("time_us").get<double>();
  };
  EXPECT_DOUBLE_EQ(time({"run", "-t", "hgx-h200", "-c", "barrier", "--format", "json"}),
                   time({"run", "-t", "hgx-h200", "-b", "4", "-e", "4", "--format", "json"}));
}

TEST(Command, an_nccl_variable_that_changes_nothing_is_named) {
  const Outcome outcome = run({"run", "-t", "hgx-h200", "--schedule", "nccl", "-b", "8", "-e", "8",
                               "--env", "NCCL_DEBUG=INFO", "--env", "NCCL_NO_SUCH_THING=1"});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_NE(outcome.err.find("NCCL_NO_SUCH_THING"), std::string::npos) << outcome.err;
}

TEST(Command, measured_times_stand_beside_predictions) {
  const std::string scenario = COLLSIM_SOURCE_DIR "/scenarios/hgx-h200-all-reduce.yaml";
  const Outcome outcome = run({"run", scenario, "-b", "1M", "-e", "1M", "--format", "json"});
  const auto rows = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 2U);
  // recordings/h200.csv, Ring-Simple-8, 1048576.
  EXPECT_DOUBLE_EQ(rows[0].at("measured_us").get<double>(), 69.877);
  const double predicted = rows[0].at("time_us").get<double>();
  EXPECT_NEAR(rows[0].at("error").get<double>(), predicted / 69.877 - 1, 1e-9);
}

}  // namespace
}  // namespace collsim::command
