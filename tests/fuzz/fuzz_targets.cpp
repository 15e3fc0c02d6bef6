// The table of targets: a new reader gets a line here.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "models/calibration/calibration_file.h"
#include "models/calibration/scaling_error.h"
#include "models/imports/import.h"
#include "models/imports/machine.h"
#include "models/nccl/search/graph_xml.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/system/system_xml.h"
#include "models/peer_kernels/peer_kernel_table.h"
#include "models/program/call_order.h"
#include "models/program/call_program_yaml.h"
#include "models/program/data_movement.h"
#include "models/recordings/log_facts.h"
#include "models/recordings/recording.h"
#include "models/scenario/scenario.h"
#include "sim/algorithms/msccl_xml.h"
#include "sim/algorithms/written_schedule.h"
#include "sim/base/clean_text.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/units.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/node_template.h"
#include "sim/topologies/topology_writer.h"
#include "sim/yaml/yaml_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/collsim/advise/pasted_settings.h"
#include "tools/collsim/calibrate/fit_plan.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/diagnose/spread.h"
#include "tools/collsim/hang/flight_record.h"
#include "tools/collsim/hang/job_calls.h"
#include "tools/collsim/moe/token_traffic.h"
#include "tools/collsim/request/prices.h"
#include "tools/collsim/request/rank_list.h"
#include "tools/collsim/sweep/sweep_space.h"
#include "tools/collsim/train/published_steps.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim {

namespace {

namespace fs = std::filesystem;
using Seeds = std::vector<TextFile>;
using Arguments = std::vector<std::string>;

const fs::path source = COLLSIM_SOURCE_DIR;

/// Mutants stay small, so that many are read.
constexpr std::uintmax_t largest_seed = 24 << 10;

/// Files of the repository's folders whose names match a pattern, but for documents.
Seeds seeds_of(const std::vector<std::string>& folders, const std::vector<std::string>& endings) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(source / folder)) {
      const std::string name = entry.path().filename().string();
      const bool fits = std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
        return name.ends_with(ending);
      });
      if (!entry.is_regular_file() || !fits || name == "README.md") continue;
      if (entry.file_size() <= largest_seed) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  Seeds seeds;
  seeds.reserve(files.size());
  for (const fs::path& file : files) seeds.push_back(read_text_file(file, "a seed"));
  return seeds;
}

/// The lines of a seed file, each as a text.
Seeds lines_of(const std::string& name) {
  std::istringstream lines(read_text_file(source / "tests/fuzz/seeds" / name, "a seed").content);
  Seeds seeds;
  for (std::string line; std::getline(lines, line);) seeds.push_back({name, line});
  return seeds;
}

/// Files of a folder as they are, byte by byte.
Seeds raw_seeds_of(const std::string& folder) {
  Seeds seeds;
  for (const auto& entry : fs::directory_iterator(source / folder)) {
    std::ostringstream content;
    content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    seeds.push_back({entry.path().filename().string(), content.str()});
  }
  std::sort(seeds.begin(), seeds.end(),
            [](const TextFile& a, const TextFile& b) { return a.name < b.name; });
  return seeds;
}

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// A reader whose result does not matter.
template <typename Read>
std::function<bool(const TextFile&)> reads(Read read) {
  return [read](const TextFile& text) {
    read(text);
    return true;
  };
}

/// A reader of files: it gets the path of one in a folder.
template <typename Load>
std::function<bool(const TextFile&)> loads(const fs::path& file, Load load) {
  return [file, load](const TextFile& text) {
    write_file(file, text.content);
    load(file);
    return true;
  };
}

/// A reader of collsim's own data: that folder has links to all of it but one file of models/data/.
template <typename Load>
std::function<bool(const TextFile&)> loads_data(const fs::path& folder, const std::string& name,
                                                Load load) {
  return [folder, name, load](const TextFile& text) {
    const fs::path data = folder / ("data-" + name);
    if (!fs::exists(data)) {
      fs::create_directories(data / "models/data");
      for (const char* each : {"topologies", "scenarios", "recordings", "tools"}) {
        fs::create_directory_symlink(source / each, data / each);
      }
      for (const auto& entry : fs::directory_iterator(source / "models/data")) {
        const fs::path file = entry.path().filename();
        if (file != name) fs::create_symlink(entry.path(), data / "models/data" / file);
      }
    }
    write_file(data / "models/data" / name, text.content);
    setenv("COLLSIM_DATA", data.c_str(), 1);  // the process runs this target alone
    load();
    return true;
  };
}

