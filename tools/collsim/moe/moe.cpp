#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/scenario/run_spec.h"
#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/cost/calibration.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/core/warnings.h"
#include "tools/collsim/moe/exchange_report.h"
#include "tools/collsim/moe/exchange_trust.h"
#include "tools/collsim/moe/expert_exchange.h"
#include "tools/collsim/moe/port_exchange.h"
#include "tools/collsim/moe/sized_call.h"
#include "tools/collsim/moe/traffic_matrix.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/call_options.h"
#include "tools/collsim/request/machine_request.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

// Sizes of the drawing, in pixels.
constexpr double drawn_width = 720;
constexpr double bars_left = 190;
constexpr double bars_width = 420;
constexpr double bars_top = 52;
constexpr double bar_height = 18;
constexpr double bar_step = 26;

struct DrawnPart {
  std::string_view name;
  std::string_view colour;
  Seconds time;
};

/// What a row's time is made of; together they are its time.
std::array<DrawnPart, 5> parts_of(const ExchangeRow& row) {
  const Seconds skew{std::max(0.0, row.time.value - row.even.value)};
  const bool by_ports = row.ports.time > row.work;
  const Seconds moved{
      std::max(0.0, row.time.value - row.launch.value - row.fill.value - skew.value)};
  return {DrawnPart{"launch", "#9aa5b1", row.launch},
          DrawnPart{"ports are full", "#2f6db5", by_ports ? moved : Seconds{}},
          DrawnPart{"thread blocks are busy", "#7ab6e8", by_ports ? Seconds{} : moved},
          DrawnPart{"what the skew adds", "#d1495b", skew},
          DrawnPart{"first tokens", "#edae49", row.fill}};
}

std::string escaped_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string label_of(const ExchangeRow& row) {
  if (row.tokens <= 0) return row.call;
  return fmt::format("{}, {:g} tokens", row.call, row.tokens);
}

std::string bar_of(const ExchangeRow& row, double y) {
  std::string text = fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n",
                                 bars_left - 8, y + bar_height - 5, label_of(row));
  double x = bars_left;
  for (const DrawnPart& part : parts_of(row)) {
    const double width = bars_width * part.time.value / row.time.value;
    if (width <= 0) continue;
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"/>\n", x, y,
        width, bar_height, part.colour);
    x += width;
  }
  return text + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{:.1f} us</text>\n",
                            bars_left + bars_width + 8, y + bar_height - 5,
                            in_microseconds(row.time));
}

/// The parts that any row has, by name.
std::string legend_of(const std::vector<ExchangeRow>& rows, double y) {
  std::string text;
  double x = bars_left;
  for (std::size_t part = 0; part < parts_of(rows.front()).size(); ++part) {
    const bool is_drawn = std::any_of(rows.begin(), rows.end(), [&](const ExchangeRow& row) {
      return parts_of(row).at(part).time.value > 0;
    });
    if (!is_drawn) continue;
    const DrawnPart drawn = parts_of(rows.front()).at(part);
    constexpr double letter_width = 6.2;
    constexpr double square = 24;
    text += fmt::format(
        "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"12\" height=\"12\" fill=\"{2}\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
        x, y, drawn.colour, x + 16, y + 10, drawn.name);
    x += square + letter_width * static_cast<double>(drawn.name.size()) + 8;
  }
  return text;
}

/// A bar for each row, divided as its time is: launch, ports or thread blocks, what the skew adds
/// to them, and the first tokens. An SVG file. Rows of NCCL's calls have no parts but the skew.
std::string exchange_drawing(const ExchangeHeading& heading, const std::vector<ExchangeRow>& rows) {
  const double bottom = bars_top + bar_step * static_cast<double>(rows.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\" "
      "fill=\"#222\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n",
      drawn_width, bottom + 34);
  text += fmt::format("<text x=\"12\" y=\"20\" font-size=\"13\">{}</text>\n",
                      escaped_text(fmt::format("{}, {} ranks, {}", heading.machine, heading.ranks,
                                               rows.front().kernels)));
  text += fmt::format("<text x=\"12\" y=\"38\">{}</text>\n",
                      escaped_text(fmt::format("{}, skew {}", heading.facts, rows.front().skew)));
  double y = bars_top;
  for (const ExchangeRow& row : rows) {
    text += bar_of(row, y);
    y += bar_step;
  }
  return text + legend_of(rows, bottom + 10) + "</svg>\n";
}

