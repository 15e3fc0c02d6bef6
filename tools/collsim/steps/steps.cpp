#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/algorithms/msccl_xml.h"
#include "sim/algorithms/registry.h"
#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "sim/base/text.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/request/algorithm_plan.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/collective_option.h"
#include "tools/collsim/steps/lesson.h"
#include "tools/collsim/steps/lesson_report.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

constexpr const char* no_machine = "steps without a machine";
constexpr std::uint32_t text_messages = 64;
constexpr std::uint32_t max_messages = 1'000'000;
constexpr Rank default_ranks = 4;

bool on_machine(const po::variables_map& values) {
  return is_given(values, "topology") || is_given(values, "scenario");
}

/// "10us..20us".
std::pair<Seconds, Seconds> parse_time_range(const std::string& text) {
  const std::string example = "two times, such as 10us..25us";
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) throw InputError(fmt::format("--time: '{}'", text), example);
  try {
    const std::pair range{parse_time(text.substr(0, dots)), parse_time(text.substr(dots + 2))};
    if (range.first < range.second && range.first.value >= 0) return range;
  } catch (const QuantityError& error) {
    throw InputError(fmt::format("--time: {}", error.wrong()), example);
  }
  throw InputError(fmt::format("--time: '{}' ends before it begins", text), example);
}

LessonChoice read_choice(const po::variables_map& values) {
  LessonChoice choice;
  constexpr std::uint32_t max_steps = 1U << 16;
  if (is_given(values, "step")) {
    choice.steps = parse_numbers("step", values["step"].as<std::string>(), 1, max_steps);
  }
  constexpr std::uint32_t channel_limit = 1024;
  if (is_given(values, "channel")) {
    choice.channel = bounded_option(values, "channel", 0, channel_limit - 1);
  }
  if (is_given(values, "messages")) {
    choice.max_messages = bounded_option(values, "messages", 1, max_messages);
  } else if (format_option(values) != Format::json) {
    choice.max_messages = text_messages;
  }
  if (is_given(values, "time")) choice.time = parse_time_range(values["time"].as<std::string>());
  choice.values = values["values"].as<bool>();
  return choice;
}

std::optional<LessonCosts> read_costs(const po::variables_map& values) {
  const std::size_t given =
      values.count("alpha") + values.count("bandwidth") + values.count("minbytes");
  if (given == 0) {
    if (is_given(values, "time")) {
      throw InputError("--time without times", "-t MACHINE, or --alpha, --bandwidth and -b");
    }
    return std::nullopt;
  }
  if (given != 3) {
    throw InputError("the time of steps needs three numbers",
                     "--alpha, --bandwidth and -b, such as --alpha 1us --bandwidth 50GB/s -b 1M, "
                     "or a machine and -b");
  }
  return LessonCosts{{quantity_option(values, "alpha", parse_time),
                      quantity_option(values, "bandwidth", parse_rate)},
                     values["minbytes"].as<Bytes>()};
}

/// Of algorithms by their names, on no machine.
std::vector<Lesson> lessons_of_plans(const po::variables_map& values, const LessonChoice& choice) {
  const Rank ranks = is_given(values, "ranks")
                         ? bounded_option(values, "ranks", 1, max_replayed_ranks)
                         : default_ranks;
  const Collective collective = is_given(values, "collective")
                                    ? parse_collective(values["collective"].as<std::string>())
                                    : Collective::all_reduce;
  const std::string algorithm = is_given(values, "algorithm")
                                    ? values["algorithm"].as<std::string>()
                                    : algorithm_names(collective).front();
  const Rank root =
      is_given(values, "root") ? bounded_option(values, "root", 0, max_replayed_ranks - 1) : 0;
  const std::optional<LessonCosts> costs = read_costs(values);
  std::vector<Lesson> lessons;
  for (const std::string& name : split(algorithm, ',')) {
    // NVLS runs on the NVSwitch of a node.
    const Rank per_node = ranks_of_node(values, ranks).value_or(name == "nvls" ? ranks : 1);
    const Placement placement = uniform_placement(ranks, per_node);
    lessons.push_back(
        lesson_of(named_plan(collective, name, placement, 1, root), placement, choice, costs));
  }
  return lessons;
}