/// Whether a command ends with 0 or 1, and what it prints may be shown.
bool runs(const Arguments& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = command::run_command(arguments, out, err);
  if (status > command::exit_bad_input) {
    throw std::runtime_error(fmt::format("exit {}: {}", status, err.str()));
  }
  for (const std::string& printed : {out.str(), err.str()}) {
    if (clean_text(printed) != printed) throw std::runtime_error("unclean output: " + printed);
  }
  return status != command::exit_bad_input;
}

/// A command that gets a mutant as a file: "FILE" among its arguments.
std::function<bool(const TextFile&)> commands(const fs::path& file, const Arguments& arguments) {
  return [file, arguments](const TextFile& text) {
    write_file(file, text.content);
    Arguments given = arguments;
    for (std::string& each : given) {
      const auto place = each.rfind("FILE");
      if (place != std::string::npos) each.replace(place, 4, file.string());
    }
    return runs(given);
  };
}

/// A command that gets a mutant as the value of an option. No program gets a zero byte.
std::function<bool(const TextFile&)> options(const Arguments& arguments) {
  return [arguments](const TextFile& text) {
    Arguments given = arguments;
    given.push_back(text.content.substr(0, text.content.find('\0')));
    return runs(given);
  };
}

/// An import that makes a machine makes one that loads again.
void import_and_load(const TextFile& text) {
  ClusterText cluster{"fuzz", {}, {}, 1, {}};
  cluster.node = import_node(text, {find_gpu_model("H100"), false, 0}).node;
  const std::string written = topology_text(cluster);
  try {
    read_topology({"what was imported", written});
  } catch (const InputError& error) {
    throw std::logic_error(error.what());
  }
}

void read_quantity(const TextFile& text) {
  const auto tried = [&](const auto& read) {
    try {
      read(text.content);
      return true;
    } catch (const InputError&) {
      return false;
    } catch (const QuantityError&) {
      return false;
    }
  };
  const std::vector<bool> taken{
      tried(parse_bytes),
      tried(parse_rate),
      tried(parse_time),
      tried(parse_nccl_version),
      tried([](const std::string& value) { command::parse_size("--minbytes", value); }),
      tried([](const std::string& value) { read_yaml_option("--option", value); })};
  if (std::count(taken.begin(), taken.end(), true) == 0) throw InputError("no quantity", "one");
}

void add_yaml_readers(const fs::path& folder, std::vector<FuzzTarget>& targets) {
  const fs::path file = folder / "mutant.yaml";
  const Seeds topologies = seeds_of({"topologies", "recordings/machines"}, {".yaml"});
  const Seeds nodes = seeds_of({"topologies/nodes", "recordings/machines/nodes"}, {".yaml"});
  const Seeds fabrics = seeds_of({"topologies/fabrics"}, {".yaml"});
  const Seeds scenarios = seeds_of({"scenarios"}, {".yaml"});
  targets.push_back({"topology", topologies,
                     reads([](const TextFile& text) { read_topology(text, shipped_library()); })});
  targets.push_back({"node", nodes, loads(file, [](const fs::path& path) {
                       load_node_template(path, shipped_library());
                     })});
  targets.push_back({"fabric", fabrics, loads(file, [](const fs::path& path) {
                       flow_text(load_yaml(path, "fabric"));
                     })});
  targets.push_back({"scenario", scenarios, reads([](const TextFile& text) {
                       read_scenario(read_yaml(text, "scenario"), source / "scenarios");
                     })});
  targets.push_back({"sweep", seeds_of({"scenarios"}, {"buffers.yaml"}),
                     reads([](const TextFile& text) { SweepSpace(text).check(); })});
  targets.push_back(
      {"calibration",
       seeds_of({"models/data/calibrations", "models/data/calibrations/transports"}, {".yaml"}),
       reads([](const TextFile& text) { read_calibration(text); })});
  targets.push_back({"fit-plan", seeds_of({"models/data/fits"}, {".yaml"}),
                     reads([](const TextFile& text) { read_fit_plan(text); })});
  targets.push_back({"prices", seeds_of({"models/data"}, {"prices.yaml"}),
                     loads(file, [](const fs::path& path) { load_prices(path); })});
  targets.push_back({"matrix", seeds_of({"tests/fuzz/seeds"}, {".matrix"}),
                     reads([](const TextFile& text) { matrix_of(read_number_table(text), 2); })});
  targets.push_back(
      {"router", seeds_of({"tests/fuzz/seeds"}, {".router"}), loads(file, [](const fs::path& path) {
         ExpertPlaces places;
         places.experts = 4;
         places.top_k = 2;
         places.host_of_rank = {0, 1};
         token_traffic(places, read_skew(path.string()));
       })});
  targets.push_back({"program", seeds_of({"tests/data/programs"}, {".yaml"}),
                     loads(file, [](const fs::path& path) {
                       const CallProgram program = load_call_program(path);
                       if (!check_call_order(program).hangs) check_data(program);
                     })});
  targets.push_back(
      {"schedule", seeds_of({"docs/learn/schedules"}, {".yaml"}),
       reads([](const TextFile& text) { transfers_of(read_schedule_yaml(text), 4, 1, 0); })});
  targets.push_back({"msccl", seeds_of({"tests/data/msccl"}, {".xml"}),
                     reads([](const TextFile& text) { read_msccl_xml(text); })});
  targets.push_back({"steps", seeds_of({"tests/fuzz/seeds"}, {".steps"}),
                     loads(file, [](const fs::path& path) { load_published_steps(path); })});
  targets.push_back({"kernels", seeds_of({"models/data"}, {"kernels.yaml"}),
                     loads_data(folder, "kernels.yaml", [] { load_kernel_table(); })});
  targets.push_back({"peer-kernels", seeds_of({"models/data"}, {"peer-kernels.yaml"}),
                     loads_data(folder, "peer-kernels.yaml", [] { load_peer_kernels(); })});
  targets.push_back({"transformers", seeds_of({"models/data"}, {"transformers.yaml"}),
                     loads_data(folder, "transformers.yaml", [] {
                       load_transformers();
                       load_counted_models();
                     })});
  targets.push_back({"model-config", seeds_of({"tests/fuzz/seeds"}, {"model-config.json"}),
                     reads([](const TextFile& text) { read_transformer(text); })});
  targets.push_back({"trust", seeds_of({"models/data"}, {"trust.yaml"}),
                     loads_data(folder, "trust.yaml", [] { load_scaling_error(); })});
  targets.push_back({"noise", seeds_of({"models/data"}, {"noise.yaml"}),
                     loads_data(folder, "noise.yaml", [] { load_spread(); })});
  targets.push_back({"nccl-variables", seeds_of({"models/data"}, {"nccl-variables.yaml"}),
                     loads_data(folder, "nccl-variables.yaml", [] { load_nccl_variables(); })});
}