constexpr const char* of_experts = "a mixture of experts";

/// What all of its modes heed.
std::string moe_options() {
  return machine_options() + "collective svg explain ";
}

/// A matrix of more would not fit into memory.
constexpr std::uint32_t max_exchange_ranks = 4096;
constexpr Bytes max_size{std::int64_t{1} << 40};
constexpr std::uint32_t max_tokens = 1u << 20;
constexpr std::uint32_t max_hidden = 1u << 17;
constexpr std::uint32_t max_experts = 1u << 14;
constexpr std::uint32_t max_top_k = 256;
constexpr std::uint32_t max_sms = 1024;

/// What is asked of a machine.
struct ExchangeQuestion {
  Topology topology;
  std::vector<DeviceId> gpus;
  Skew skew;
  ExchangeHeading heading;
  RunSpec run{};  ///< of NCCL's calls
  bool estimate = false;

  Rank ranks() const { return static_cast<Rank>(gpus.size()); }
};

std::vector<DeviceId> asked_gpus(const po::variables_map& values, const Topology& topology) {
  if (auto listed = listed_gpus(values, topology)) return *std::move(listed);
  return wanted_gpus(topology, count_option(values, "ranks"),
                     count_option(values, "ranks-per-node"));
}

ExchangeQuestion read_question(const po::variables_map& values, std::ostream& err) {
  Machine machine = asked_machine(values, values["topology"].as<std::string>());
  print_warnings(machine.warnings, err);
  ExchangeQuestion question{std::move(machine.topology), {}, {}, {}, {}, false};
  question.gpus = asked_gpus(values, question.topology);
  if (question.ranks() > max_exchange_ranks) {
    throw InputError(fmt::format("moe: {} ranks on {}", question.ranks(), question.topology.name()),
                     fmt::format("-n, at most {}", max_exchange_ranks));
  }
  question.estimate = values["estimate"].as<bool>();
  question.run.variables = variables_option(values);
  question.run.nccl_version = nccl_version_option(values).value_or(question.run.nccl_version);
  question.skew = read_skew(values["skew"].as<std::string>());
  question.heading.machine = question.topology.name();
  question.heading.ranks = question.ranks();
  question.heading.explained = values["explain"].as<bool>();
  return question;
}

