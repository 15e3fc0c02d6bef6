#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/data_directory.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/core/waiting.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/plan/capacity_plan.h"
#include "tools/collsim/plan/plan_report.h"
#include "tools/collsim/plan/service_plan.h"
#include "tools/collsim/plan/subjects.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/change.h"
#include "tools/collsim/request/collective_option.h"
#include "tools/collsim/request/word_options.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr std::int64_t max_points = 100'000;

std::optional<std::string> given(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<std::string>();
}

std::vector<std::string> list_of(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return {};
  return values[name].as<std::vector<std::string>>();
}

/// Splits the lists of an option that may be repeated.
std::vector<std::string> items_of(const po::variables_map& values, const char* name) {
  std::vector<std::string> items;
  for (const std::string& list : list_of(values, name)) {
    for (std::string& item : split(list, ',')) items.push_back(std::move(item));
  }
  return items;
}

std::uint32_t parse_count(std::string_view option, std::string_view text) {
  const std::uint32_t count = parse_number<std::uint32_t>(text).value_or(0);
  if (count >= 1 && count <= gpu_limit) return count;
  throw InputError(fmt::format("--{}: '{}' is not a count", option, text),
                   fmt::format("numbers from 1 to {}, or a range such as 1..1024, which is taken "
                               "in powers of two",
                               gpu_limit));
}

