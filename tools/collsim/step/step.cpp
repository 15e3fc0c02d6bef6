#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <utility>

#include "models/imports/machine.h"
#include "models/planning/machine_parts.h"
#include "models/planning/prices.h"
#include "models/program/call_order.h"
#include "models/program/call_program_yaml.h"
#include "models/workload/training_step.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/step/step_report.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::string_view usage =
    "collsim step MACHINE --model NAME --tp N --pp N [options]\n"
    "       collsim step PROGRAM.yaml -t MACHINE\n"
    "       collsim step --validate FILE";
constexpr std::string_view epilogue =
    "Predicts a step of training: kernels by the GPU's generation, calls by what NCCL chooses on\n"
    "the machine, and what of them nothing hides. Data parallelism fills what --tp and --pp\n"
    "leave of the GPUs. Also runs a program of calls and kernels (`collsim: program/1`), searches\n"
    "the quickest layout (--search), and compares with published steps (--validate).\n"
    "docs/training.md has the model, its limits and its errors.\n"
    "\n"
    "  collsim step dgx-a100 --nodes 8 --model gpt-22b --tp 8 --global-batch 64 --recompute full\n"
    "  collsim step dgx-h100-x64 --model gpt3-175b --tp 4 --pp 8 --global-batch 2048 --timeline\n"
    "  collsim step dgx-h100-x16 --model llama3-70b --global-batch 256 --search\n"
    "  collsim step --validate published";

/// Three of these multiply without overflow.
constexpr std::uint32_t max_option = 1'000'000;

po::options_description step_options() {
  po::options_description options("options");
  const auto count = [](std::int64_t value) {
    return po::value<std::int64_t>()->default_value(value);
  };
  options.add_options()  //
      ("subject", po::value<std::string>(),
       "a machine, or a program file; --subject may be omitted")  //
      ("topology,t", po::value<std::string>(), "the machine of a program file")(
          "nodes", po::value<std::int64_t>(), "as many nodes of the machine's kind")  //
      ("ranks,n", po::value<std::int64_t>(), "GPUs that take part (default: all)")    //
      ("model", po::value<std::string>(), "a transformer of `collsim list` or docs/training.md")(
          "tp", count(1), "tensor-parallel ranks")("pp", count(1), "pipeline stages")(
          "cp", count(1), "context-parallel ranks")("ep", count(1), "expert-parallel ranks")(
          "interleave", count(1), "chunks of layers of a pipeline stage")(
          "zero", count(0), "0; 1: optimizer sharded; 2: and gradients; 3: and parameters (FSDP)")(
          "shard", count(0), "with --zero 3: ranks that share a copy (default: all)")(
          "keep", po::bool_switch(), "with --zero 3: keep parameters until the backward pass")(
          "micro-batch", count(1), "sequences of a microbatch")(
          "global-batch", po::value<std::int64_t>(),
          "sequences of a step (default: one microbatch a rank)")(
          "seq", po::value<std::int64_t>(), "tokens of a sequence (default: the model's)")(
          "precision", po::value<std::string>()->default_value("bf16"),
          "fp16, bf16, fp8, bf16-pure or amp")(
          "recompute", po::value<std::string>()->default_value("none"), "none, selective or full")(
          "attention", po::value<std::string>()->default_value("flash2"),
          "flash2, flash1, fused or eager")("no-sequence-parallel", po::bool_switch(),
                                            "with --tp: norms are computed by all ranks")(
          "no-overlap", po::bool_switch(), "gradients are reduced after the last backward pass")(
          "bucket", po::value<Bytes>()->default_value(Bytes{25 << 20}, "25M"),
          "bytes of a gradient bucket")("gpipe", po::bool_switch(), "all forward passes first")(
          "env", po::value<std::vector<std::string>>()->composing(),
          "a variable of NCCL's, NAME=VALUE; may be repeated")(
          "simulate", po::bool_switch(), "simulate calls instead of estimating them")(
          "timeline", po::bool_switch(), "draw what each stream does")(
          "check", po::bool_switch(),
          "of a program: prove that no order of events makes it hang; exit code 1 if one does")(
          "search", po::bool_switch(), "the quickest layouts that fit into memory")(
          "validate", po::value<std::string>(),
          "compare with a file of published steps, or `published` or `h100x2`");
  add_format_option(options, formats_of_rows());
  return options;
}

std::int64_t positive(const po::variables_map& values, const char* option, std::uint32_t least) {
  return bounded_option(values, option, least, max_option);
}

