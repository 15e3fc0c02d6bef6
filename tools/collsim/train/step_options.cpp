#include "tools/collsim/train/step_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/faults/fault.h"
#include "models/faults/machine_faults.h"
#include "models/imports/machine.h"
#include "models/imports/machine_parts.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/format.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/variables_option.h"
#include "tools/collsim/request/change.h"
#include "tools/collsim/request/prices.h"
#include "tools/collsim/train/software.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// Three of these multiply without overflow.
constexpr std::uint32_t max_option = 1'000'000;

std::int64_t positive(const po::variables_map& values, const char* option, std::uint32_t least) {
  return bounded_option(values, option, least, max_option);
}

}  // namespace

std::string job_machine_options() {
  return "topology nodes ranks set placement slow-nic fault env simulate ";
}

namespace {

/// What the first NIC of a node carries; throws InputError where there is none.
double nic_rate(const MachineParts& parts) {
  for (const GraphDevice& device : parts.node.devices) {
    if (device.kind == DeviceKind::nic && device.port_rate.value > 0) return device.port_rate.value;
  }
  const Topology two = compose(parts, 2);
  const NodePart node = two.node(0);
  const auto& devices = node.graph->graph().devices;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind != DeviceKind::nic) continue;
    for (const LinkId id : two.links_from(node.first_device + i)) {
      if (two.link(id).kind == LinkKind::network) return two.link(id).bandwidth.value;
    }
  }
  throw InputError("--slow-nic: the machine has no NICs", "a machine of several nodes");
}

MachineParts with_nics(MachineParts parts, double factor) {
  constexpr double bits_of_gigabit = 1e9;
  constexpr double bits_of_byte = 8;
  const std::string change =
      fmt::format("nic={:.9g}Gb/s", factor * bits_of_byte * nic_rate(parts) / bits_of_gigabit);
  return changed(std::move(parts), change);
}

MachineParts read_parts(const po::variables_map& values, const std::string& name) {
  MachineParts parts = load_parts(name);
  if (values.contains("nodes")) parts.nodes = bounded_option(values, "nodes", 1, gpu_limit);
  if (values.contains("placement")) {
    const std::string change = "placement=" + values["placement"].as<std::string>();
    parts = changed(std::move(parts), change);
  }
  if (!values.contains("set")) return parts;
  for (const std::string& change : values["set"].as<std::vector<std::string>>()) {
    parts = changed(std::move(parts), change);
  }
  return parts;
}

/// What makes of a machine another one.
constexpr std::array composing_options{"nodes", "placement", "set", "slow-nic"};
/// NCCL gives all NICs of a node equal parts of a call, so that the slowest says how long it takes:
/// one slow NIC is as all of them that slow.
double slow_nic(const po::variables_map& values) {
  const double share = values["slow-nic"].as<double>();
  if (share > 0 && share <= 1) return share;
  throw InputError(fmt::format("--slow-nic: {:g}", share), "a share above 0, at most 1");
}

}  // namespace

namespace {

/// The machine of parts, and the GPUs of a job on it in the order of its placement.
PlacedMachine placed(const MachineParts& parts) {
  const std::uint32_t nodes = parts.placement == NodePlacement::listed
                                  ? static_cast<std::uint32_t>(parts.listed.size())
                                  : parts.nodes;
  Topology topology = compose(parts, nodes_around(parts, nodes));
  std::vector<DeviceId> gpus = job_gpus(topology, parts, nodes);
  return {std::move(topology), std::move(gpus)};
}

}  // namespace

PlacedMachine machine_of_step(const po::variables_map& values, const std::string& name) {
  const bool composed = std::any_of(composing_options.begin(), composing_options.end(),
                                    [&](const char* option) { return values.contains(option); });
  if (!composed) {
    Topology topology = load_machine(name).topology;
    const auto gpus = topology.gpus();
    std::vector<DeviceId> all(gpus.begin(), gpus.end());
    return {std::move(topology), std::move(all)};
  }
  MachineParts parts = read_parts(values, name);
  if (values.contains("slow-nic")) parts = with_nics(std::move(parts), slow_nic(values));
  return placed(parts);
}

PlacedMachine machine_with_nics(const po::variables_map& values, const std::string& name,
                                double factor) {
  return placed(with_nics(read_parts(values, name), factor));
}

