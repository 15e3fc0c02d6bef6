#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/program/call_program_yaml.h"
#include "models/program/program_trace.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/program_check.h"
#include "tools/collsim/train/inference.h"
#include "tools/collsim/train/step_explanation.h"
#include "tools/collsim/train/step_options.h"
#include "tools/collsim/train/step_page.h"
#include "tools/collsim/train/step_range.h"
#include "tools/collsim/train/step_report.h"
#include "tools/collsim/train/training_step.h"
#include "tools/collsim/train/what_if.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double one_milli = 1e-3;
constexpr double one_giga = 1e9;
constexpr double per_million = 1e6;
constexpr double hour = 3600;
constexpr double hundred = 100;

double million_tokens(const InferenceSetup& setup, const InferencePrediction& step,
                      const StepPrice& price) {
  return price.per_hour * static_cast<double>(setup.ranks()) / hour * per_million /
         step.tokens_per_second;
}

/// A step of inference as a row for programs.
Record inference_record(const std::string& machine, const InferenceSetup& setup,
                        const InferencePrediction& step, const std::optional<StepPrice>& price) {
  const bool decodes = setup.phase == InferencePhase::decode;
  Record row;
  row["machine"] = machine;
  row["model"] = setup.model.name;
  row["phase"] = decodes ? "decode" : "prefill";
  row["gpus"] = setup.ranks();
  row["tp"] = setup.tensor;
  row["replicas"] = setup.replicas;
  row["batch"] = setup.batch;
  row["context"] = setup.context;
  row["precision"] = setup.fp8 ? "fp8" : "bf16";
  row["graph"] = setup.graph;
  row["time_ms"] = step.time.value / one_milli;
  row["time_low_ms"] =
      decodes ? Record(setup.engine.range.low * step.time.value / one_milli) : Record();
  row["time_high_ms"] =
      decodes ? Record(setup.engine.range.high * step.time.value / one_milli) : Record();
  row["compute_ms"] = step.computes.value / one_milli;
  row["exposed_tp_ms"] = step.exposed.value / one_milli;
  row["wait_ms"] = step.waits.value / one_milli;
  row["communication_share"] = step.exposed.value / step.time.value;
  row["tokens_per_s"] = step.tokens_per_second;
  row["prefill_chunk"] = setup.chunk;
  row["prompt_ms"] = setup.chunk > 0 ? Record(step.prompt.value / one_milli) : Record();
  row["tokens_per_step"] = decodes ? Record(tokens_of_step(setup)) : Record();
  row["tokens_per_user_s"] = decodes ? Record(step.tokens_per_user) : Record(nullptr);
  row["weights_GB"] = step.memory.weights / one_giga;
  row["cache_GB"] = step.memory.cache / one_giga;
  row["memory_GB"] = step.memory.all() / one_giga;
  row["fits"] = step.fits;
  row["max_sequences"] = step.max_sequences;
  row["cost_per_million_tokens"] =
      price ? Record(million_tokens(setup, step, *price)) : Record(nullptr);
  return row;
}

