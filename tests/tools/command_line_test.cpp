// What a person may type: bare names, sizes, nccl-tests' letters, and slips.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/help.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

using Args = std::vector<std::string>;

class CommandLine : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(COLLSIM_SOURCE_DIR); }
};

void expect_message(const Args& args, const std::string& message) {
  const Outcome outcome = run(args);
  EXPECT_EQ(outcome.status, exit_bad_input) << message;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
}

TEST_F(CommandLine, slips_get_the_name_that_was_meant) {
  expect_message({"rnu"}, "did you mean 'run'?");
  expect_message({"topo", "sho"}, "did you mean 'show'?");
  expect_message({"run", "hgx-h20"}, "did you mean 'hgx-h200'?");
  expect_message({"run", "-t", "hgx-h20"}, "did you mean 'hgx-h200'?");
  expect_message({"choose", "hgx-h20"}, "did you mean 'hgx-h200'?");
  expect_message({"run", "incident-slow-prt"}, "did you mean 'incident-slow-port'?");
  expect_message({"run", "switch-8", "-a", "rign"}, "did you mean 'ring'?");
  expect_message({"run", "switch-8", "-c", "allreduce"}, "did you mean 'all_reduce'?");
  expect_message({"steps", "-c", "alltoall"}, "did you mean 'all_to_all'?");
  expect_message({"run", "switch-8", "--rank", "4"}, "did you mean '--ranks'?");
  expect_message({"run", "switch-8", "--calibration", "h10"}, "did you mean 'h100'?");
}

TEST_F(CommandLine, a_bare_name_is_a_machine_or_a_scenario) {
  for (const std::string subcommand : {"run", "estimate", "explain", "crossover", "faults"}) {
    Args size{"-b", "1K", "--format", "json"};
    const bool takes_sweep = subcommand != "explain" && subcommand != "faults";
    if (takes_sweep) size.insert(size.end(), {"-e", "1K"});
    Args bare{subcommand, "hgx-h200-4"};
    Args by_letter{subcommand, "-t", "hgx-h200-4"};
    Args by_path{subcommand, "topologies/hgx-h200-4.yaml"};
    for (Args* args : {&bare, &by_letter, &by_path}) {
      args->insert(args->end(), size.begin(), size.end());
    }
    const Outcome outcome = run(bare);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    EXPECT_EQ(outcome.out, run(by_letter).out) << subcommand;
    EXPECT_EQ(outcome.out, run(by_path).out) << subcommand;
  }
  EXPECT_EQ(run({"run", "incident-slow-port-small", "-b", "8", "-e", "8"}).out,
            run({"run", "scenarios/incident-slow-port-small.yaml", "-b", "8", "-e", "8"}).out);
  expect_message({"run", "hgx-h200", "-t", "hgx-h200-4"}, "two machines");
}

TEST_F(CommandLine, t_is_the_machine_wherever_one_is_needed) {
  for (const Args& words : {Args{"choose"}, Args{"topo", "show"}, Args{"topo", "export"},
                            Args{"check", "--orders", "1", "-c", "broadcast"}}) {
    Args bare = words;
    bare.emplace_back("hgx-h200-4");
    Args by_letter = words;
    by_letter.insert(by_letter.end(), {"-t", "hgx-h200-4"});
    const Outcome outcome = run(bare);
    EXPECT_EQ(outcome.status, exit_ok) << outcome.err;
    EXPECT_EQ(outcome.out, run(by_letter).out);
  }
}

TEST_F(CommandLine, c_is_the_collective_wherever_there_is_one) {
  EXPECT_NE(run({"steps", "-c", "broadcast"}).out.find("broadcast: 4 ranks"), std::string::npos);
  EXPECT_NE(run({"check", "-c", "scatter", "-n", "2", "--orders", "1"}).out.find("proved"),
            std::string::npos);
}

TEST_F(CommandLine, options_of_nccl_tests_that_mean_something_else_are_explained) {
  expect_message({"run", "hgx-h200", "-g", "8"}, "-g is nccl-tests' GPUs of a thread; here -n");
  expect_message({"run", "hgx-h200", "-w", "5"}, "-w is nccl-tests' warm-up iterations; ");
  expect_message({"run", "hgx-h200", "--warmup_iters", "5"}, "--warmup_iters is nccl-tests' ");
  expect_message({"run", "hgx-h200", "-G", "1"}, "here --graph");
  expect_message({"run", "hgx-h200", "-c", "1"}, "-c 1 is nccl-tests' check of results; here -c");
  expect_message({"run", "-t", "1"}, "-t 1 is nccl-tests' threads of a process; here -n");
  expect_message({"run", "hgx-h200", "-a", "1"}, "-a 1 is nccl-tests' average");
  expect_message({"run", "hgx-h200", "-p", "1"}, "-p 1 is nccl-tests' parallel initialisation");
  expect_message({"validate", "recordings/h200.csv", "-g", "8"}, "-g is nccl-tests'");
  expect_message({"run", "hgx-h200", "-n", "20"}, "1 to 8 ranks");
}