/// "1..1024" in powers of two, "4,8,12"; rising, each once.
std::vector<std::uint32_t> parse_counts(std::string_view option, const std::string& text) {
  std::vector<std::uint32_t> counts;
  for (const std::string& item : split(text, ',')) {
    const std::size_t dots = item.find("..");
    const std::uint32_t first = parse_count(option, item.substr(0, dots));
    const std::uint32_t last =
        dots == std::string::npos ? first : parse_count(option, item.substr(dots + 2));
    if (last < first) {
      throw InputError(fmt::format("--{}: '{}' falls", option, item), "a range that rises");
    }
    for (std::uint64_t count = first; count < last; count *= 2) {
      counts.push_back(static_cast<std::uint32_t>(count));
    }
    counts.push_back(last);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

double parse_parameters(const std::string& text) {
  std::string_view rest = text;
  const double number = take_number<double>(rest).value_or(0);
  constexpr std::string_view letters = "KMBT";
  double factor = 1;
  if (rest.size() == 1 && letters.find(rest) != std::string_view::npos) {
    for (std::size_t i = 0; i <= letters.find(rest); ++i) factor *= 1000;
  }
  if ((rest.empty() || factor > 1) && number * factor >= 1 && number * factor <= 1e14) {
    return number * factor;
  }
  throw InputError(fmt::format("--parameters: '{}'", text), "a number such as 175e9, 175B or 336M");
}

std::vector<Workload> read_workloads(const po::variables_map& values) {
  std::vector<Workload> workloads;
  for (const std::string& text : items_of(values, "bytes")) {
    const Bytes bytes{parse_size("bytes", text).count / 4 * 4};
    workloads.push_back({text, bytes, {}, {}});
  }
  const std::string precision = values["precision"].as<std::string>();
  for (const std::string& name : items_of(values, "model")) {
    const CountedModel model = count_parameters(name);
    const Bytes bytes = gradient_bytes(model.parameters, precision);
    workloads.push_back({fmt::format("{} in {}", name, precision),
                         bytes,
                         {},
                         fmt::format("{:g} parameters, {:.4g} GB ({})", model.parameters,
                                     static_cast<double>(bytes.count) / 1e9, model.source)});
  }
  if (const auto parameters = given(values, "parameters")) {
    workloads.push_back({fmt::format("{} parameters in {}", *parameters, precision),
                         gradient_bytes(parse_parameters(*parameters), precision),
                         {},
                         {}});
  }
  if (workloads.empty()) {
    throw InputError("plan: nothing to move", "--bytes 350GB, --model gpt-3-175b or --parameters");
  }
  for (Workload& workload : workloads) {
    if (const auto bucket = given(values, "bucket")) {
      workload.bucket.count = parse_size("bucket", *bucket).count / 4 * 4;
    }
    if (workload.bytes.count == 0) {
      throw InputError(fmt::format("plan: {} is no size to plan for", workload.name),
                       "4 bytes or more");
    }
  }
  return workloads;
}

/// The compute time of each machine.
std::vector<Seconds> read_compute(const po::variables_map& values, std::size_t machines) {
  std::vector<Seconds> times;
  for (const std::string& text : items_of(values, "compute-time")) {
    times.push_back(quantity_above_0("compute-time", text, parse_time));
  }
  if (times.empty()) times.emplace_back();
  if (times.size() == 1) times.resize(machines, times.front());
  if (times.size() != machines) {
    throw InputError(fmt::format("--compute-time: {} times of {} machines", times.size(), machines),
                     "one time, or one for each machine");
  }
  return times;
}

std::size_t gpus_of(const MachineParts& parts) {
  return static_cast<std::size_t>(
      std::count_if(parts.node.devices.begin(), parts.node.devices.end(),
                    [](const GraphDevice& device) { return device.kind == DeviceKind::gpu; }));
}

/// The counts that are asked about of a machine.
std::vector<std::uint32_t> counts_of(const po::variables_map& values, const MachineParts& parts) {
  if (const auto gpus = given(values, "gpus")) {
    std::vector<std::uint32_t> counts;
    const auto per_node = static_cast<std::uint32_t>(gpus_of(parts));
    for (const std::uint32_t count : parse_counts("gpus", *gpus)) {
      const std::uint32_t nodes = divide_up(count, per_node);
      if (counts.empty() || counts.back() != nodes) counts.push_back(nodes);
    }
    return counts;
  }
  if (const auto nodes = given(values, "nodes")) return parse_counts("nodes", *nodes);
  if (parts.placement == NodePlacement::listed) {
    return {static_cast<std::uint32_t>(parts.listed.size())};
  }
  if (parts.nodes > 1) return {parts.nodes};
  return parse_counts("nodes", parts.fabric.empty() ? "1" : "1..64");
}

/// Throws InputError where a list of nodes has fewer than a count that is asked about.
void require_listed(const Alternative& alternative) {
  for (const std::uint32_t nodes : alternative.nodes) nodes_around(alternative.parts, nodes);
}

/// Throws InputError for a list of nodes where none are placed.
void refuse_lists(std::span<const Alternative> alternatives, std::string_view subject) {
  for (const Alternative& each : alternatives) {
    if (each.parts.placement != NodePlacement::listed) continue;
    throw InputError(fmt::format("plan {}: a list of nodes", subject), "plan train, or plan alone");
  }
}

std::vector<Alternative> read_alternatives(const po::variables_map& values) {
  const std::vector<std::string> names = split(given(values, "topology").value_or(""), ',');
  const std::vector<Seconds> compute = read_compute(values, names.size());
  // As --set has it, so that a fabric brings its NICs and its transport either way.
  std::string given_changes = "placement=" + given(values, "placement").value_or("packed");
  if (const auto fabric = given(values, "fabric")) given_changes += ",fabric=" + *fabric;
  std::vector<Alternative> alternatives;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MachineParts parts = changed(load_parts(names[i]), given_changes);
    const std::size_t base = alternatives.size();
    alternatives.push_back({parts, {}, base, counts_of(values, parts), compute[i]});
    require_listed(alternatives.back());
    for (const std::string& change : list_of(values, "set")) {
      Alternative other = alternatives[base];
      other.parts = changed(parts, change);
      other.change = change;
      require_listed(other);
      alternatives.push_back(std::move(other));
    }
  }
  return alternatives;
}

PlannedCall read_call(const po::variables_map& values) {
  PlannedCall call;
  if (values.contains("collective")) call.collective = collective_option(values);
  call.run.schedule = ScheduleKind::nccl;
  call.run.nccl_version = nccl_version_option(values).value_or(call.run.nccl_version);
  call.run.variables = variables_option(values);
  return call;
}

PlanTarget read_target(const po::variables_map& values) {
  PlanTarget target;
  if (const auto time = given(values, "target-time")) {
    target.time = quantity_above_0("target-time", *time, parse_time);
  }
  if (const auto share = given(values, "target-share")) {
    target.share = share_option("target-share", *share);
  }
  return target;
}

CostBasis cost_basis(const po::variables_map& values) {
  return values["cost"].as<std::string>() == "buy" ? CostBasis::buy : CostBasis::rent;
}

/// The shipped prices, after those of a file, after those of the command line.
PriceSheet read_prices(const po::variables_map& values, CostBasis basis) {
  const auto file = given(values, "prices");
  PriceSheet sheet = file ? load_prices(find_data_file(*file, "models/data")) : load_prices();
  std::vector<GpuPrice>& prices = basis == CostBasis::rent ? sheet.rent : sheet.buy;
  std::vector<GpuPrice> stated;
  for (const std::string& text : items_of(values, "price")) stated.push_back(parse_price(text));
  prices.insert(prices.begin(), stated.begin(), stated.end());
  return sheet;
}

CapacityRequest read_plan(const po::variables_map& values) {
  const bool by_parameters = values.contains("model") || values.contains("parameters");
  require_heeded(values, {{"precision", by_parameters, "--model or --parameters"}});
  CapacityRequest request;
  request.workloads = read_workloads(values);
  request.alternatives = read_alternatives(values);
  request.call = read_call(values);
  const bool is_strong = values["scaling"].as<std::string>() == "strong";
  request.scaling = is_strong ? Scaling::strong : Scaling::weak;
  request.target = read_target(values);
  request.basis = cost_basis(values);
  request.prices = read_prices(values, request.basis);
  request.vendor = given(values, "vendor").value_or("");
  if (values["estimate"].as<bool>()) request.budget.reset();
  std::int64_t points = 0;
  for (const Alternative& each : request.alternatives) {
    points += static_cast<std::int64_t>(each.nodes.size() * request.workloads.size());
  }
  if (points > max_points) {
    throw InputError(fmt::format("plan: {} points", points), fmt::format("at most {}", max_points));
  }
  return request;
}

PlannedAnswer plan_collectives(const po::variables_map& values, const std::string& command,
                               Waiting& waiting) {
  CapacityRequest request = read_plan(values);
  request.progress = [&](std::size_t done, std::size_t all) {
    waiting.say(fmt::format("predicting {} of {} rows", done, all));
  };
  CapacityPlan plan = plan_capacity(request);
  const bool met =
      std::any_of(plan.rows.begin(), plan.rows.end(), [](const PlanRow& row) { return row.meets; });
  return {plan_answer(request, plan, values["wide"].as<bool>(), command), std::move(plan.warnings),
          met};
}

PlannedAnswer plan_train(const po::variables_map& values, const std::string& command,
                         Waiting& waiting) {
  StepPlanRequest request;
  request.alternatives = read_alternatives(values);
  request.run = read_call(values).run;
  request.basis = cost_basis(values);
  request.prices = read_prices(values, request.basis);
  request.vendor = given(values, "vendor").value_or("");
  return plan_training(std::move(request), values, command, waiting);
}

PlannedAnswer plan_serve(const po::variables_map& values, const std::string& command,
                         Waiting& waiting) {
  std::vector<Alternative> alternatives = read_alternatives(values);
  refuse_lists(alternatives, "serve");
  waiting.say("predicting tokens");
  RunSpec run = read_call(values).run;
  if (values.contains("requests"))
    return plan_service(alternatives, std::move(run), values, command);
  return plan_decoding(std::move(alternatives), std::move(run), values, command);
}

PlannedAnswer plan_moe(const po::variables_map& values, const std::string& command,
                       Waiting& waiting) {
  std::vector<Alternative> alternatives = read_alternatives(values);
  refuse_lists(alternatives, "moe");
  waiting.say("predicting exchanges");
  return plan_expert_exchange(std::move(alternatives), values, command);
}

/// Reads the options of a subject, plans and writes the answer.
template <const Subcommand& subject, auto plan>
int run_subject(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(subject, args, out);
  if (!values) return exit_ok;
  const bool promises = values->contains("requests");
  heed_only(*values, subject, {promises ? "--requests" : ""});
  const PlannedAnswer planned = [&] {
    Waiting waiting(err, "composing machines");
    return plan(*values, command_text(std::string(subject.name), args), waiting);
  }();
  print_warnings(planned.warnings, err);
  write_answer(format_option(*values), planned.answer, out);
  return planned.met ? exit_ok : exit_answer_is_no;
}

extern const Subcommand plan_train_subcommand;
extern const Subcommand plan_serve_subcommand;
extern const Subcommand plan_moe_subcommand;

/// What machines and their networks are.
std::string planned_machines() {
  return "topology set fabric placement ";
}

/// How many of them there are, and what they cost.
std::string counted_and_priced() {
  return "nodes gpus prices price vendor cost ";
}

/// Values that differ from the table's: lists.
std::map<std::string, OptionValue> plan_values(std::map<std::string, OptionValue> others) {
  others.insert({{"nodes", text("LIST")}, {"placement", text("WHERE", "packed")}});
  return others;
}

const Subcommand plan_train_subcommand{
    .name = "plan train",
    .summary = "whole steps of training, in the quickest layout",
    .usages = {"MACHINE[,MACHINE] --model NAME --global-batch N [options]"},
    .answers =
        "Says how long a step of training takes on which machine in its quickest layout, what the "
        "run costs, and what each change is worth.",
    .manual =
        "MACHINE, --nodes and --set are as in `collsim plan`. --fault says what faults of links "
        "cost, each by itself; several at once are joined by semicolons. With --tokens-total it is "
        "a whole run, with failures and spare nodes. Exit code 1 means that no machine meets the "
        "deadline and the budget.",
    .examples =
        {"plan train dgx-h100,dgx-a100 --nodes 8..64 --model llama3-70b --global-batch 512",
         "plan train dgx-h100 --nodes 64 --model llama3-70b --global-batch 512 --tokens-total 1T",
         "plan train dgx-h100 --nodes 16 --model llama3-8b --global-batch 256 --set nic=200Gb/s"},
    .argument = "topology",
    .needs = "machine",
    .first = "nodes model global-batch seq set tokens-total deadline budget price format",
    .modes = {{"", planned_machines() + counted_and_priced() +
                       "model precision env nccl-version global-batch seq tp-overlap tokens-total "
                       "deadline budget hourly-budget mtbf checkpoint-time restart-time "
                       "repair-time spares fault by-speed"}},
    .formats = formats_with_page(),
    .values = plan_values({{"precision", text("TYPE", "bf16")}}),
    .run = run_subject<plan_train_subcommand, plan_train>,
};

const Subcommand plan_serve_subcommand{
    .name = "plan serve",
    .summary = "tokens that are decoded by tensor parallelism inside a node",
    .usages = {"MACHINE[,MACHINE] --model NAME [--tp 1,2,4,8] [options]",
               "MACHINE[,MACHINE] --model NAME --requests R --first-token T --next-token T"},
    .answers =
        "Says how many tokens a second machines decode by tensor parallelism inside a node, and at "
        "what price; or, with --requests, the fewest GPUs that keep a service level.",
    .manual = "MACHINE and --set are as in `collsim plan`. docs/serving.md has the model.",
    .examples = {"plan serve dgx-h100,dgx-b200 --model llama3-70b --tp 2,4,8 --batch 1,64",
                 "plan serve dgx-h100 --model llama3-8b --kernels sglang",
                 "plan serve dgx-h100 --model llama3-70b --context 2000 --requests 10 "
                 "--first-token 500ms --next-token 30ms"},
    .argument = "topology",
    .needs = "machine",
    .first = "model tp batch context kernels set env nccl-version format",
    .modes = {{"", "topology set model tp batch context kernels env nccl-version"},
              {"--requests",
               "topology set model tp context env nccl-version requests answer first-token "
               "next-token"}},
    .formats = formats_with_page(),
    .values = {{"tp", text("LIST", "1,2,4,8")},
               {"batch", text("LIST", "1,32")},
               {"context", number(1024)},
               {"kernels", text("NAME", "vllm")}},
    .run = run_subject<plan_serve_subcommand, plan_serve>,
};

const Subcommand plan_moe_subcommand{
    .name = "plan moe",
    .summary = "the exchange of a mixture of experts",
    .usages = {"MACHINE[,MACHINE] [--ep 8,16,32] [options]"},
    .answers =
        "Says how fast machines exchange the tokens of a layer of a mixture of experts, by "
        "network, ranks and tokens.",
    .manual =
        "MACHINE and --set are as in `collsim plan`, the layer as in `collsim moe`. Without "
        "--kernels it takes the quickest. docs/exchange.md has the model.",
    .examples = {"plan moe dgx-h100 --ep 8,16,32 --tokens 128 --set nic=200Gb/s",
                 "plan moe dgx-h100,gb200-nvl72 --ep 32,64 --kernels deepep-low-latency"},
    .argument = "topology",
    .needs = "machine",
    .first = "ep tokens hidden top-k experts kernels skew set fabric format",
    .modes = {{"", planned_machines() +
                       "ep tokens hidden top-k experts hosts-per-token type sms skew kernels"}},
    .formats = formats_with_page(),
    .values = {{"placement", text("WHERE", "packed")},
               {"ep", text("LIST", "8,16,32,64")},
               {"tokens", text("LIST", "128,4096")},
               {"type", text("fp8|bf16|nvfp4", "fp8")}},
    .run = run_subject<plan_moe_subcommand, plan_moe>,
};

constexpr std::array<std::reference_wrapper<const Subcommand>, 3> subjects{
    plan_train_subcommand, plan_serve_subcommand, plan_moe_subcommand};

Subcommands plan_subjects() {
  return subjects;
}

}  // namespace