void add_recording_readers(std::vector<FuzzTarget>& targets) {
  const auto recording = reads([](const TextFile& text) { read_recording(text); });
  targets.push_back({"nccl-tests-text", seeds_of({"tests/fuzz/seeds"}, {".log"}), recording});
  targets.push_back({"nccl-tests-text-bad-rows", seeds_of({"tests/fuzz/seeds"}, {".log"}),
                     reads([](const TextFile& text) {
                       std::size_t bad_rows = 0;
                       read_recording(text, bad_rows);
                     })});
  targets.push_back({"nccl-tests-json", seeds_of({"tests/fuzz/seeds"}, {".json"}), recording});
  targets.push_back({"inspector", seeds_of({"tests/fuzz/seeds"}, {".jsonl"}), recording});
  targets.push_back(
      {"recorder", seeds_of({"recordings/h200x2", "recordings/h200x4"}, {".yaml"}), recording});
  targets.push_back({"published-run", seeds_of({"recordings/published"}, {".yaml"}), recording});
  targets.push_back(
      {"recording-csv", seeds_of({"tests/fuzz/seeds"}, {"recording.csv"}), recording});
}

void add_text_readers(std::vector<FuzzTarget>& targets) {
  targets.push_back(
      {"nccl-info", seeds_of({"tests/fuzz/seeds"}, {".log"}), reads([](const TextFile& text) {
         if (!read_log_facts(text).any) throw InputError("no facts", "some");
       })});
  targets.push_back({"settings-list", lines_of("settings.txt"), reads([](const TextFile& text) {
                       if (read_pasted_settings(text).empty()) throw InputError("none", "some");
                     })});
  targets.push_back({"quantity", lines_of("quantities.txt"), reads(read_quantity)});
  const Topology cluster = load_topology(source / "topologies/dgx-h100-x4.yaml");
  targets.push_back({"rank-list", lines_of("ranks.txt"), reads([cluster](const TextFile& text) {
                       command::parse_rank_list(text.content, cluster);
                     })});
}