ExpertPlaces read_places(const po::variables_map& values, const ExchangeQuestion& question) {
  ExpertPlaces places;
  places.experts = bounded_option(values, "experts", 1, max_experts);
  places.top_k = bounded_option(values, "top-k", 1, std::min(max_top_k, places.experts));
  places.hosts_per_token = bounded_option(values, "hosts-per-token", 1, max_exchange_ranks);
  places.host_of_rank = hosts_of(question.topology, question.gpus);
  return places;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

ExpertOperation operation_of(const std::string& name) {
  std::vector<std::string> names;
  for (const ExpertOperation each :
       {ExpertOperation::prepare, ExpertOperation::dispatch, ExpertOperation::combine,
        ExpertOperation::combine_low_precision}) {
    names.push_back(fmt::format("moe_{}", to_string(each)));
    if (names.back() == name) return each;
  }
  const std::vector<std::string> of_sizes{"all_to_all_v", "all_gather_v"};
  if (std::find(of_sizes.begin(), of_sizes.end(), name) != of_sizes.end()) {
    throw InputError(fmt::format("--collective: {} beside others", name), "it alone");
  }
  names.insert(names.end(), of_sizes.begin(), of_sizes.end());
  throw InputError(fmt::format("--collective: there is no '{}'", name),
                   names_instead_of(name, names));
}

TokenType type_of(const po::variables_map& values, ExpertOperation operation) {
  if (operation == ExpertOperation::combine_low_precision) return TokenType::nvfp4;
  const bool given = values.contains("type");
  // Only what is sent out is quantized. What comes back is summed, as bf16.
  if (operation == ExpertOperation::combine) return TokenType::bf16;
  return given ? read_token_type(values["type"].as<std::string>()) : TokenType::fp8;
}

ExchangeRow row_of(const ExchangeQuestion& question, const ExchangeKernel& kernel,
                   const ExpertPlaces& places, const ExpertLayer& layer,
                   const ExchangeErrors& errors) {
  const TokenTraffic traffic = token_traffic(places, question.skew);
  const TokenTraffic even = token_traffic(places, Skew{});
  ExpertExchange exchange =
      expert_exchange(question.topology, question.gpus, kernel, places, traffic, layer);
  const Seconds even_time =
      question.skew.kind == Skew::Kind::uniform
          ? exchange.time
          : expert_exchange(question.topology, question.gpus, kernel, places, even, layer).time;
  ExchangeRow row;
  row.call = fmt::format("moe_{}", to_string(kernel.operation));
  row.kernels = to_string(kernel.family);
  row.skew = question.skew.name;
  row.tokens = layer.tokens;
  row.bytes = exchange.sent;
  row.time = exchange.time;
  row.launch = exchange.launch;
  row.work = exchange.work;
  row.fill = exchange.fill;
  row.even = even_time;
  ExchangeTrust trust = errors.of(kernel, question.topology, question.gpus, row.bytes);
  row.error = trust.error;
  row.range = trust.range;
  row.trust = trust.trust;
  row.taken_over = std::move(trust.note);
  row.ports = std::move(exchange.ports);
  return row;
}

std::vector<ExchangeRow> expert_rows(const po::variables_map& values, ExchangeQuestion& question) {
  const KernelFamily family = read_kernel_family(values["kernels"].as<std::string>());
  require_machine_for(family, question.topology, question.gpus);
  const ExpertPlaces places = read_places(values, question);
  ExpertLayer layer;
  layer.hidden = bounded_option(values, "hidden", 1, max_hidden);
  layer.sms = bounded_option(values, "sms", 1, max_sms);
  question.heading.facts =
      fmt::format("hidden {}, top-k {}, {} experts", layer.hidden, places.top_k, places.experts);
  const ExchangeErrors errors;
  std::vector<ExchangeRow> rows;
  for (const std::string& word : words_of(values["collective"].as<std::string>())) {
    const ExpertOperation operation = operation_of(word);
    const ExchangeKernel kernel =
        exchange_kernel(family, operation, gpu_name(question.topology, question.gpus.front()));
    if (rows.empty()) question.heading.source = kernel.source;
    layer.type = type_of(values, operation);
    for (const std::uint32_t tokens :
         parse_numbers("tokens", values["tokens"].as<std::string>(), 1, max_tokens)) {
      layer.tokens = tokens;
      rows.push_back(row_of(question, kernel, places, layer, errors));
    }
  }
  return rows;
}

TrafficMatrix read_matrix(const po::variables_map& values, const ExchangeQuestion& question,
                          bool gathers) {
  if (values.contains("matrix")) {
    const NumberTable table =
        read_number_table(read_text_file(values["matrix"].as<std::string>(), "a file of sizes"));
    return gathers ? gathered_matrix(table, question.ranks()) : matrix_of(table, question.ranks());
  }
  if (!values.contains("size")) {
    throw InputError("moe: no sizes", "--matrix FILE, or --size with --skew");
  }
  const Bytes size = values["size"].as<Bytes>();
  if (size > max_size) {
    throw InputError(fmt::format("--size: {}", to_string(size)),
                     fmt::format("at most {}", to_string(max_size)));
  }
  const auto bytes = static_cast<double>(size.count);
  const std::vector<double> weights = weights_of(question.skew, question.ranks(), "ranks");
  if (!gathers) return weighted_matrix(weights, bytes);
  NumberTable table{{}, {{weights, {}}}};
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& each : table.rows.front().numbers) each *= bytes * question.ranks() / sum;
  return gathered_matrix(table, question.ranks());
}