Topology read_machine(const po::variables_map& values, const std::string& name) {
  if (values.contains("nodes")) {
    return compose(load_parts(name), bounded_option(values, "nodes", 1, gpu_limit));
  }
  return load_machine(name).topology;
}

MachineCalls read_calls(const po::variables_map& values, const Topology& topology) {
  MachineCalls calls;
  calls.topology = &topology;
  const auto all = topology.gpus();
  calls.gpus.assign(all.begin(), all.end());
  if (values.contains("ranks")) {
    calls.gpus.resize(
        bounded_option(values, "ranks", 1, static_cast<std::uint32_t>(calls.gpus.size())));
  }
  calls.simulate = values["simulate"].as<bool>();
  calls.run.variables = variables_option(values);
  return calls;
}

TrainingSetup read_setup(const po::variables_map& values, std::size_t gpus) {
  if (!values.contains("model")) throw InputError("step: no model", "--model NAME");
  TrainingSetup setup;
  setup.model = find_transformer(values["model"].as<std::string>());
  setup.tensor = positive(values, "tp", 1);
  setup.pipeline = positive(values, "pp", 1);
  setup.context = positive(values, "cp", 1);
  setup.expert = positive(values, "ep", 1);
  setup.interleave = positive(values, "interleave", 1);
  const std::int64_t of_replica = setup.tensor * setup.pipeline * setup.context;
  if (static_cast<std::int64_t>(gpus) % of_replica != 0) {
    throw InputError(fmt::format("--tp {} --pp {} --cp {} of {} GPUs", setup.tensor, setup.pipeline,
                                 setup.context, gpus),
                     "numbers whose product divides the GPUs");
  }
  setup.data = static_cast<std::int64_t>(gpus) / of_replica;
  setup.zero = bounded_option(values, "zero", 0, 3);
  setup.shard = positive(values, "shard", 0);
  setup.reshard = !values["keep"].as<bool>();
  setup.micro_batch = positive(values, "micro-batch", 1);
  setup.global_batch = values.contains("global-batch") ? positive(values, "global-batch", 1)
                                                       : setup.micro_batch * setup.data;
  if (values.contains("seq")) setup.sequence = bounded_option(values, "seq", 1, 1U << 24);
  setup.precision = find_precision("precision", values["precision"].as<std::string>());
  setup.recompute = find_recompute("recompute", values["recompute"].as<std::string>());
  setup.attention = find_attention("attention", values["attention"].as<std::string>());
  setup.sequence_parallel = setup.tensor > 1 && !values["no-sequence-parallel"].as<bool>();
  setup.overlap_gradients = !values["no-overlap"].as<bool>();
  setup.bucket = std::max(Bytes{1}, values["bucket"].as<Bytes>());
  if (values["gpipe"].as<bool>()) setup.order = PipelineOrder::gpipe;
  return setup;
}

std::optional<StepPrice> price_of(const std::string& gpu) {
  const PriceSheet sheet = load_prices();
  const GpuPrice* const price = find_price(sheet.rent, gpu, {});
  if (price == nullptr) return std::nullopt;
  return StepPrice{price->price, sheet.currency,
                   fmt::format("{} {}", price->from.vendor, price->from.what)};
}

/// Whether a file says that it is a program.
bool is_program(const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(name, error)) return false;
  return read_text_file(name, "a machine or a program").content.find("collsim: program/") !=
         std::string::npos;
}

int check_program(const std::string& file, std::ostream& out) {
  const CallOrderVerdict verdict = check_call_order(load_call_program(file));
  if (verdict.hangs) {
    fmt::print(out, "hangs: {}\n", verdict.why);
    return exit_answer_is_no;
  }
  if (verdict.hangs_one_at_a_time) {
    fmt::print(out,
               "hangs where a GPU runs one call at a time, in the order in which they are issued: "
               "{}\n",
               verdict.why);
    return exit_answer_is_no;
  }
  fmt::print(out, "cannot hang, whatever the times are\n");
  return exit_ok;
}