/// Adds the same in words: time of a token, its parts, speed, memory by part, cost.
void add_inference(const std::string& machine, const InferenceSetup& setup,
                   const InferencePrediction& step, const std::optional<StepPrice>& price,
                   Answer& answer) {
  const bool decodes = setup.phase == InferencePhase::decode;
  const double time = step.time.value / one_milli;
  answer.head({fmt::format("{} on {} GPU{} of {}: tp {}, {} replica{}", setup.model.name,
                           setup.ranks(), setup.ranks() == 1 ? "" : "s", machine, setup.tensor,
                           setup.replicas, setup.replicas == 1 ? "" : "s"),
               fmt::format("{} of {} sequence{} of {} tokens on each; {}, {}{}{}",
                           decodes ? "decoding" : "prefill", setup.batch,
                           setup.batch == 1 ? "" : "s", setup.context, setup.fp8 ? "fp8" : "bf16",
                           setup.graph ? "in a CUDA graph" : "issued by the host",
                           setup.engine.name.empty() ? "" : ", by ", setup.engine.name)});
  const auto part = [&](const char* name, Seconds of) {
    return Fact{name, fmt::format("{:>6.1f} %", hundred * of.value / step.time.value),
                of.value / one_milli, "ms", 3};
  };
  const bool guesses = setup.guessed > 0;
  std::vector<Fact> times{part(!decodes  ? "until the first token"
                               : guesses ? "a step"
                                         : "a token",
                               step.time)};
  if (decodes) {
    times.push_back({guesses ? "8 of 10 such steps took" : "8 of 10 such tokens took", "",
                     setup.engine.range.low * time,
                     fmt::format("to {:.3f} ms", setup.engine.range.high * time), 3});
  }
  times.push_back(part("kernels", step.computes));
  times.push_back(part("exposed tp", step.exposed));
  if (step.waits.value > 0) times.push_back(part("waits for the host", step.waits));
  if (guesses) times.push_back({"tokens of a step", "", tokens_of_step(setup), "", 2});
  if (setup.chunk > 0) {
    times.push_back({"first token of a prompt", fmt::format("in chunks of {}", setup.chunk),
                     step.prompt.value / one_milli, "ms", 1});
  }
  answer.figures(std::move(times));
  std::vector<Fact> rates{
      {decodes ? "tokens a second" : "prompt tokens a second", "", step.tokens_per_second, "", 0}};
  if (decodes) rates.push_back({"tokens a second and user", "", step.tokens_per_user});
  const InferenceMemory& memory = step.memory;
  rates.push_back({"memory of a GPU",
                   fmt::format("weights {:.1f}, keys and values {:.1f}", memory.weights / one_giga,
                               memory.cache / one_giga),
                   memory.all() / one_giga, step.fits ? "GB:" : "GB (too much):"});
  rates.push_back({"sequences that fit", "", step.max_sequences});
  if (price) rates.push_back(token_fact(million_tokens(setup, step, *price), *price));
  answer.figures(std::move(rates));
}

/// What a step is asked, and the command that asks it.
struct StepRequest {
  const po::variables_map& values;
  std::string command;
};

/// Writes the timeline to the file that --trace names, if it does.
void write_trace(const po::variables_map& values, const CallProgram& program,
                 const ProgramSchedule& schedule) {
  if (!values.contains("trace")) return;
  replace_file(values["trace"].as<OutputFile>().name, program_trace(program, schedule));
}

void run_program(const StepRequest& request, const std::string& file, std::ostream& out) {
  const po::variables_map& values = request.values;
  CallProgram program = load_call_program(file);
  if (!values.contains("topology")) throw InputError("train: no machine", "-t MACHINE");
  const PlacedMachine placed = machine_of_step(values, values["topology"].as<std::string>());
  const MachineCalls calls = calls_of_step(values, placed);
  if (ranks_of(program) > calls.gpus.size()) {
    throw InputError(fmt::format("{}: {} ranks", file, ranks_of(program)),
                     fmt::format("at most the machine's {} GPUs", calls.gpus.size()));
  }
  StepMachine machine(calls, load_kernel_table());
  time_kernels(program, machine.kernels());
  count_alike(program, machine.per_node());
  if (!calls.run.graph && !program.measured) launch_calls_apart(program, launch_of_call);
  const ProgramSchedule schedule = machine.schedule(program);
  write_trace(values, program, schedule);
  Answer answer = program_answer(program, schedule, request.command);
  if (values["timeline"].as<bool>()) {
    answer.draw([&](std::ostream& to) { print_timeline(program, schedule, to); });
  }
  write_answer(format_option(values), answer, out);
}

