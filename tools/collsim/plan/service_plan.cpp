#include "tools/collsim/plan/service_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "models/call/rank_gpus.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/train/inference.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr double milliseconds = 1e3;
constexpr std::array<std::int64_t, 5> chunks{256, 512, 1024, 2048, 4096};
constexpr std::int64_t max_sequences = 1024;

/// What is promised, and asked of the machines.
struct ServiceLevel {
  Transformer model{};
  double rate = 1;          ///< requests a second
  std::int64_t prompt = 1;  ///< tokens of one
  std::int64_t answer = 1;  ///< tokens of one
  Seconds first{};          ///< until the first token, in the mean
  Seconds between{};        ///< tokens
};

/// One way to keep the promise.
struct ServicePlan {
  std::string how{};
  std::int64_t prompt_replicas = 0;  ///< 0: together with decoding
  std::int64_t prompt_tensor = 1;
  std::int64_t replicas = 0;
  std::int64_t tensor = 1;
  std::int64_t batch = 0;
  std::int64_t chunk = 0;
  Seconds first{};
  Seconds transfer{};
  Seconds token{};
  std::int64_t gpus() const { return prompt_replicas * prompt_tensor + replicas * tensor; }
};

std::int64_t up(double count) {
  return static_cast<std::int64_t>(std::ceil(count - 1e-9));
}

/// Tries replicas on one machine, of which there are two nodes at least.
class ServicePlanner {
 public:
  ServicePlanner(const ServiceLevel& level, StepMachine& machine)
      : level_(level), machine_(machine) {}

  void add_apart(std::int64_t of_prompts, std::int64_t of_tokens, std::vector<ServicePlan>& plans);
  void add_together(std::int64_t tensor, std::vector<ServicePlan>& plans);

 private:
  InferenceSetup setup(std::int64_t tensor, std::int64_t batch, std::int64_t chunk) const {
    InferenceSetup setup;
    setup.model = level_.model;
    setup.tensor = tensor;
    setup.batch = batch;
    setup.chunk = chunk;
    setup.context = chunk > 0 ? level_.prompt : level_.prompt + level_.answer / 2;
    return setup;
  }
  std::optional<InferencePrediction> decoding(const InferenceSetup& setup) {
    const InferencePrediction step = predict_inference(machine_, setup);
    return step.fits && step.time <= level_.between ? std::optional(step) : std::nullopt;
  }
  Seconds transfer(std::int64_t tensor);

  const ServiceLevel& level_;
  StepMachine& machine_;
};

/// Keys and values are copied out of their pages, sent to another node by each rank, and copied
/// into pages there.
Seconds ServicePlanner::transfer(std::int64_t tensor) {
  const double bytes =
      cache_bytes_per_token(setup(tensor, 1, 0)) * cached_tokens(level_.model, level_.prompt);
  const auto per_node = machine_.per_node();
  CallProgram program;
  program.communicators = {{"kv", {0, per_node}, {0, 1}}};
  for (std::uint32_t side = 0; side < 2; ++side) {
    RankGroup group{side == 0 ? "prompts" : "tokens", {}, {"main"}};
    for (Rank i = 0; i < per_node; ++i) group.ranks.push_back(side * per_node + i);
    ProgramOp op;
    op.calls = {{0, side == 0 ? ProgramCallKind::send : ProgramCallKind::receive,
                 Bytes{static_cast<std::int64_t>(bytes)}, 1 - side}};
    group.ops = {op};
    program.groups.push_back(std::move(group));
  }
  program.communicators[0].alike = static_cast<std::uint32_t>(tensor);
  return machine_.schedule(program).time + 2 * machine_.kernels().put_in_order(bytes);
}