void run_program(const po::variables_map& values, const std::string& file, std::ostream& out) {
  CallProgram program = load_call_program(file);
  if (!values.contains("topology")) throw InputError("step: no machine", "-t MACHINE");
  const Topology topology = read_machine(values, values["topology"].as<std::string>());
  const MachineCalls calls = read_calls(values, topology);
  if (ranks_of(program) > calls.gpus.size()) {
    throw InputError(fmt::format("{}: {} ranks", file, ranks_of(program)),
                     fmt::format("at most the machine's {} GPUs", calls.gpus.size()));
  }
  StepMachine machine(calls, load_kernel_table());
  time_kernels(program, machine.kernels());
  count_alike(program, machine.per_node());
  const ProgramSchedule schedule = machine.schedule(program);
  Answer answer;
  answer.print = [&](std::ostream& to) {
    print_schedule(program, schedule, to);
    if (values["timeline"].as<bool>()) print_timeline(program, schedule, to);
  };
  answer.rows = [&] {
    std::vector<Record> rows;
    for (std::size_t i = 0; i < program.groups.size(); ++i) {
      rows.push_back(group_record(program, schedule, i));
    }
    return rows;
  };
  write_answer(format_option(values), answer, out);
}

void search(const po::variables_map& values, const std::string& name, StepMachine& machine,
            std::ostream& out, std::ostream& err) {
  LayoutSearch wanted;
  wanted.ranks = machine.gpus();
  wanted.setup = read_setup(values, machine.gpus());
  std::size_t tried = 0;
  const auto layouts = search_layouts(machine, wanted, tried);
  if (layouts.empty()) {
    throw InputError(fmt::format("no layout of '{}' on {} GPUs fits into memory",
                                 wanted.setup.model.name, wanted.ranks),
                     "more GPUs, or another --global-batch");
  }
  Answer answer;
  answer.print = [&](std::ostream& to) {
    print_layouts(layouts, to);
    fmt::print(err, "collsim: {} layouts fit\n", tried);
  };
  answer.rows = [&] {
    const auto price = price_of(machine.kernels().gpu().gpu);
    std::vector<Record> rows;
    rows.reserve(layouts.size());
    for (const FoundLayout& each : layouts) {
      rows.push_back(step_record(name, each.setup, each.step, price));
    }
    return rows;
  };
  write_answer(format_option(values), answer, out);
}

/// The timeline of a step's first microbatches.
void draw(const TrainingSetup& setup, StepMachine& machine, std::ostream& out) {
  constexpr std::int64_t drawn_turns = 2;
  const std::int64_t drawn = std::min(setup.microbatches(), drawn_turns * setup.pipeline);
  const CallProgram program = training_program(setup, machine.kernels(), drawn, machine.per_node());
  fmt::print(out, "\n{} of {} microbatches:", drawn, setup.microbatches());
  print_timeline(program, machine.schedule(program), out);
}

void predict(const po::variables_map& values, const std::string& name, std::ostream& out,
             std::ostream& err) {
  const Topology topology = read_machine(values, name);
  StepMachine machine(read_calls(values, topology), load_kernel_table());
  if (values["search"].as<bool>()) {
    search(values, name, machine, out, err);
    return;
  }
  const TrainingSetup setup = read_setup(values, machine.gpus());
  const StepPrediction step = machine.predict(setup);
  const auto price = price_of(machine.kernels().gpu().gpu);
  Answer answer;
  answer.print = [&](std::ostream& to) {
    print_step(name, setup, step, price, to);
    if (values["timeline"].as<bool>()) draw(setup, machine, to);
  };
  answer.rows = [&] { return std::vector<Record>{step_record(name, setup, step, price)}; };
  write_answer(format_option(values), answer, out);
}

void validate(const po::variables_map& values, std::ostream& out) {
  const PublishedSteps steps = load_published_steps(
      find_data_file(values["validate"].as<std::string>(), "recordings/steps"));
  const auto comparisons = compare_steps(steps, load_kernel_table());
  Answer answer;
  answer.print = [&](std::ostream& to) { print_scores(steps, score_steps(comparisons), to); };
  answer.rows = [&] {
    std::vector<Record> rows;
    rows.reserve(comparisons.size());
    for (const StepComparison& each : comparisons) rows.push_back(comparison_record(each));
    return rows;
  };
  write_answer(format_option(values), answer, out);
}

}  // namespace

int run_step(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(step_options(), usage, epilogue, "subject", args, out);
  if (!values) return exit_ok;
  if (values->contains("validate")) {
    validate(*values, out);
    return exit_ok;
  }
  const bool named = values->contains("subject");
  if (!named && !values->contains("topology")) {
    throw InputError("step: no machine", "collsim step MACHINE --model NAME, or --help");
  }
  const auto& subject = (*values)[named ? "subject" : "topology"].as<std::string>();
  if (is_program(subject)) {
    if ((*values)["check"].as<bool>()) return check_program(subject, out);
    run_program(*values, subject, out);
  } else {
    predict(*values, subject, out, err);
  }
  return exit_ok;
}

}  // namespace collsim::command