// From 1 MiB in steps of 1.5 MiB: 1, 2.5 and 4 MiB.
TEST_F(CommandLine, i_is_the_step_between_sizes) {
  const Outcome outcome =
      run({"run", "switch-8", "-b", "1M", "-e", "4M", "-i", "1.5m", "--format", "json"});
  std::vector<std::int64_t> sizes;
  for (const auto& row : nlohmann::json::parse(outcome.out)) sizes.push_back(row["size_bytes"]);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{1048576, 2621440, 4194304}));
  expect_message({"run", "switch-8", "-b", "8", "-e", "1G", "-i", "1"}, "--stepbytes: 1");
  expect_message({"run", "switch-8", "-b", "8", "-e", "1G", "-i", "0"}, "--stepbytes: 0");
  expect_message({"run", "switch-8", "-i", "1M", "-f", "2"}, "both --stepbytes and --stepfactor");
}

/// A mode of a command, and a question in it. Of several of a mode, one shows what an option does.
struct AskedMode {
  std::string command;
  std::string mode;
  Args question;
  std::string name() const { return fmt::format("{} {}", command, mode); }
};

/// Words that each option can take; the first one that changes an answer counts.
const std::map<std::string, Args>& words_of_options() {
  static const std::map<std::string, Args> words{
      {"topology", {"dgx-a100"}},
      {"nodes", {"2", "3"}},
      {"ranks", {"1", "2"}},
      {"gpus", {"16"}},
      {"model", {"gpt-7.5b"}},
      {"tp", {"4", "1"}},
      {"pp", {"2"}},
      {"cp", {"2"}},
      {"ep", {"8", "2"}},
      {"interleave", {"2"}},
      {"zero", {"1"}},
      {"shard", {"2"}},
      {"micro-batch", {"2"}},
      {"global-batch", {"64"}},
      {"seq", {"1024"}},
      {"precision", {"fp8", "bf16"}},
      {"recompute", {"full"}},
      {"attention", {"eager"}},
      {"tp-overlap", {"backward"}},
      {"software", {"kempnerforge"}},
      {"serving", {"vllm"}},
      {"bucket", {"64M"}},
      {"env", {"NCCL_ALGO=Ring", "NCCL_NVLS_ENABLE=0", "NCCL_ALGO=Tree", "NCCL_P2P_DISABLE=1"}},
      {"trace", {"FILE"}},
      {"validate", {"published"}},
      {"batch", {"7"}},
      {"context", {"999"}},
      {"straggler", {"1:2"}},
      {"slow-nic", {"0.25"}},
      {"kernel-time", {"2"}},
      {"host-time", {"100"}},
      {"prefill-chunk", {"256"}},
      {"speculate", {"3:0.8"}},
      {"set", {"nic=100Gb/s", "inside=pcie3"}},
      {"placement", {"list:node[0]", "list:node[0,16]", "random"}},
      {"fault", {"link: node0/gpu0 - node0/nvswitch0, bandwidth: 20%"}},
      {"fabric", {"hdr-fat-tree"}},
      {"bytes", {"2GB"}},
      {"parameters", {"7B"}},
      {"collective", {"all_gather", "moe_dispatch", "all_gather_v"}},
      {"nccl-version", {"2.18", "2.27"}},
      {"compute-time", {"1s"}},
      {"scaling", {"strong"}},
      {"target-time", {"1us"}},
      {"target-share", {"1%"}},
      {"prices", {"no-such-file"}},
      {"price", {"H100=99"}},
      {"vendor", {"nobody"}},
      {"cost", {"buy"}},
      {"tokens-total", {"1T"}},
      {"deadline", {"1d"}},
      {"budget", {"10"}},
      {"hourly-budget", {"200"}},
      {"mtbf", {"10d"}},
      {"checkpoint-time", {"10min"}},
      {"restart-time", {"3h"}},
      {"repair-time", {"90d"}},
      {"spares", {"3"}},
      {"kernels", {"sglang", "deepep-low-latency"}},
      {"tokens", {"64"}},
      {"hidden", {"4096"}},
      {"top-k", {"2"}},
      {"experts", {"64"}},
      {"hosts-per-token", {"1"}},
      {"type", {"bf16"}},
      {"sms", {"8"}},
      {"skew", {"hot:4"}},
      {"matrix", {"no-such-file"}},
      {"size", {"2M"}},
      {"svg", {"FILE"}},
      {"alpha", {"1us"}},
      {"bandwidth", {"10GB/s"}},
      {"ranks-per-node", {"2"}},
      {"rank-list", {"0,2"}},
      {"datatype", {"half", "int8"}},
      {"op", {"max", "prod"}},
      {"root", {"1"}},
      {"algorithm", {"tree", "two_shot"}},
      {"protocol", {"ll", "simple"}},
      {"schedule", {"textbook", "nccl"}},
      {"channels", {"2"}},
      {"chunk", {"64K"}},
      {"minbytes", {"512"}},
      {"maxbytes", {"4M"}},
      {"stepfactor", {"1.5"}},
      {"stepbytes", {"512K"}},
      {"calibration", {"h100", "ideal"}},
      {"seed", {"7"}},
      {"engine", {"analytic"}},
      {"orders", {"1"}},
  };
  return words;
}