int search(const StepRequest& request, const std::string& name, const MachineCalls& calls,
           std::ostream& out, std::ostream& err) {
  require_heeded(request.values,
                 {{"bucket", request.values["bucket"].as<std::string>() != "auto", "a layout"}});
  LayoutSearch wanted;
  wanted.setup = read_setup(request.values, calls.gpus.size());
  wanted.by_speed = request.values["by-speed"].as<bool>();
  const KernelTable table = load_kernel_table();
  const FoundLayouts found = search_layouts(calls, table, wanted);
  const auto& layouts = found.layouts;
  const auto& counts = found.counts;
  if (layouts.empty()) fmt::print(err, "collsim: {}\n", why_none(counts, wanted.setup));
  const auto price = price_of(StepMachine(calls, table).kernels().gpu().gpu);
  Table rows;
  for (const FoundLayout& each : layouts) {
    add_step_row(name, each.setup, each.step, price, rows);
  }
  const Format format = format_option(request.values);
  write_answer(format, search_answer(name, std::move(rows), request.command), out);
  if (format == Format::table) fmt::print(err, "collsim: {} layouts fit\n", counts.fit);
  return layouts.empty() ? exit_answer_is_no : exit_ok;
}

/// The price of a GPU's hour; nothing for what does not fit, and so cannot run.
std::optional<StepPrice> price_of_run(const StepMachine& machine, bool fits) {
  return fits ? price_of(machine.kernels().gpu().gpu) : std::nullopt;
}

/// That the host takes longer to issue a layer than the GPU to run it; nothing where it does not.
std::string host_words(const TrainingSetup& setup, const KernelTimes& kernels) {
  const double layers =
      static_cast<double>(setup.model.layers) / static_cast<double>(setup.pipeline);
  const double layer = kernels_of_microbatch(setup, kernels).value / layers;
  const Seconds host = host_of_layer(setup, kernels.constants(), false) +
                       host_of_layer(setup, kernels.constants(), true);
  if (host.value <= layer) return {};
  return fmt::format(
      "The host takes {:.2f} ms to issue a layer, forward and backward, and the GPU {:.2f} ms to "
      "run it: the step waits for the host.",
      host.value / one_milli, layer / one_milli);
}

/// The program of a step's first microbatches, as its timeline shows them.
CallProgram drawn_program(const TrainingSetup& setup, StepMachine& machine) {
  constexpr std::int64_t drawn_turns = 2;
  const std::int64_t drawn = std::min(setup.microbatches(), drawn_turns * setup.pipeline);
  return training_program(setup, machine.kernels(), drawn, machine.per_node());
}

int infer(const StepRequest& request, const std::string& name, StepMachine& machine,
          std::ostream& out) {
  const InferenceSetup setup = read_inference(request.values, machine.gpus());
  const InferencePrediction step = predict_inference(machine, setup);
  const auto price = price_of_run(machine, step.fits);
  const CallProgram program = inference_program(setup, machine.kernels(), machine.per_node());
  const ProgramSchedule schedule = machine.schedule(program);
  write_trace(request.values, program, schedule);
  const Record row = inference_record(name, setup, step, price);
  Answer answer = inference_answer(row, program, schedule, request.command);
  add_inference(name, setup, step, price, answer);
  if (request.values["timeline"].as<bool>()) {
    answer.draw([&](std::ostream& to) { print_timeline(program, schedule, to); });
  }
  add_numbers(row, answer);
  write_answer(format_option(request.values), answer, out);
  return step.fits ? exit_ok : exit_answer_is_no;
}