namespace {

/// The faults of links that options name. Ranks that are slow are `--straggler`s, which slow
/// kernels.
MachineFaults faults_of_step(const po::variables_map& values, const Topology& topology,
                             Rank ranks) {
  if (!values.contains("fault")) return {};
  std::vector<Fault> faults;
  for (const std::string& text : values["fault"].as<std::vector<std::string>>()) {
    faults.push_back(parse_fault(text));
  }
  MachineFaults found = find_faults(faults, topology, ranks);
  if (found.ranks.empty() && found.hosts.empty()) return found;
  throw InputError("--fault: of a rank or a host", "faults of links, or --straggler RANK:FACTOR");
}

}  // namespace

MachineCalls calls_of_step(const po::variables_map& values, const PlacedMachine& machine) {
  const Topology& topology = machine.topology;
  MachineCalls calls;
  calls.topology = &topology;
  calls.gpus = machine.gpus;
  if (values.contains("ranks")) {
    calls.gpus.resize(
        bounded_option(values, "ranks", 1, static_cast<std::uint32_t>(calls.gpus.size())));
  }
  calls.simulate = values["simulate"].as<bool>();
  calls.run.variables = variables_option(values);
  calls.faults = faults_of_step(values, topology, static_cast<Rank>(calls.gpus.size()));
  calls.run.graph = values.contains("graph") && values["graph"].as<bool>();
  return calls;
}

double factor_option(const po::variables_map& values, const char* option) {
  if (!values.contains(option)) return 1;
  constexpr double most = 1000;
  const double factor = values[option].as<double>();
  if (factor > 0 && factor <= most) return factor;
  throw InputError(fmt::format("--{}: {:g}", option, factor),
                   fmt::format("a factor above 0, at most {:g}", most));
}

KernelTable kernels_of_step(const po::variables_map& values) {
  return slowed(load_kernel_table(), factor_option(values, "kernel-time"),
                factor_option(values, "host-time"));
}

TrainingSetup read_setup(const po::variables_map& values, std::size_t gpus) {
  if (!values.contains("model")) throw InputError("no model", "--model NAME");
  TrainingSetup setup;
  setup.model = find_transformer(values["model"].as<std::string>());
  setup.tensor = positive(values, "tp", 1);
  setup.pipeline = positive(values, "pp", 1);
  setup.context = positive(values, "cp", 1);
  setup.gathers_context = values["cp-gather"].as<bool>();
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
  setup.reshard = !values["no-reshard"].as<bool>();
  setup.micro_batch = positive(values, "micro-batch", 1);
  setup.global_batch = values.contains("global-batch") ? positive(values, "global-batch", 1)
                                                       : setup.micro_batch * setup.data;
  if (values.contains("seq")) setup.sequence = bounded_option(values, "seq", 1, 1U << 24);
  setup.precision = find_precision("precision", values["precision"].as<std::string>());
  setup.recompute = find_recompute("recompute", values["recompute"].as<std::string>());
  TrainingSoftware software{.sequence_parallel = true};
  if (values.contains("software")) {
    software = find_software(load_software(), "software", values["software"].as<std::string>());
  }
  apply_software(software, setup);
  const auto said = [&](const char* option) { return !values[option].defaulted(); };
  if (said("attention")) {
    setup.attention = find_attention("attention", values["attention"].as<std::string>());
  }
  if (values["no-sequence-parallel"].as<bool>()) {
    setup.sequence_parallel = false;
    setup.tensor_overlap = TensorOverlap::none;
  }
  if (said("tp-overlap")) {
    setup.tensor_overlap =
        find_tensor_overlap("tp-overlap", values["tp-overlap"].as<std::string>());
  }
  if (values["no-overlap"].as<bool>()) setup.overlap_gradients = false;
  const auto& bucket = values["bucket"].as<std::string>();
  if (bucket != "auto") setup.bucket = std::max(Bytes{1}, parse_size("bucket", bucket));
  if (values["gpipe"].as<bool>()) setup.order = PipelineOrder::gpipe;
  return setup;
}