int run_plan(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  if (!args.empty()) {
    const Subcommand* const subject = find_subcommand(subjects, args.front());
    if (subject != nullptr) return subject->run(args.subspan(1), out, err);
  }
  return run_subject<plan_subcommand, plan_collectives>(args, out, err);
}

const Subcommand plan_subcommand{
    .name = "plan",
    .summary = "what-if questions: which machine, how many nodes, where scaling stops, cost",
    .usages = {"MACHINE[,MACHINE] --bytes SIZE [options]",
               "train|serve|moe MACHINE[,MACHINE] [options]"},
    .answers =
        "Says how long a step's communication takes on which machine, where scaling stops and why, "
        "what it costs, and what each change is worth. Or, instead of collectives:",
    .actions = plan_subjects,
    .manual =
        "A machine is a node template or a cluster, on the network of the smallest cluster of this "
        "node if --fabric names none. Counts of nodes are 1..1024 (powers of two) or 4,8,12. Each "
        "--set makes an alternative beside the unchanged machine: nic=RATE, nics=N, "
        "oversubscription=K, latency=TIME, fabric=NAME, inside=pcie3|pcie4|pcie5, "
        "placement=packed|interleaved|random|list:NODES|file:FILE, beside=MACHINE:N (nodes of "
        "another kind on the same fabric); several joined by commas. Computing is not overlapped. "
        "docs/what-if.md has examples.",
    .examples =
        {"plan dgx-h100 --nodes 64 --bytes 350GB --set nic=200Gb/s --set nics=4",
         "plan dgx-h100 --nodes 1..1024 --model bert-large --compute-time 50ms --target-share 10%",
         "plan train dgx-h100,dgx-a100 --nodes 8..64 --model llama3-70b --global-batch 512",
         "plan dgx-h100,dgx-a100 --nodes 1..64 --model gpt-3-175b --compute-time 20s,50s",
         "plan serve dgx-h100,dgx-b200 --model llama3-70b --tp 2,4,8 --batch 1,64",
         "plan moe dgx-h100 --ep 8,16,32 --tokens 128 --set nic=200Gb/s"},
    .argument = "topology",
    .needs = "machine",
    .first = "nodes bytes model set fabric compute-time target-time price env format",
    .modes = {{"",
               planned_machines() + counted_and_priced() +
                   "bytes model parameters precision bucket collective nccl-version env "
                   "compute-time scaling target-time target-share estimate",
               "wide"}},
    .formats = formats_with_page(),
    .values = plan_values({{"model", texts("NAME")},
                           {"precision", text("TYPE", "fp16")},
                           {"collective", text("NAME", "all_reduce")}}),
    .run = run_plan,
};

}  // namespace collsim::command
