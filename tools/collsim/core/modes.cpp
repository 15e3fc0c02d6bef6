#include "tools/collsim/core/modes.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "tools/collsim/core/format.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

std::vector<Mode> modes_of_steps() {
  const std::string machine =
      "subject topology nodes ranks set placement slow-nic fault env simulate ";
  const std::string model =
      "model global-batch seq precision attention tp-overlap bucket gpipe "
      "cp cp-gather ep shard keep graph by-speed ";
  const std::string served = "model tp batch context precision eager trace ";
  return {
      {"step", "--validate", "validate"},
      {"step", "a program", machine + "graph trace", "timeline"},
      {"step", "--check", "subject check"},
      {"step", "--search", machine + model + "search"},
      {"step", "--decode", machine + served + "decode", "timeline"},
      {"step", "--prefill", machine + served + "prefill", "timeline"},
      {"step", "one training layout",
       machine + model +
           "tp pp interleave zero micro-batch recompute no-sequence-parallel no-overlap trace "
           "straggler advise",
       "timeline"},
  };
}

std::vector<Mode> modes_of_plans() {
  const std::string machine = "topology set ";
  const std::string nodes = "nodes gpus fabric placement ";
  const std::string prices = "prices price vendor cost ";
  return {
      {"plan", "--step",
       machine + nodes + prices +
           "step model precision env nccl-version global-batch seq tp-overlap tokens-total "
           "deadline budget hourly-budget mtbf checkpoint-time restart-time repair-time spares "
           "fault by-speed"},
      {"plan", "--decode", machine + "decode model tp batch context kernels env nccl-version"},
      {"plan", "--exchange",
       machine + "fabric placement exchange ep tokens hidden top-k experts hosts-per-token type "
                 "sms skew kernels"},
      {"plan", "what a step moves",
       machine + nodes + prices +
           "bytes model parameters precision bucket collective nccl-version env compute-time "
           "scaling target-time target-share estimate",
       "wide"},
  };
}

std::vector<Mode> modes_of_exchanges() {
  const std::string machine =
      "topology nodes fabric ranks ranks-per-node rank-list collective svg explain ";
  return {
      {"exchange", "a mixture of experts",
       machine + "tokens hidden top-k experts hosts-per-token type kernels sms skew"},
      {"exchange", "--matrix", machine + "matrix estimate env nccl-version"},
      {"exchange", "--size", machine + "size skew estimate env nccl-version"},
  };
}

/// Of commands that ask about a call.
std::vector<Mode> modes_of_calls() {
  const std::string machine =
      "scenario topology nodes fabric ranks ranks-per-node rank-list calibration fault seed ";
  const std::string numbers = "alpha bandwidth ";
  const std::string sizes = "minbytes maxbytes stepfactor stepbytes ";
  const std::string call = machine + "collective datatype root schedule ";
  const std::string by_nccl = call + "op algorithm protocol env nccl-version in-place graph ";
  const std::string textbook = call + numbers + "algorithm protocol channels chunk ";
  const std::string kernels =
      machine + "collective datatype kernels algorithm env nccl-version graph ";
  const std::string registered =
      call + "op registered algorithm protocol env nccl-version in-place graph ";
  const std::string swept = textbook + "op " + sizes;
  const std::string simulated = "engine exact sliders ";
  const std::string drawn = "over-ranks over-nodes svg png html ";
  return {
      {"run", "--kernels", kernels + sizes, "wide"},
      {"run", "--registered", registered + sizes, "wide"},
      {"run", "NCCL's schedule", by_nccl + sizes + simulated + "nccl-estimate", "wide"},
      {"run", "a textbook schedule", swept + simulated, "wide"},
      {"estimate", "--kernels", kernels + sizes, "wide"},
      {"estimate", "--registered", registered + sizes, "wide"},
      {"estimate", "NCCL's schedule", by_nccl + sizes + "nccl-estimate", "wide"},
      {"estimate", "a textbook schedule", swept, "wide"},
      {"crossover", "--kernels", kernels + sizes + drawn + "map export-thresholds"},
      {"crossover", "NCCL's schedule", by_nccl + sizes + "over-ranks over-nodes"},
      {"crossover", "a map of NCCL's schedule",
       by_nccl + sizes + drawn + "map export-tuner export-env"},
      {"crossover", "a textbook schedule", swept + "over-ranks over-nodes"},
      {"crossover", "a map of textbook schedules", swept + drawn + "map"},
      {"explain", "--kernels", kernels + "minbytes"},
      {"explain", "--registered", registered + "minbytes"},
      {"explain", "NCCL's schedule", by_nccl + "minbytes user-buffers"},
      {"explain", "a textbook schedule", textbook + "minbytes"},
  };
}

std::vector<Mode> modes_of_checks() {
  return {
      {"check", "a program", "topology"},
      {"check", "NCCL's plans", "topology schedule collective orders root seed"},
      {"check", "textbook plans",
       "algorithm collective ranks ranks-per-node channels orders root seed schedule"},
  };
}

std::vector<Mode> all_modes() {
  std::vector<Mode> all;
  for (const std::vector<Mode>& some : {modes_of_steps(), modes_of_plans(), modes_of_exchanges(),
                                        modes_of_calls(), modes_of_checks()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

bool has_word(const std::string& words, const std::string& word) {
  const std::vector<std::string> all = split(words, ' ');
  return std::find(all.begin(), all.end(), word) != all.end();
}

/// The modes of those names as one, which heeds what any of them does.
Mode joined(std::string_view command, const std::vector<std::string>& names) {
  Mode all{std::string(command), fmt::format("{}", fmt::join(names, " or ")), {}, {}};
  for (const std::string& name : names) {
    const auto found = std::find_if(modes().begin(), modes().end(), [&](const Mode& each) {
      return each.command == command && each.name == name;
    });
    if (found == modes().end()) {
      throw std::logic_error(fmt::format("{} has no mode {}", command, name));
    }
    all.options += ' ' + found->options;
    all.shown += ' ' + found->shown;
  }
  return all;
}

}  // namespace

const std::vector<Mode>& modes() {
  static const std::vector<Mode> all = all_modes();
  return all;
}

bool is_given(const po::variables_map& values, const std::string& option) {
  return values.count(option) != 0 && !values[option].defaulted();
}

void heed_only(const po::variables_map& values, std::string_view command,
               const std::vector<std::string>& names) {
  const Mode mode = joined(command, names);
  for (const auto& [option, value] : values) {
    const bool always = option == "format" || option == "time-limit" || option == "help";
    if (always || !is_given(values, option) || has_word(mode.options, option)) continue;
    if (!has_word(mode.shown, option)) {
      throw InputError(fmt::format("--{} is not heeded by {}", option, mode.name),
                       fmt::format("options of {}: {}", mode.name,
                                   fmt::join(split(mode.options + mode.shown, ' '), ", ")));
    }
    const Format format = values.contains("format") ? format_option(values) : Format::table;
    if (format == Format::table) continue;
    throw InputError(fmt::format("--{} is not heeded by --format {}", option, to_string(format)),
                     "the table");
  }
}

void require_heeded(const po::variables_map& values, std::initializer_list<Condition> conditions) {
  for (const Condition& each : conditions) {
    if (each.holds || !is_given(values, each.option)) continue;
    throw InputError(fmt::format("--{} without {}", each.option, each.needed), each.needed);
  }
}

}  // namespace collsim::command