void ServicePlanner::add_apart(std::int64_t of_prompts, std::int64_t of_tokens,
                               std::vector<ServicePlan>& plans) {
  InferenceSetup prompts = setup(of_prompts, 1, 0);
  prompts.phase = InferencePhase::prefill;
  prompts.context = level_.prompt;
  const InferencePrediction prompt = predict_inference(machine_, prompts);
  ServicePlan best{"apart"};
  for (std::int64_t batch = 1; batch <= max_sequences; batch *= 2) {
    const auto step = decoding(setup(of_tokens, batch, 0));
    if (!step) break;
    best.batch = batch;
    best.token = step->time;
  }
  best.transfer = transfer(of_prompts);
  best.prompt_replicas = servers_within(level_.rate, prompt.time, level_.first - best.transfer);
  if (!prompt.fits || best.batch == 0 || best.prompt_replicas == 0) return;
  best.prompt_tensor = of_prompts;
  best.tensor = of_tokens;
  // A sequence stays for all of its tokens, so that so many are decoded at a time.
  const double sequences = level_.rate * static_cast<double>(level_.answer) * best.token.value;
  best.replicas = up(sequences / static_cast<double>(best.batch));
  best.first = prompt.time + best.transfer +
               mean_wait(level_.rate / static_cast<double>(best.prompt_replicas), prompt.time);
  plans.push_back(best);
}

void ServicePlanner::add_together(std::int64_t tensor, std::vector<ServicePlan>& plans) {
  for (const std::int64_t chunk : chunks) {
    for (std::int64_t batch = 1; batch <= max_sequences; batch *= 2) {
      const auto step = decoding(setup(tensor, batch, chunk));
      if (!step) break;
      // Of a step's time, so many requests end: of their tokens, and of their prompts.
      const double rate =
          std::min(static_cast<double>(batch) / static_cast<double>(level_.answer),
                   1 / std::ceil(static_cast<double>(level_.prompt) / static_cast<double>(chunk))) /
          step->time.value;
      const std::int64_t replicas =
          std::max(up(level_.rate / rate), servers_within(level_.rate, step->prompt, level_.first));
      if (servers_within(level_.rate, step->prompt, level_.first) == 0) continue;
      ServicePlan plan{"together"};
      plan.replicas = replicas;
      plan.tensor = tensor;
      plan.batch = batch;
      plan.chunk = chunk;
      plan.token = step->time;
      plan.first =
          step->prompt + mean_wait(level_.rate / static_cast<double>(replicas), step->prompt);
      plans.push_back(plan);
    }
  }
}

void add_service_row(const std::string& machine, const ServicePlan& plan, Table& table) {
  const bool apart = plan.prompt_replicas > 0;
  const auto count = [](bool known, std::int64_t value) {
    return known ? Record(value) : Record();
  };
  NewRow add(table);
  add({"machine", "machine"}, machine);
  add({"how", "prompts"}, plan.how);
  add({"gpus", "GPUs"}, plan.gpus());
  add({"prompt_replicas", "prompts on", "(replicas)"}, count(apart, plan.prompt_replicas));
  add({"prompt_tp", "tp"}, count(apart, plan.prompt_tensor));
  add({"replicas", "tokens on", "(replicas)"}, plan.replicas);
  add({"tp", "tp"}, plan.tensor);
  add({"batch", "batch"}, plan.batch);
  add({"chunk", "chunk"}, count(plan.chunk > 0, plan.chunk));
  add({"first_ms", "first", "(ms)", 1}, milliseconds * plan.first.value);
  add({"transfer_ms", "of it sent", "(ms)", 1},
      apart ? Record(milliseconds * plan.transfer.value) : Record());
  add({"token_ms", "token", "(ms)", 1}, milliseconds * plan.token.value);
}

}  // namespace

Seconds mean_wait(double rate, Seconds service) {
  const double busy = rate * service.value;
  if (busy >= 1) return Seconds{std::numeric_limits<double>::infinity()};
  return (busy / (2 * (1 - busy))) * service;
}

std::int64_t servers_within(double rate, Seconds service, Seconds limit) {
  if (service >= limit) return 0;
  // The wait of mean_wait() solved for how busy a server may be.
  const double wait = 2 * (limit - service).value;
  return std::max<std::int64_t>(1, up(rate * (service.value + wait) * service.value / wait));
}