int train(const StepRequest& request, const std::string& name, StepMachine& machine,
          std::ostream& out) {
  const po::variables_map& values = request.values;
  TrainingSetup setup = read_setup(values, machine.gpus());
  require_layout_options(values, setup);
  const auto straggler = read_straggler(values, machine.gpus());
  std::vector<BucketTime> buckets;
  if (values["bucket"].as<std::string>() == "auto") {
    buckets = try_buckets(machine, setup, straggler);
    setup.bucket = quickest(buckets).bucket;
  }
  const bool by_speed = values["by-speed"].as<bool>();
  if (by_speed && straggler) throw InputError("both --by-speed and --straggler", "one of them");
  const StepPrediction step =
      by_speed ? machine.predict_by_speed(setup) : machine.predict(setup, straggler);
  std::vector<Remedy> remedies;
  if (values["advise"].as<bool>()) {
    remedies = try_remedies({values, name, machine.gpus(), setup, step.time, machine, straggler});
  }
  const auto price = price_of_run(machine, step.fits);
  const CallProgram program = drawn_program(setup, machine);
  const ProgramSchedule schedule = machine.schedule(program);
  write_trace(values, program, schedule);
  Record row = step_record(name, setup, step, price);
  if (by_speed) add_division(row, step);
  Answer answer = step_answer(row, program, schedule, request.command);
  add_step(name, setup, step, price, answer);
  if (const std::string words = host_words(setup, machine.kernels()); !words.empty()) {
    answer.say(words);
  }
  if (by_speed) answer.say(division_words(setup, step));
  if (straggler) answer.say(straggler_words(*straggler, step, machine.predict(setup)));
  if (!buckets.empty()) {
    answer.sections.push_back({"", {}, {}, {bucket_table(buckets)}});
    answer.sections.back().apart = true;
  }
  if (values["advise"].as<bool>()) answer.sections.push_back(remedy_section(step, remedies));
  if (values["timeline"].as<bool>()) {
    answer.draw([&](std::ostream& to) {
      fmt::print(to, "\n{} of {} microbatches:", std::min(setup.microbatches(), 2 * setup.pipeline),
                 setup.microbatches());
      print_timeline(program, schedule, to);
    });
  }
  add_numbers(row, answer);
  const Format format = format_option(values);
  require_heeded(
      values, {{"advise", format == Format::table || is_report(format), "--format table or html"}});
  write_answer(format, answer, out);
  return step.fits ? exit_ok : exit_answer_is_no;
}

/// The machine or program that is asked about.
std::string subject_of(const po::variables_map& values) {
  for (const char* const option : {"subject", "topology"}) {
    if (values.contains(option)) return values[option].as<std::string>();
  }
  throw InputError("train: no machine", "collsim train MACHINE --model NAME, or --help");
}

void validate(const StepRequest& request, std::ostream& out) {
  heed_only(request.values, train_subcommand, {"--validate"});
  const PublishedSteps steps = load_published_steps(
      find_data_file(request.values["validate"].as<std::string>(), "recordings/steps"));
  const auto comparisons = compare_steps(steps, load_kernel_table());
  std::vector<Record> rows;
  rows.reserve(comparisons.size());
  for (const StepComparison& each : comparisons) rows.push_back(comparison_record(each));
  Answer answer = validation_answer(std::move(rows), request.command);
  answer.sections.push_back(score_section(steps, score_steps(comparisons)));
  write_answer(format_option(request.values), answer, out);
}

std::vector<Mode> train_modes() {
  const std::string machine = job_machine_options() + "subject ";
  const std::string model =
      "model global-batch seq precision attention tp-overlap bucket gpipe cp cp-gather ep shard "
      "no-reshard graph ";
  const std::string layout =
      "software tp pp interleave zero micro-batch recompute no-sequence-parallel no-overlap "
      "straggler kernel-time host-time ";
  return {
      {"--validate", "validate"},
      {"a program", machine + "graph trace", "timeline"},
      {"--search", machine + model + "by-speed search"},
      {"--measured", machine + model + layout + "measured"},
      {"one training layout", machine + model + layout + "by-speed trace advise", "timeline"},
  };
}

int run_train(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(train_subcommand, args, out);
  if (!values) return exit_ok;
  const StepRequest request{*values, command_text("train", args)};
  if (values->contains("validate")) {
    validate(request, out);
    return exit_ok;
  }
  const std::string subject = subject_of(*values);
  if (values->contains("subject") && is_program(subject)) {
    heed_only(*values, train_subcommand, {"a program"});
    run_program(request, subject, out);
    return exit_ok;
  }
  require_heeded(*values, {{"topology", !values->contains("subject"), "a program"}});
  if (values->contains("measured")) {
    heed_only(*values, train_subcommand, {"--measured"});
    return explain_step(*values, args, out, err);
  }
  const bool searches = (*values)["search"].as<bool>();
  heed_only(*values, train_subcommand, {searches ? "--search" : "one training layout"});
  const PlacedMachine placed = machine_of_step(*values, subject);
  const MachineCalls calls = calls_of_step(*values, placed);
  StepMachine machine(calls, kernels_of_step(*values));
  warn_of_kernels(machine, err);
  return searches ? search(request, subject, calls, out, err)
                  : train(request, subject, machine, out);
}

}  // namespace