/// Of simulated calls. They refer to the question.
std::vector<Lesson> lessons_of_calls(const po::variables_map& values, const CallRequest& request,
                                     const LessonChoice& choice, std::ostream& err) {
  const bool barrier = request.scenario.collective == Collective::barrier;
  if (!is_given(values, "minbytes") && !barrier) throw InputError("steps: no size", "-b SIZE");
  const Bytes size = barrier ? Bytes{} : sizes_of(request).front();
  std::vector<Lesson> lessons;
  for (const RunSpec& run : request.scenario.runs) {
    lessons.push_back(lesson_of(request, run, size, choice, err));
  }
  return lessons;
}

void print_lessons(const std::vector<Lesson>& lessons, Format format, std::ostream& out) {
  if (format == Format::json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Lesson& lesson : lessons) all.push_back(lesson_json(lesson));
    fmt::print(out, "{}\n", json_text(all, 2));
    return;
  }
  for (const Lesson& lesson : lessons) {
    if (&lesson != &lessons.front()) fmt::print(out, "\n");
    if (format == Format::text) {
      print_lesson(lesson, out);
    } else {
      print_lesson_markdown(lesson, out);
    }
  }
}

/// Says of every schedule file what its schedule does wrong, if anything. Returns the exit code.
int print_faults(const std::vector<Lesson>& lessons, std::optional<Rank> per_node,
                 std::ostream& err) {
  int code = exit_ok;
  for (const Lesson& lesson : lessons) {
    const auto fault =
        written_fault(lesson.plan, uniform_placement(lesson.plan.ranks(), per_node.value_or(1)));
    if (!fault) continue;
    fmt::print(err, "collsim: {} is wrong: {}\n", lesson.plan.algorithm, fault->text);
    code = exit_answer_is_no;
  }
  return code;
}

void write_msccl(const std::vector<Lesson>& lessons, const std::string& file) {
  if (lessons.size() != 1) throw InputError("--msccl of several algorithms", "one of them");
  const Plan& plan = lessons.front().plan;
  replace_file(file, msccl_xml(transfers_of(plan), plan.algorithm));
}

std::vector<Mode> steps_modes() {
  std::vector<Mode> modes = call_modes("minbytes step values channel messages time", "", "");
  modes.push_back({no_machine,
                   "algorithm collective ranks ranks-per-node nodes root alpha bandwidth minbytes "
                   "step values time msccl"});
  return modes;
}

int run_steps(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(steps_subcommand, args, out);
  if (!values) return exit_ok;
  const Format format = format_option(*values);
  const LessonChoice choice = read_choice(*values);
  if (!on_machine(*values)) {
    heed_only(*values, steps_subcommand, {no_machine});
    const std::vector<Lesson> lessons = lessons_of_plans(*values, choice);
    if (values->contains("msccl")) {
      write_msccl(lessons, (*values)["msccl"].as<OutputFile>().name);
    }
    print_lessons(lessons, format, out);
    return print_faults(lessons, ranks_of_node(*values, lessons.front().plan.ranks()), err);
  }
  const CallRequest request = read_request(*values, err);
  heed_schedules(steps_subcommand, *values, request);
  print_lessons(lessons_of_calls(*values, request, choice, err), format, out);
  return exit_ok;
}

}  // namespace

const Subcommand steps_subcommand{
    .name = "steps",
    .summary = "show an algorithm step by step: what each rank sends, what buffers hold",
    .usages = {"[--algorithm A] [options]", "MACHINE|SCENARIO -b SIZE [options]"},
    .answers =
        "Says what each rank sends in every step of an algorithm, and what it holds after the "
        "step. Without a machine 4 ranks (-n), one per node (nvls: all in one), by a textbook's "
        "algorithm or NCCL's nvls, nvls_tree, collnet_direct, collnet_chain or pat.",
    .manual =
        "--alpha, --bandwidth and -b add times. On a machine one call is simulated: when each "
        "message begins, how long it takes, what its sender waited for, and which links it "
        "crosses.",
    .examples = {"steps -a ring -n 4 --values",
                 "steps -a tree -n 8 --alpha 1us --bandwidth 50GB/s -b 1M",
                 "steps hgx-h200 -n 4 -a ring -b 1M --step 1..3",
                 "steps -a ring -n 4 --format markdown"},
    .argument = "scenario",
    .first = "topology ranks collective algorithm minbytes alpha bandwidth step values format",
    .modes = steps_modes(),
    .formats = {Format::text, Format::markdown, Format::json},
    .run = run_steps,
};

}  // namespace collsim::command