namespace {

ServiceLevel read_level(const po::variables_map& values) {
  constexpr std::uint32_t most = 1U << 20;
  if (!values.contains("model")) throw InputError("plan serve: no model", "--model NAME");
  ServiceLevel level;
  level.model = find_transformer(values["model"].as<std::string>());
  level.rate = values["requests"].as<double>();
  if (!(level.rate > 0)) throw InputError("--requests: not above 0", "requests a second");
  level.prompt = bounded_option(values, "context", 1, most);
  level.answer = bounded_option(values, "answer", 1, most);
  level.first = quantity_option(values, "first-token", parse_time);
  level.between = quantity_option(values, "next-token", parse_time);
  return level;
}

/// Ways to keep the promise.
struct ServicePlans {
  std::vector<ServicePlan> apart;
  std::vector<ServicePlan> together;
};

/// Tries the numbers of GPUs over which tensors may be cut, on two nodes.
ServicePlans plans_on(const Alternative& machine, RunSpec run, const ServiceLevel& level,
                      const std::vector<std::uint32_t>& tensor, const KernelTable& kernels) {
  const Topology topology = compose(machine.parts, 2);
  MachineCalls calls;
  calls.topology = &topology;
  calls.gpus = first_gpus(topology, static_cast<Rank>(topology.gpus().size()));
  calls.run = std::move(run);
  StepMachine steps(calls, kernels);
  ServicePlanner planner(level, steps);
  const auto divides = [&](std::uint32_t gpus) {
    return gpus <= steps.per_node() && level.model.heads % gpus == 0;
  };
  ServicePlans plans;
  for (const std::uint32_t tokens : tensor) {
    if (!divides(tokens)) continue;
    planner.add_together(tokens, plans.together);
    for (const std::uint32_t prompts : tensor) {
      if (divides(prompts)) planner.add_apart(prompts, tokens, plans.apart);
    }
  }
  return plans;
}

/// The plan of fewest GPUs; of equals, the one whose first token is earliest.
std::optional<ServicePlan> fewest_gpus(const std::vector<ServicePlan>& plans) {
  const auto best =
      std::min_element(plans.begin(), plans.end(), [](const ServicePlan& a, const ServicePlan& b) {
        return std::pair(a.gpus(), a.first) < std::pair(b.gpus(), b.first);
      });
  return best == plans.end() ? std::nullopt : std::optional(*best);
}

}  // namespace

PlannedAnswer plan_service(const std::vector<Alternative>& alternatives, RunSpec run,
                           const po::variables_map& values, const std::string& command) {
  const ServiceLevel level = read_level(values);
  const auto tensor = parse_numbers("tp", values["tp"].as<std::string>(), 1, 1024);
  const KernelTable kernels = load_kernel_table();
  run.graph = true;
  Table table;
  std::set<std::string> warnings;
  for (const Alternative& each : alternatives) {
    const std::string machine = describe(each);
    const ServicePlans plans = plans_on(each, run, level, tensor, kernels);
    for (const auto& [of, how] :
         {std::pair{&plans.apart, "apart"}, std::pair{&plans.together, "together with decoding"}}) {
      if (const auto best = fewest_gpus(*of)) {
        add_service_row(machine, *best, table);
      } else {
        warnings.insert(fmt::format("{}: nothing keeps the times with prompts {}", machine, how));
      }
    }
  }
  Answer answer{fmt::format("{}: {:g} requests a second", level.model.name, level.rate), command};
  add_ranges_and_version(answer);
  answer.head({comment(fmt::format(
      "{}, {:g} requests a second of {} tokens and {} of answer: the fewest GPUs for a first token "
      "within {} in the mean, and {} between tokens",
      level.model.name, level.rate, level.prompt, level.answer, to_string(level.first),
      to_string(level.between)))});
  const bool met = !table.rows.empty();
  answer.sections.push_back({.tables = {std::move(table)}});
  return {std::move(answer), std::move(warnings), met};
}

}  // namespace collsim::command
