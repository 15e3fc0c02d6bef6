// Every case of tests/data/nccl-golden/selection.txt, field by field, against NCCL's own output.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/algorithms/patterns.h"
#include "tests/models/nccl/nccl_test_support.h"
#include "tools/collsim/choose/choice_report.h"

namespace collsim::test {
namespace {

using Lines = std::vector<std::string>;

/// The cases of the file, each with its header as first line.
std::vector<Lines> golden_cases() {
  std::ifstream file(golden_folder + "selection.txt");
  std::vector<Lines> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) cases.emplace_back();
    if (!cases.empty()) cases.back().push_back(line);
  }
  return cases;
}

Lines split(const std::string& text, char separator) {
  Lines parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

/// What a line tells of.
std::string field_of(const std::string& line) {
  if (line.starts_with("== ")) return "machine";
  if (line.starts_with(" ring ch")) return "ring orders";
  if (line.starts_with(" tree ch")) return "tree orders";
  if (line.starts_with("collChannels")) return "run channels";
  if (line.starts_with("select ")) return "selection";
  return line.find(" pattern ") != std::string::npos ? "graphs" : "latency/bandwidth";
}

/// "LL 15.20/29.053": bandwidths agree within 0.2 %, latencies to the last digit.
bool same_estimate(const std::string& ours, const std::string& theirs) {
  const Lines our_words = split(ours, ' ');
  const Lines their_words = split(theirs, ' ');
  return std::equal(our_words.begin(), our_words.end(), their_words.begin(), their_words.end(),
                    [](const std::string& a, const std::string& b) {
                      const std::size_t slash = b.find('/');
                      if (slash == std::string::npos) return a == b;
                      if (a.substr(0, slash + 1) != b.substr(0, slash + 1)) return false;
                      const double our_bandwidth = std::atof(a.c_str() + slash + 1);
                      const double bandwidth = std::atof(b.c_str() + slash + 1);
                      return std::abs(our_bandwidth - bandwidth) <= 0.002 * bandwidth;
                    });
}

struct Score {
  int right = 0;
  int of = 0;
};

TEST(GoldenSelection, EveryFieldOfEveryCaseIsTheSame) {
  const auto cases = golden_cases();
  ASSERT_EQ(cases.size(), 9U);
  for (const Lines& golden : cases) {
    const Lines header = split(golden.front(), ' ');
    const auto nodes = static_cast<std::uint32_t>(std::stoul(header[3]));
    const Nccl nccl = nccl_on(golden_folder + "topologies/" + header[1], nodes);
    std::ostringstream printed;
    command::print_golden(nccl, header[1], printed);
    const Lines ours = split(printed.str(), '\n');

    std::map<std::string, Lines> ours_by_field;
    std::map<std::string, Lines> golden_by_field;
    for (const std::string& line : ours) ours_by_field[field_of(line)].push_back(line);
    for (const std::string& line : golden) golden_by_field[field_of(line)].push_back(line);
    for (const auto& [field, expected] : golden_by_field) {
      const Lines& found = ours_by_field[field];
      Score score{0, static_cast<int>(std::max(expected.size(), found.size()))};
      for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
        const bool right = field == "latency/bandwidth" ? same_estimate(found[i], expected[i])
                                                        : found[i] == expected[i];
        EXPECT_TRUE(right) << "ours:   " << found[i] << "\ngolden: " << expected[i];
        score.right += right ? 1 : 0;
      }
      std::cout << fmt::format("{:<20} {} nodes  {:<18} {}/{}\n", header[1], nodes, field,
                               score.right, score.of);
      EXPECT_EQ(score.right, score.of) << header[1] << " " << field;
    }
    EXPECT_EQ(ours_by_field.size(), golden_by_field.size());
  }
}

TEST(GoldenSelection, RingsAndTreesHoldEveryRankOnce) {
  for (const Lines& golden : golden_cases()) {
    const Lines header = split(golden.front(), ' ');
    const auto nodes = static_cast<std::uint32_t>(std::stoul(header[3]));
    const Nccl nccl = nccl_on(golden_folder + "topologies/" + header[1], nodes);
    EXPECT_EQ(nccl.channel_count(), nccl.channels().channels.size());
    EXPECT_EQ(nccl.stripes(NcclAlgorithm::nvls), nccl.channels().nvls.stripes());
    EXPECT_EQ(nccl.stripes(NcclAlgorithm::collnet_direct), nccl.channels().collnet.stripes());
    for (const NcclChannel& channel : nccl.channels().channels) {
      const std::set<Rank> ranks(channel.ring.begin(), channel.ring.end());
      EXPECT_EQ(channel.ring.size(), nccl.ranks());
      EXPECT_EQ(ranks.size(), nccl.ranks());
      EXPECT_EQ(channel.ring.front(), 0U);
      std::size_t edges = 0;
      for (const auto& level : edges_by_level(channel.tree)) edges += level.size();
      EXPECT_EQ(edges, nccl.ranks() - 1);  // reachable from one root: a tree
    }
  }
}

}  // namespace
}  // namespace collsim::test
