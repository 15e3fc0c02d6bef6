// What the engines' kernels rest on: `measured` stands beside calls alone whose GPU, count and
// kernel are in a recording.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "models/call/rank_gpus.h"
#include "models/machine/gpu_model.h"
#include "models/peer_kernels/peer_calls.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// GPU, count and kernel.
using RecordedKernel = std::tuple<std::string, Rank, std::string>;

PeerCalls calls_of(const Topology& topology, Rank ranks, const std::string& engine) {
  CallSpec spec;
  spec.topology = &topology;
  spec.run.schedule = ScheduleKind::nccl;
  spec.run.algorithm = "auto";
  spec.run.graph = true;
  spec.gpus = first_gpus(topology, ranks, std::nullopt);
  return {spec, parse_engine_release(engine), false};
}

std::vector<std::vector<std::string>> fields_of(const std::string& name) {
  std::ifstream file(data_directory() / "recordings/inference" / name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::vector<std::string>& row = rows.emplace_back();
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, '\t');) row.push_back(field);
  }
  return rows;
}

/// The kernels of the recordings, which say the engine: what it ran for a size, the engine's limits
/// say.
std::set<RecordedKernel> recorded_kernels() {
  std::set<RecordedKernel> recorded;
  const std::map<std::string, std::string> machines{{"a100_sxm", "dgx-a100"},
                                                    {"h100_sxm", "dgx-h100"},
                                                    {"b200_sxm", "dgx-b200"},
                                                    {"gb200", "gb200-nvl72"},
                                                    {"l40s", "l40s-8"}};
  std::map<std::tuple<std::string, Rank, std::string>, std::set<std::int64_t>> asked;
  for (const auto& row : fields_of("custom-all-reduce.tsv")) {
    if (row.size() < 9 || !machines.contains(row[0])) continue;
    const bool trtllm = row[3].find("TRTLLM") != std::string::npos;
    const std::string engine =
        trtllm ? "tensorrt-llm:" + (row[1] == "trtllm" ? row[2] : "1.0") : row[1] + ":" + row[2];
    asked[{row[0], static_cast<Rank>(std::stoul(row[5])), engine}].insert(std::stoll(row[7]));
  }
  for (const auto& [question, sizes] : asked) {
    const auto& [machine, ranks, engine] = question;
    const Topology topology = load_topology(find_data_file(machines.at(machine), "topologies"));
    PeerCalls calls = calls_of(topology, ranks, engine);
    const std::string gpu(find_gpu_model(topology.device(topology.gpus().front()).model)->name);
    for (const std::int64_t size : sizes) {
      const PeerCallChoice choice = calls.choose(Bytes{size});
      recorded.emplace(gpu, ranks, choice.kernels + " " + choice.kernel);
    }
  }
  for (const auto& [gpu, ranks] : {std::pair{"H200", 2}, {"H200", 4}, {"H100", 2}}) {
    std::string file =
        std::string("symmetric-memory-") + gpu + "-" + std::to_string(ranks) + ".tsv";
    file.replace(file.find('H'), 1, "h");
    for (const auto& row : fields_of(file)) {
      recorded.emplace(gpu, ranks, "pytorch " + row[0]);
    }
  }
  for (const auto& row : fields_of("small-all-reduce.tsv")) {
    if (row[1].starts_with("H100") && row[3] == "multimem") {
      recorded.emplace("H100", std::stoul(row[2]), "pytorch multimem_two_shot");
    }
  }
  return recorded;
}

// Ten machines, of GPUs with and without recordings, by five counts, four engines and three sizes.
TEST(PeerProvenance, is_measured_where_gpu_count_and_kernel_were_recorded) {
  const std::set<RecordedKernel> recorded = recorded_kernels();
  int measured = 0;
  int others = 0;
  for (const char* const machine :
       {"dgx-a100", "dgx-h100", "hgx-h200", "hgx-h800", "dgx-b200", "hgx-b300", "gb200-nvl72",
        "gb300-nvl72", "l40s-8", "rtx-pro-6000-8"}) {
    const Topology topology = load_topology(find_data_file(machine, "topologies"));
    const std::string gpu(find_gpu_model(topology.device(topology.gpus().front()).model)->name);
    for (const Rank ranks : {2U, 3U, 4U, 6U, 8U}) {
      for (const char* const engine : {"vllm", "sglang", "sglang:0.5.9", "tensorrt-llm"}) {
        PeerCalls calls = calls_of(topology, ranks, engine);
        for (const std::int64_t size : {4096, 1 << 20, 8 << 20}) {
          const PeerCallChoice choice = calls.choose(Bytes{size});
          if (choice.kernels.empty()) continue;
          const bool is_measured = calls.predict(Bytes{size}).trust == Trust::measured;
          const bool is_recorded =
              recorded.contains({gpu, ranks, choice.kernels + " " + choice.kernel});
          EXPECT_TRUE(!is_measured || is_recorded)
              << machine << ", " << ranks << " ranks, " << engine << ", " << choice.kernel;
          EXPECT_TRUE(is_measured || !calls.taken_over().empty());
          ++(is_measured ? measured : others);
        }
      }
    }
  }
  EXPECT_GT(measured, 20);
  EXPECT_GT(others, 100);
}

TEST(PeerProvenance, of_the_table_is_that_of_recordings) {
  const std::set<RecordedKernel> recorded = recorded_kernels();
  std::ifstream file(data_directory() / "recordings/h200x4/symmetric.yaml");
  const std::string symmetric{std::istreambuf_iterator<char>(file), {}};
  for (const PeerKernelCost& cost : load_peer_kernels().costs) {
    for (const RecordedGpus& each : cost.recorded) {
      if (cost.kernels == "nccl") {
        EXPECT_EQ(each.gpu, "H200");
        const bool copies = cost.kernel == "copy_engines";
        EXPECT_NE(symmetric.find(copies ? "NCCL_CTA_POLICY" : cost.kernel), std::string::npos);
        continue;
      }
      for (const Rank ranks : each.ranks) {
        EXPECT_TRUE(recorded.contains({each.gpu, ranks, cost.kernels + " " + cost.kernel}))
            << cost.kernels << ' ' << cost.kernel << " on " << ranks << ' ' << each.gpu;
      }
    }
  }
}

}  // namespace
}  // namespace collsim