void require_layout_options(const po::variables_map& values, const TrainingSetup& setup) {
  const bool replicated = setup.data * setup.context > 1;
  const bool reduces_beside = replicated && setup.zero < 3;
  require_heeded(values, {{"cp-gather", setup.context > 1, "--cp 2 or more"},
                          {"shard", setup.zero == 3, "--zero 3"},
                          {"no-reshard", setup.zero == 3 && replicated, "--zero 3"},
                          {"gpipe", setup.pipeline > 1, "--pp 2 or more"},
                          {"no-sequence-parallel", setup.tensor > 1, "--tp 2 or more"},
                          {"tp-overlap", setup.tensor > 1, "--tp 2 or more"},
                          {"no-overlap", reduces_beside, "data-parallel ranks, and --zero 0 to 2"},
                          {"bucket", reduces_beside && setup.overlap_gradients,
                           "gradients that are reduced beside the backward pass"}});
}

InferenceSetup read_inference(const po::variables_map& values, std::size_t gpus) {
  if (!values.contains("model")) throw InputError("no model", "--model NAME");
  InferenceSetup setup;
  setup.model = find_transformer(values["model"].as<std::string>());
  setup.phase = values["prefill"].as<bool>() ? InferencePhase::prefill : InferencePhase::decode;
  setup.tensor = positive(values, "tp", 1);
  if (static_cast<std::int64_t>(gpus) % setup.tensor != 0) {
    throw InputError(fmt::format("--tp {} of {} GPUs", setup.tensor, gpus),
                     "a number that divides the GPUs");
  }
  setup.replicas = static_cast<std::int64_t>(gpus) / setup.tensor;
  setup.batch = positive(values, "batch", 1);
  constexpr std::uint32_t max_context = 1U << 24;
  setup.context = values.contains("context") ? bounded_option(values, "context", 1, max_context)
                                             : setup.model.sequence;
  const StepPrecision precision =
      find_precision("precision", values["precision"].as<std::string>());
  if (precision == StepPrecision::amp || precision == StepPrecision::bf16_pure) {
    throw InputError(fmt::format("--precision: '{}' of inference", to_string(precision)),
                     "fp16, bf16 or fp8");
  }
  setup.fp8 = precision == StepPrecision::fp8;
  setup.graph = !values["eager"].as<bool>();
  const bool decodes = setup.phase == InferencePhase::decode;
  require_heeded(values,
                 {{"prefill-chunk", decodes, "decoding"}, {"speculate", decodes, "decoding"}});
  setup.chunk = positive(values, "prefill-chunk", 0);
  if (values.contains("speculate")) {
    const auto& text = values["speculate"].as<std::string>();
    std::string_view rest = text;
    setup.guessed = take_number<std::int64_t>(rest).value_or(0);
    setup.accepted = parse_number<double>(rest.substr(rest.starts_with(':') ? 1 : 0)).value_or(-1);
    constexpr std::int64_t most = 64;
    const bool is_share = setup.accepted >= 0 && setup.accepted <= 1;
    if (setup.guessed < 1 || setup.guessed > most || !is_share) {
      throw InputError(fmt::format("--speculate: '{}'", text),
                       "TOKENS:SHARE, such as 4:0.7, of at most 64 tokens");
    }
  }
  if (values.contains("serving")) {
    if (setup.phase == InferencePhase::prefill) {
      throw InputError("--serving with --prefill", "decoding");
    }
    setup.engine = find_engine("serving", values["serving"].as<std::string>());
  }
  return setup;
}

std::optional<Straggler> read_straggler(const po::variables_map& values, std::size_t gpus) {
  if (!values.contains("straggler")) return std::nullopt;
  const auto& text = values["straggler"].as<std::string>();
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view all = text;
  const auto rank = parse_number<Rank>(all.substr(0, colon));
  const auto slower = parse_number<double>(all.substr(std::min(colon + 1, all.size())));
  constexpr double slowest = 1000;
  const bool good = rank && *rank < gpus && slower && *slower > 0 && *slower <= slowest;
  if (good) return Straggler{*rank, *slower};
  throw InputError(fmt::format("--straggler: '{}'", text),
                   fmt::format("RANK:FACTOR, such as 0:1.2, of the ranks 0 to {}", gpus - 1));
}

std::optional<StepPrice> price_of(const std::string& gpu) {
  const PriceSheet sheet = load_prices();
  const GpuPrice* const price = find_price(sheet.rent, gpu, {});
  if (price == nullptr) return std::nullopt;
  return StepPrice{price->price, sheet.currency,
                   fmt::format("{} {}", price->from.vendor, price->from.what)};
}

}  // namespace collsim::command