void add_importers(std::vector<FuzzTarget>& targets) {
  const std::vector<std::string> dumps{"tests/data/cut-down", "tests/data/nccl-dumps",
                                       "tests/data/nccl-machines", "recordings/nccl"};
  const Seeds xml = seeds_of(dumps, {".xml"});
  targets.push_back({"import-nccl", seeds_of(dumps, {".xml", ".md"}), reads(import_and_load)});
  targets.push_back(
      {"import-lstopo", seeds_of({"tests/data/lstopo"}, {".xml"}), reads(import_and_load)});
  targets.push_back({"import-nvidia-smi",
                     seeds_of({"tests/data/nvidia-smi"}, {".txt", ".md", ".html"}),
                     reads(import_and_load)});
  targets.push_back({"nccl-topology", xml, reads([](const TextFile& text) {
                       read_nccl_topology(text, default_nccl_version);
                     })});
  const NcclSystem system =
      read_nccl_topology(source / "recordings/nccl/h200x8-topo.xml", default_nccl_version);
  targets.push_back({"nccl-graph", seeds_of({"recordings/nccl"}, {"graph.xml"}),
                     reads([system](const TextFile& text) {
                       const NcclEnvironment environment{};
                       if (!read_nccl_graph(text, GraphUse::ring, system, environment)) {
                         throw InputError("no graph", "a ring");
                       }
                     })});
}

/// A dump alone, and beside a whole one of another rank.
void add_dumps(const fs::path& folder, std::vector<FuzzTarget>& targets) {
  const auto read = reads([](const TextFile& text) {
    assemble_job({read_flight_record("dump_rank_0", text.content)});
  });
  const Seeds pickles = raw_seeds_of("tests/data/flight-recorder/crossed");
  const Seeds texts = raw_seeds_of("tests/data/flight-recorder/crossed-json");
  targets.push_back({"flight-record-pickle", pickles, read});
  targets.push_back({"flight-record-json", texts, read});
  constexpr std::size_t cost = 5;
  // Alone: beside another dump one that cannot be read counts as not dumped, and nothing is
  // refused.
  const fs::path file = folder / "rank_0";
  targets.push_back({"hang", pickles, commands(file, {"hang", "FILE"}), cost});
  targets.push_back(
      {"hang-json", texts, commands(file, {"hang", "FILE", "--format", "json"}), cost});
}

/// A profiler's trace alone, and beside a whole one of another rank.
void add_profiler_traces(const fs::path& folder, std::vector<FuzzTarget>& targets) {
  const Seeds seeds = raw_seeds_of("tests/data/kineto/small");
  constexpr std::size_t cost = 5;
  const std::string other = (source / "tests/data/kineto/ddp-S-b25-rank1.json.gz").string();
  const fs::path file = folder / "rank0.json";
  targets.push_back({"replay", seeds, commands(file, {"replay", "FILE"})});
  targets.push_back(
      {"replay-json", seeds, commands(file, {"replay", "FILE", other, "--format", "json"}), cost});
  targets.push_back(
      {"replay-machine", seeds, commands(file, {"replay", "FILE", "-t", "hgx-h200-2"}), cost});
  targets.push_back({"replay-chakra", raw_seeds_of("tests/data/chakra/small"),
                     commands(folder / "nodes.1.et", {"replay", "FILE"})});
}

void add_commands_on_logs(const fs::path& folder, std::vector<FuzzTarget>& targets) {
  constexpr std::size_t cost = 20;
  const Seeds logs = seeds_of({"tests/fuzz/seeds"}, {".log", ".json", "recording.csv"});
  const fs::path log = folder / "mutant.log";
  targets.push_back({"diagnose", logs, commands(log, {"diagnose", "FILE"}), cost});
  targets.push_back({"diagnose-json", logs,
                     commands(log, {"diagnose", "FILE", "-t", "hgx-h200", "--format", "json"}),
                     cost});
  targets.push_back(
      {"validate", logs, commands(log, {"validate", "FILE", "-t", "hgx-h200"}), cost});
  targets.push_back(
      {"validate-json", logs, commands(log, {"validate", "FILE", "--format", "json"}), cost});
  targets.push_back({"calibrate", logs,
                     commands(log, {"calibrate", "FILE", "-t", "hgx-h200", "--fit", "launch",
                                    "--sizes", "1", "-o", (folder / "fitted.yaml").string()}),
                     cost});
  targets.push_back({"advise", lines_of("settings.txt"),
                     commands(folder / "mutant.txt", {"advise", "hgx-h200-2", "-b", "1M", "-e",
                                                      "1M", "--settings", "FILE"}),
                     cost});
}

