// Rings, trees, channels, estimates and choices as two recorded runs of NCCL 2.28.9 logged them.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

struct Log {
  std::map<std::pair<int, int>, std::pair<int, int>> ring;  ///< (channel, rank): previous, next
  std::map<std::pair<int, int>, int> parent;                ///< (channel, rank): parent or -1
  int channels = 0;
  std::vector<std::string> tuning;  ///< lines of the table
  struct Call {
    std::int64_t bytes;
    std::string algorithm;
    std::string protocol;
    int last_channel;
  };
  std::vector<Call> calls;
};

Log read_log(const std::string& name) {
  static const std::regex ring(R"(Ring (\d+) : (\d+) -> (\d+) -> (\d+))");
  static const std::regex trees(R"(\[(\d+)\] [-\d]+/[-\d]+/[-\d]+->(\d+)->(-?\d+)(?= |$))");
  static const std::regex channels(R"((\d+) coll channels)");
  static const std::regex call(
      R"(AllReduce: (\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo..Hi\}=\{0..(\d+)\})");
  std::ifstream file(recording_folder + name);
  Log log;
  std::smatch found;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_search(line, found, ring)) {
      log.ring[{std::stoi(found[1]), std::stoi(found[3])}] = {std::stoi(found[2]),
                                                              std::stoi(found[4])};
    } else if (line.find("NCCL INFO Trees [") != std::string::npos) {
      // NCCL cuts lines at 1023 characters: what is cut inside an entry does not match.
      for (std::sregex_iterator each(line.begin(), line.end(), trees), end; each != end; ++each) {
        log.parent[{std::stoi((*each)[1]), std::stoi((*each)[2])}] = std::stoi((*each)[3]);
      }
    } else if (std::regex_search(line, found, channels)) {
      log.channels = std::stoi(found[1]);
    } else if (std::regex_search(line, found, call)) {
      log.calls.push_back({std::stoll(found[1]), found[2], found[3], std::stoi(found[4])});
    } else if (line.find('/') != std::string::npos && line.find(" |") != std::string::npos &&
               line.find("threadThresholds") == std::string::npos) {
      log.tuning.push_back(line.substr(line.find("NCCL INFO") + 9));
    }
  }
  return log;
}

void expect_same_channels(const Log& log, const Nccl& nccl) {
  EXPECT_EQ(nccl.channels().channels.size(), static_cast<std::size_t>(log.channels));
  EXPECT_EQ(log.ring.size(), static_cast<std::size_t>(log.channels) * nccl.ranks());
  for (const auto& [place, neighbours] : log.ring) {
    const auto& ring = nccl.channels().channels[static_cast<std::size_t>(place.first)].ring;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      if (ring[i] != static_cast<Rank>(place.second)) continue;
      EXPECT_EQ(ring[(i + ring.size() - 1) % ring.size()], static_cast<Rank>(neighbours.first));
      EXPECT_EQ(ring[(i + 1) % ring.size()], static_cast<Rank>(neighbours.second));
    }
  }
  EXPECT_GE(log.parent.size(), nccl.ranks());
  for (const auto& [place, parent] : log.parent) {
    const auto& tree = nccl.channels().channels[static_cast<std::size_t>(place.first)].tree;
    const auto ours = tree.parent[static_cast<std::size_t>(place.second)];
    EXPECT_EQ(ours ? static_cast<int>(*ours) : -1, parent)
        << "channel " << place.first << ", rank " << place.second;
  }
}

/// The table has three algorithms a block, in NCCL's order, with three protocols each.
void expect_same_estimates(const Log& log, const Nccl& nccl) {
  static const std::regex entry(R"((\d+\.\d)/ *(\d+\.\d) \|)");
  std::map<NcclFunction, std::size_t> column;
  int compared = 0;
  for (const std::string& line : log.tuning) {
    const std::string name = line.substr(line.find_first_not_of(' '));
    const auto function = find_nccl_function(name.substr(0, name.find(' ')));
    if (!function) continue;
    for (std::sregex_iterator each(line.begin(), line.end(), entry), end; each != end; ++each) {
      const std::size_t place = column[*function]++;
      const auto algorithm = static_cast<NcclAlgorithm>(place / 3);
      const Tuning& ours = nccl.tuning(*function, algorithm, static_cast<Protocol>(place % 3));
      const double bandwidth = std::atof((*each)[2].str().c_str());
      EXPECT_NEAR(ours.bandwidth, bandwidth, 0.0501) << line;
      if (bandwidth == 0) continue;
      EXPECT_NEAR(ours.latency, std::atof((*each)[1].str().c_str()), 0.0501) << line;
      ++compared;
    }
  }
  EXPECT_GE(compared, 5);
  for (const NcclFunction function : all_nccl_functions) EXPECT_EQ(column[function], 21U);
}

void expect_same_choices(const Log& log, const Nccl& nccl) {
  ASSERT_FALSE(log.calls.empty());
  for (const Log::Call& call : log.calls) {
    const Choice choice = nccl.choose(NcclFunction::all_reduce, Bytes{call.bytes});
    EXPECT_EQ(choice.algorithm, find_nccl_algorithm(call.algorithm)) << call.bytes;
    EXPECT_EQ(choice.protocol, find_nccl_protocol(call.protocol)) << call.bytes;
    EXPECT_EQ(choice.channels, static_cast<std::uint32_t>(call.last_channel + 1)) << call.bytes;
  }
}

TEST(DebugLog, EightGpusOnNvlink) {
  const Log log = read_log("nccl-debug-h200x8.log");
  const Nccl nccl =
      nccl_on(recording_folder + "h200x8-topo.xml", 1, {{"NCCL_NVLS_ENABLE", "0"}}, "2.28.9");
  expect_same_channels(log, nccl);
  expect_same_estimates(log, nccl);
  expect_same_choices(log, nccl);
}

TEST(DebugLog, EightHostsOfOneGpuOverTcp) {
  const Log log = read_log("nccl-debug-8-nodes-1-gpu-tcp.log");
  const Nccl nccl = nccl_on(machine_folder + "h200_1x10g_tcp.xml", 8,
                            {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}}, "2.28.9");
  // "Pattern 4, crossNic 0, nChannels 1, bw 1.200000/1.200000, type LOC/PHB"
  EXPECT_EQ(nccl.graphs().ring.inter_type, PathType::phb);
  EXPECT_FLOAT_EQ(nccl.graphs().ring.inter_bandwidth, 1.2F);
  // "Pattern 3, crossNic 0, nChannels 1, bw 2.400000/1.200000"
  EXPECT_FLOAT_EQ(nccl.graphs().tree.intra_bandwidth, 2.4F);
  expect_same_channels(log, nccl);
  expect_same_estimates(log, nccl);
  expect_same_choices(log, nccl);
}

TEST(DebugLog, TheDumpedGraphIsTheOneThatWeFind) {
  const std::string topology = recording_folder + "h200x8-topo.xml";
  const Nccl searched = nccl_on(topology, 1, {{"NCCL_NVLS_ENABLE", "0"}}, "2.28.9");
  const Nccl given = nccl_on(
      topology, 1,
      {{"NCCL_NVLS_ENABLE", "0"}, {"NCCL_GRAPH_FILE", recording_folder + "h200x8-graph.xml"}},
      "2.28.9");
  EXPECT_EQ(given.graphs().ring.channels, searched.graphs().ring.channels);
  EXPECT_EQ(given.graphs().tree.channels, searched.graphs().tree.channels);
  EXPECT_EQ(given.graphs().ring.intra_bandwidth, searched.graphs().ring.intra_bandwidth);
}

}  // namespace
}  // namespace collsim::test