/// Whether an option with one of its words is refused, changes what is printed, or writes a file.
bool is_heeded_or_refused(const AskedMode& asked, const Outcome& without,
                          const TakenOption& option) {
  const std::string& name = option.option->name;
  const auto found = words_of_options().find(name);
  Args words = found == words_of_options().end() ? Args{""} : found->second;
  if (option.value.shown.empty()) words = {""};
  for (std::string& word : words) {
    const test::TemporaryFile file("written", "");
    if (word == "FILE") word = file.path().string();
    Args args = asked.question;
    args.push_back("--" + name);
    if (!word.empty()) args.push_back(word);
    const Outcome outcome = run(args);
    const bool writes = word == file.path() && std::filesystem::file_size(file.path()) > 0;
    if (outcome.status != without.status || outcome.out != without.out || writes) return true;
  }
  return false;
}

/// A call of 64 to 128 KiB on four GPUs.
Args call_of(const std::string& command, const Args& more) {
  Args args{command, "hgx-h200-4", "-b", "64K"};
  if (command != "explain") args.insert(args.end(), {"-e", "128K"});
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

/// What else shows an option: sizes of a few elements, large ones, and more nodes.
std::vector<AskedMode> more_modes() {
  const std::string programs = COLLSIM_SOURCE_DIR "/tests/data/programs/";
  const std::string by_nccl = "NCCL's schedule";
  const std::string textbook = "a textbook schedule";
  std::vector<AskedMode> all{
      {"train", "a program", {"train", programs + "decode-large.yaml", "-t", "dgx-h100"}},
      {"train",
       "a program",
       {"train", programs + "two-nodes.yaml", "-t", "dgx-h100", "--nodes", "2"}},
      {"train",
       "one training layout",
       {"train", "dgx-h100", "--nodes", "2", "--model", "llama3-8b", "--tp", "8", "--global-batch",
        "16"}},
      {"train",
       "--measured",
       {"train", "dgx-h100", "--nodes", "2", "--model", "llama3-8b", "--tp", "8", "--global-batch",
        "16", "--measured", "3s"}},
      {"moe", "--size", {"moe", "dgx-h100-x2", "-c", "all_to_all_v", "--size", "64M"}},
      {"run", by_nccl, {"run", "dgx-h100-x4", "-b", "64M", "--format", "csv"}},
      {"run",
       textbook,
       {"run", "dgx-h100-x4", "-b", "1M", "--format", "csv", "--schedule", "textbook", "-a",
        "ring"}},
      {"estimate", by_nccl, {"estimate", "hgx-h200-4", "-b", "64M", "--format", "csv"}},
      {"estimate",
       textbook,
       {"estimate", "hgx-h200-4", "-b", "64K", "--format", "csv", "--schedule", "textbook", "-a",
        "ring"}},
      {"explain",
       textbook,
       {"explain", "hgx-h200-4", "-b", "70", "--schedule", "textbook", "-a", "ring"}},
      {"explain", "--kernels", {"explain", "hgx-h200-4", "-b", "64M", "--kernels", "vllm"}},
      {"explain", "--registered", call_of("explain", {"--registered", "-c", "all_gather"})},
  };
  all.push_back(
      {"serve", "", {"serve", "dgx-h100", "--nodes", "2", "--model", "llama3-8b", "--tp", "16"}});
  for (const std::string command : {"run", "estimate", "explain"}) {
    all.push_back({command, "--kernels", {command, "hgx-h200-4", "-b", "70", "--kernels", "vllm"}});
  }
  return all;
}

/// Small questions, at least one for each mode.
std::vector<AskedMode> asked_modes() {
  const std::string program = COLLSIM_SOURCE_DIR "/tests/data/programs/decode-small.yaml";
  std::vector<AskedMode> all{
      {"train", "--validate", {"train", "--validate", "h100x2"}},
      {"train", "a program", {"train", program, "-t", "hgx-h200-2"}},
      {"train",
       "--measured",
       {"train", "dgx-h100", "--model", "llama3-8b", "--tp", "8", "--global-batch", "8",
        "--measured", "3s"}},
      {"serve", "", {"serve", "dgx-h100", "--model", "llama3-8b", "--tp", "8"}},
      {"train",
       "one training layout",
       {"train", "dgx-h100", "--model", "llama3-8b", "--tp", "8", "--global-batch", "8"}},
      {"plan", "", {"plan", "dgx-h100", "--nodes", "1,2", "-b", "1GB"}},
      {"plan serve", "", {"plan", "serve", "dgx-h100", "--model", "llama3-8b", "--tp", "2"}},
      {"plan moe", "", {"plan", "moe", "dgx-h100", "--ep", "16", "--tokens", "128"}},
      {"moe", "a mixture of experts", {"moe", "dgx-h100-x2", "--tokens", "128"}},
      {"moe", "--size", {"moe", "dgx-h100", "-c", "all_to_all_v", "--size", "1M"}},
      {"check", "a program", {"check", program}},
      {"check", "textbook plans", {"check", "-a", "all", "-n", "4"}},
      {"check", "NCCL's plans", {"check", "hgx-h200-4", "-c", "all_reduce"}},
  };
  for (const std::string command : {"run", "estimate", "explain"}) {
    all.push_back({command, "NCCL's schedule", call_of(command, {})});
    all.push_back({command, "--kernels", call_of(command, {"--kernels", "vllm"})});
    all.push_back({command, "--registered", call_of(command, {"--registered"})});
    all.push_back({command, "a textbook schedule",
                   call_of(command, {"--schedule", "textbook", "-a", "ring"})});
  }
  return all;
}

/// Options whose effect no answer shows.
bool is_without_effect(const AskedMode& asked, const std::string& option) {
  // Of plans that are right, any orders prove as much.
  return asked.command == "check" && option == "seed";
}

/// Every command and action, by the words that name it.
std::map<std::string, const Subcommand*> all_subcommands() {
  std::map<std::string, const Subcommand*> all;
  for (const Subcommand& each : subcommands()) {
    all.emplace(each.name, &each);
    if (each.actions == nullptr) continue;
    for (const Subcommand& action : each.actions()) all.emplace(action.name, &action);
  }
  return all;
}

/// The options of a command by their names, without those that all take and its arguments.
std::map<std::string, TakenOption> own_options(const Subcommand& subcommand) {
  std::map<std::string, TakenOption> own;
  for (const TakenGroup& group : options_of(subcommand)) {
    for (const TakenOption& taken : group.options) own.emplace(taken.option->name, taken);
  }
  for (const std::string name : {"help", "time-limit", "format"}) own.erase(name);
  own.erase(subcommand.argument);
  return own;
}

// Every option in every mode: given, it changes the answer or is refused.
TEST_F(CommandLine, no_option_is_passed_over) {
  const auto all_of_them = all_subcommands();
  std::map<std::string, std::map<std::string, TakenOption>> passed_over;  // by mode
  std::vector<AskedMode> questions = asked_modes();
  const std::vector<AskedMode> more = more_modes();
  questions.insert(questions.end(), more.begin(), more.end());
  for (const AskedMode& asked : questions) {
    const Outcome without = run(asked.question);
    EXPECT_LE(without.status, exit_answer_is_no) << asked.name() << ": " << without.err;
    auto& left = passed_over.try_emplace(asked.name(), own_options(*all_of_them.at(asked.command)))
                     .first->second;
    std::erase_if(left, [&](const auto& each) {
      return is_without_effect(asked, each.first) ||
             is_heeded_or_refused(asked, without, each.second);
    });
  }
  std::string all;
  for (const auto& [mode, options] : passed_over) {
    for (const auto& [option, taken] : options) all += fmt::format("{} --{}\n", mode, option);
  }
  EXPECT_EQ(all, "");
}

// One name has one text, whatever command it stands in, and no text has two names.
TEST(OptionTable, has_each_name_and_each_text_once) {
  std::set<std::string> names;
  std::set<std::string> texts;
  for (const OptionGroup& group : option_groups()) {
    for (const Option& option : group.options) {
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      EXPECT_TRUE(texts.insert(option.text).second) << option.text;
    }
  }
  for (const auto& pairs : {exclusive_options(), needed_options()}) {
    for (const auto& [one, other] : pairs) {
      EXPECT_TRUE(names.contains(std::string(one)) && names.contains(std::string(other))) << one;
    }
  }
  std::set<std::string> taken;
  for (const auto& [command, subcommand] : all_subcommands()) {
    for (const TakenGroup& group : options_of(*subcommand)) {
      for (const TakenOption& each : group.options) taken.insert(each.option->name);
    }
  }
  EXPECT_EQ(taken, names) << "an option that no command takes";
}

// -h is a page, of options that the command takes; the manuals of the largest fit 90 lines.
TEST(Help, fits_a_screen) {
  const auto lines_of = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  constexpr auto screen = 40;
  constexpr auto manual = 90;
  EXPECT_LT(lines_of(run({"-h"}).out), screen);
  for (const auto& [command, subcommand] : all_subcommands()) {
    const std::string page = short_help(*subcommand);
    EXPECT_LT(lines_of(page), screen) << command;
    std::istringstream first(subcommand->first);
    int count = 0;
    for (std::string name; first >> name; ++count) {
      EXPECT_NE(page.find("--" + name), std::string::npos) << command << " --" << name;
    }
    EXPECT_LE(count, 10) << command;
    for (const auto& [name, value] : subcommand->values) {
      EXPECT_TRUE(own_options(*subcommand).contains(name) || name == subcommand->argument)
          << command << " --" << name;
    }
  }
  for (const std::string command : {"train", "plan"}) {
    EXPECT_LT(lines_of(run({command, "--help"}).out), manual) << command;
  }
}

// What the command was called, or its options, before: the message has the new words.
TEST_F(CommandLine, old_spellings_name_the_new) {
  expect_message({"step", "dgx-h100", "--model", "llama3-8b"}, "collsim train");
  expect_message({"step", "dgx-h100", "--decode"}, "collsim serve");
  expect_message({"step", "dgx-h100", "--prefill"}, "collsim serve MACHINE --model NAME --prefill");
  expect_message({"step", "program.yaml", "--check"}, "collsim check");
  expect_message({"exchange", "dgx-h100"}, "collsim moe");
  expect_message({"plan", "dgx-h100", "--nodes", "2", "--step"}, "collsim plan train");
  expect_message({"plan", "dgx-h100", "--tp", "8", "--decode"}, "collsim plan serve");
  expect_message({"plan", "dgx-h100", "--exchange"}, "collsim plan moe");
  expect_message({"train", "dgx-h100", "--keep"}, "--no-reshard");
  expect_message({"topo", "show", "hgx-h200", "--matrix"}, "--pairs");
}

TEST(Sizes, take_fractions_and_letters_of_either_case) {
  EXPECT_EQ(parse_size("x", "100k").count, 100 * 1024);
  EXPECT_EQ(parse_size("x", "1.5M").count, 1572864);
  EXPECT_EQ(parse_size("x", "0.5g").count, 536870912);
  EXPECT_EQ(parse_size("x", "8").count, 8);
  EXPECT_EQ(parse_size("x", "1 MB").count, 1'000'000);
  EXPECT_EQ(parse_size("x", "1.5 KiB").count, 1536);
  EXPECT_EQ(parse_size("x", "1024T").count, std::int64_t{1} << 50);
}

TEST(Sizes, are_whole_bytes_and_not_negative) {
  for (const char* wrong : {"1.3", "0.0001k", "-1", "-0", "1e3", "1.5.2M", "M", "", "8X", "nan",
                            "inf", "0x10", "1025T", "1.5MM", " 8"}) {
    EXPECT_THROW(parse_size("x", wrong), InputError) << wrong;
  }
}

}  // namespace
}  // namespace collsim::command