void add_commands_on_yaml(const fs::path& folder, std::vector<FuzzTarget>& targets) {
  constexpr std::size_t cost = 20;
  const fs::path file = folder / "mutant.yaml";
  const Arguments sizes{"-b", "1M", "-e", "1M", "--time-limit", "2"};
  const auto sized = [&](Arguments arguments) {
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    return commands(file, arguments);
  };
  const Seeds machines = seeds_of({"tests/fuzz/seeds"}, {"machine.yaml", "cluster.yaml"});
  const Seeds scenarios = seeds_of({"tests/fuzz/seeds"}, {"scenario.yaml"});
  const Seeds calibrations =
      seeds_of({"models/data/calibrations"}, {"hgx-h200.yaml", "default.yaml", "a100.yaml"});
  targets.push_back({"run", scenarios, commands(file, {"run", "FILE", "--time-limit", "2"}), cost});
  targets.push_back({"run-machine", machines, sized({"run", "-t", "FILE", "-a", "ring"}), cost});
  targets.push_back({"run-calibration", calibrations,
                     sized({"run", "-t", "hgx-h200", "-a", "ring", "--calibration", "FILE"}),
                     cost});
  targets.push_back({"estimate", scenarios, commands(file, {"estimate", "FILE"}), cost});
  targets.push_back({"choose", machines, commands(file, {"choose", "FILE"}), cost});
  targets.push_back({"topo-check", machines, commands(file, {"topo", "check", "FILE"}), cost});
  targets.push_back({"topo-show", machines, commands(file, {"topo", "show", "FILE"}), cost});
  targets.push_back(
      {"plan-prices", seeds_of({"models/data"}, {"prices.yaml"}),
       commands(file, {"plan", "dgx-h100", "--nodes", "1", "--bytes", "1MB", "--prices", "FILE"}),
       cost});
}

void add_commands_on_descriptions(const fs::path& folder, std::vector<FuzzTarget>& targets) {
  constexpr std::size_t cost = 20;
  const Seeds xml = seeds_of({"tests/data/cut-down", "tests/data/nccl-dumps", "tests/data/lstopo"},
                             {".xml", ".md"});
  const Seeds matrices = seeds_of({"tests/data/nvidia-smi"}, {".txt", ".md", ".html"});
  const fs::path file = folder / "mutant.xml";
  targets.push_back({"topo-import", xml, commands(file, {"topo", "import", "FILE"}), cost});
  targets.push_back({"topo-import-matrix", matrices,
                     commands(folder / "mutant.txt", {"topo", "import", "FILE", "--gpu", "H100"}),
                     cost});
  targets.push_back({"choose-topo-file", xml,
                     commands(file, {"choose", "hgx-h200", "--env", "NCCL_TOPO_FILE=FILE"}), cost});
  targets.push_back({"choose-graph-file", seeds_of({"recordings/nccl"}, {"graph.xml"}),
                     commands(file, {"choose", "hgx-h200", "--env", "NCCL_GRAPH_FILE=FILE"}),
                     cost});
  targets.push_back(
      {"choose-env", lines_of("settings.txt"), options({"choose", "hgx-h200-2", "--env"}), cost});
  targets.push_back(
      {"run-rank-list", lines_of("ranks.txt"),
       options({"run", "hgx-h200", "-b", "1K", "-e", "1K", "--time-limit", "2", "--rank-list"}),
       cost});
}

/// Rows of a sweep that was stopped: the sweep goes on behind them, or refuses them.
void add_sweep_rows(const fs::path& folder, std::vector<FuzzTarget>& targets) {
  constexpr std::size_t cost = 20;
  const std::string sweep = (source / "tests/fuzz/seeds/two-rows-sweep.yaml").string();
  for (const std::string ending : {"csv", "jsonl"}) {
    const fs::path rows = folder / ("rows." + ending);
    const Arguments arguments{"sweep", sweep, "-o", rows.string(), "--resume"};
    runs(arguments);
    targets.push_back({"sweep-resume-" + ending,
                       {read_text_file(rows, "rows")},
                       [rows, arguments](const TextFile& text) {
                         write_file(rows, text.content);
                         return runs(arguments);
                       },
                       cost});
  }
}

}  // namespace

std::vector<FuzzTarget> fuzz_targets(const fs::path& folder) {
  std::vector<FuzzTarget> targets;
  add_yaml_readers(folder, targets);
  add_recording_readers(targets);
  add_text_readers(targets);
  add_importers(targets);
  add_dumps(folder, targets);
  add_profiler_traces(folder, targets);
  add_commands_on_logs(folder, targets);
  add_commands_on_yaml(folder, targets);
  add_commands_on_descriptions(folder, targets);
  add_sweep_rows(folder, targets);
  return targets;
}

}  // namespace collsim