std::vector<ExchangeRow> sized_rows(const po::variables_map& values, ExchangeQuestion& question) {
  const auto& call = values["collective"].as<std::string>();
  if (question.ranks() > max_single_ranks) {
    throw InputError(fmt::format("{} of {} ranks", call, question.ranks()),
                     fmt::format("at most {}", max_single_ranks));
  }
  const TrafficMatrix bytes = read_matrix(values, question, call == "all_gather_v");
  const Calibration cost = calibration_for(question.topology);
  SizedCall sized = sized_call(
      {&question.topology, question.gpus, question.run, call == "all_gather_v", question.estimate},
      bytes, cost);
  question.heading.facts = fmt::format("{} in all", rounded_size(bytes.total()));
  ExchangeRow row;
  row.call = call;
  row.kernels = "nccl";
  row.skew = values.contains("matrix") ? values["matrix"].as<std::string>() : question.skew.name;
  row.bytes = bytes.busiest_sender();
  row.time = sized.time;
  row.even = sized.even;
  const ExchangeErrors errors;
  row.error = errors.of_class(sized.trust, sized.medium, row.bytes);
  row.range = errors.range_of_class(sized.trust, sized.medium, row.bytes);
  row.trust = sized.trust;
  row.ports = std::move(sized.ports);
  return {std::move(row)};
}

int run_moe(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto values = parse_options(moe_subcommand, args, out);
  if (!values) return exit_ok;
  const auto& call = (*values)["collective"].as<std::string>();
  const bool by_sizes = call == "all_to_all_v" || call == "all_gather_v";
  const char* const sizes = values->contains("matrix") ? "--matrix" : "--size";
  heed_only(*values, moe_subcommand, {by_sizes ? sizes : of_experts});
  const bool deepep = (*values)["kernels"].as<std::string>() == "deepep";
  require_heeded(*values, {{"sms", by_sizes || deepep, "--kernels deepep"}});
  ExchangeQuestion question = read_question(*values, err);
  const std::vector<ExchangeRow> rows =
      by_sizes ? sized_rows(*values, question) : expert_rows(*values, question);
  if (values->contains("svg")) {
    const auto& file = (*values)["svg"].as<OutputFile>().name;
    replace_file(file, exchange_drawing(question.heading, rows));
    if (is_standard_output(file)) return exit_ok;
  }
  write_answer(format_option(*values), exchange_answer(question.heading, rows), out);
  return exit_ok;
}

}  // namespace

const Subcommand moe_subcommand{
    .name = "moe",
    .summary = "exchange of a mixture of experts, or by a matrix of sizes; what skew costs",
    .usages = {"MACHINE [options]"},
    .answers =
        "Says how long an exchange takes whose sizes differ: the dispatch and combine of a mixture "
        "of experts, or an all-to-all by a matrix; what the skew costs; and which port is the "
        "busiest.",
    .manual =
        "-c takes moe_prepare, moe_dispatch, moe_combine and moe_combine_low_precision, several by "
        "commas, or all_to_all_v or all_gather_v. A combine is bf16. docs/exchange.md has the "
        "model and how far off it is. `collsim run -c moe_dispatch` is the same.",
    .examples = {"moe dgx-h100-x4 --tokens 128,4096",
                 "moe dgx-h100-x4 -c moe_dispatch --tokens 4096 --skew hot:4 --explain",
                 "moe gb200-nvl72 -n 32 --kernels nvlink-one-sided --type nvfp4",
                 "moe dgx-h100 -c all_to_all_v --matrix sizes.csv"},
    .argument = "topology",
    .needs = "machine",
    .first = "topology ranks collective tokens experts top-k kernels skew explain format",
    .modes = {{of_experts,
               moe_options() + "tokens hidden top-k experts hosts-per-token type kernels sms skew"},
              {"--matrix", moe_options() + "matrix estimate env nccl-version"},
              {"--size", moe_options() + "size skew estimate env nccl-version"}},
    .formats = formats_of_rows(),
    .values = {{"collective", text("LIST", "moe_dispatch,moe_combine")},
               {"tokens", text("LIST", "4096")},
               {"kernels", text("NAME", "deepep")}},
    .run = run_moe,
};

}  // namespace collsim::command