const Subcommand train_subcommand{
    .name = "train",
    .summary = "how long a step of training takes: layouts, exposed communication, memory",
    .usages = {"MACHINE --model NAME --tp N --pp N [options]",
               "MACHINE --model NAME --search [options]",
               "MACHINE --model NAME --measured TIME|LOG|TRACE... [options]",
               "PROGRAM.yaml -t MACHINE", "--validate FILE"},
    .answers =
        "Says how long a step of training takes: kernels by the GPU's generation, calls by what "
        "NCCL chooses on the machine, and what of them nothing hides. Data parallelism fills what "
        "--tp, --pp and --cp leave of the GPUs.",
    .manual =
        "--search finds the quickest layout, --measured explains a step that was measured. Also "
        "runs a program of calls and kernels (`collsim: program/1`), and compares with published "
        "steps. --set and --placement are as in `collsim plan`. docs/training.md has the model, "
        "its limits and its errors.",
    .examples =
        {"train dgx-a100 --nodes 8 --model gpt-22b --tp 8 --global-batch 64 --recompute full",
         "train dgx-h100 --nodes 4 --model llama3-8b --zero 3 --measured train.log",
         "train my-program.yaml -t dgx-h100"},
    .argument = "subject",
    .first = "nodes model global-batch tp pp zero micro-batch recompute search format",
    .modes = train_modes(),
    .formats = formats_with_page(),
    .values = {{"precision", text("TYPE", "bf16")}, {"bucket", text("SIZE", "25M")}},
    .run = run_train,
};

int run_serve(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(serve_subcommand, args, out);
  if (!values) return exit_ok;
  heed_only(*values, serve_subcommand, {""});
  const StepRequest request{*values, command_text("serve", args)};
  const auto& name = (*values)["topology"].as<std::string>();
  const PlacedMachine placed = machine_of_step(*values, name);
  MachineCalls calls = calls_of_step(*values, placed);
  calls.run.graph = !(*values)["eager"].as<bool>();
  StepMachine machine(calls, load_kernel_table());
  warn_of_kernels(machine, err);
  return infer(request, name, machine, out);
}

const Subcommand serve_subcommand{
    .name = "serve",
    .summary = "how long a token or a prompt takes of a served model",
    .usages = {"MACHINE --model NAME --tp N --batch N --context N [options]",
               "MACHINE --model NAME --prefill --tp N --batch N --context N [options]"},
    .answers =
        "Says how long a token takes for each of --batch sequences or, with --prefill, how long it "
        "takes until the first token of so many prompts: kernels, all-reduces, memory and price. "
        "Replicas fill what --tp leaves of the GPUs.",
    .manual =
        "--set and --placement are as in `collsim plan`. docs/training.md has the model, its "
        "limits and its errors.",
    .examples = {"serve dgx-h100 --model llama3-70b --tp 8 --batch 32 --context 4096",
                 "serve dgx-h100 --model llama3-70b --prefill --tp 8 --context 8192",
                 "serve dgx-h100 --model llama3-70b --tp 8 --eager --timeline"},
    .argument = "topology",
    .needs = "machine",
    .first = "nodes ranks model tp batch context prefill precision eager format",
    .modes = {{"",
               job_machine_options() +
                   "model tp batch context precision serving prefill-chunk speculate eager trace "
                   "prefill",
               "timeline"}},
    .formats = formats_with_page(),
    .values = {{"precision", text("TYPE", "bf16")}},
    .run = run_serve,
};

}  // namespace collsim::command
