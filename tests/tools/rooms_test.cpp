// Sources lie in rooms, one above the other. No file includes a room above its own, and none comes
// back to itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace collsim {
namespace {

namespace fs = std::filesystem;

/// From the lowest to the highest.
constexpr auto rooms = std::to_array<std::string_view>({
    "sim/base",
    "sim/yaml",
    "sim/topologies",
    "sim/routing",
    "sim/plan",
    "sim/algorithms",
    "sim/nccl",
    "sim/fabric",
    "sim/cost",
    "sim/execution",
    "models/machine",
    "models/nccl/settings",
    "models/nccl/system",
    "models/nccl/search",
    "models/nccl/tuning",
    "models/nccl/symmetric",
    "models/nccl",
    "models/calibration",
    "models/bounds",
    "models/faults",
    "models/scenario",
    "models/imports",
    "models/recordings",
    "models/call",
    "models/estimate",
    "models/simulate",
    "models/predict",
    "models/exchange",
    "models/peer_kernels",
    "models/crossover",
    "models/explanation",
    "models/trace",
    "models/sweep",
    "models/program",
    "models/advice",
    "models/planning",
    "models/workload",
    "models/validation",
    "models/diagnosis",
    "models/hang",
    "models/job_trace",
    "models/fit",
    "library",
    "tools/collsim/core",
    "tools/collsim/request",
    "tools/collsim/report",
    "tools/collsim/*",
    "tools/collsim",
});

/// Rooms of subcommands are one floor: what two of them need lies in a shared room.
constexpr std::string_view subcommands = "tools/collsim/";
constexpr auto shared_rooms = std::to_array<std::string_view>(
    {"tools/collsim/core", "tools/collsim/request", "tools/collsim/report"});

/// What files include by a path from the root, by file.
using Includes = std::map<std::string, std::vector<std::string>>;

std::string room_of(const std::string& file) {
  return fs::path(file).parent_path().string();
}

bool is_of_subcommand(const std::string& room) {
  return room.starts_with(subcommands) &&
         std::find(shared_rooms.begin(), shared_rooms.end(), room) == shared_rooms.end();
}

std::size_t height_of(const std::string& file) {
  std::string room = room_of(file);
  if (is_of_subcommand(room)) room = "tools/collsim/*";
  const auto* const found = std::find(rooms.begin(), rooms.end(), room);
  return static_cast<std::size_t>(found - rooms.begin());
}

std::vector<std::string> read_includes(const fs::path& file) {
  constexpr std::string_view begin = "#include \"";
  std::vector<std::string> includes;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(begin)) continue;
    includes.push_back(line.substr(begin.size(), line.rfind('"') - begin.size()));
  }
  return includes;
}

Includes read_tree() {
  const fs::path root = COLLSIM_SOURCE_DIR;
  Includes includes;
  for (const char* const part : {"sim", "models", "library", "tools/collsim"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / part)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      includes[fs::relative(entry.path(), root).string()] = read_includes(entry.path());
    }
  }
  return includes;
}

/// All that a file includes, and what that includes.
std::set<std::string> reachable_from(const std::string& file, const Includes& includes) {
  std::set<std::string> reached;
  std::vector<std::string> open{file};
  while (!open.empty()) {
    const auto found = includes.find(open.back());
    open.pop_back();
    if (found == includes.end()) continue;
    for (const std::string& next : found->second) {
      if (reached.insert(next).second) open.push_back(next);
    }
  }
  return reached;
}

TEST(Rooms, hold_every_source) {
  const Includes includes = read_tree();
  EXPECT_GT(includes.size(), 300U);
  for (const auto& [file, included] : includes) {
    EXPECT_LT(height_of(file), rooms.size()) << file << " lies in no room of this test's";
  }
}

TEST(Rooms, include_no_room_above) {
  for (const auto& [file, included] : read_tree()) {
    for (const std::string& each : included) {
      EXPECT_LE(height_of(each), height_of(file)) << file << " includes " << each;
    }
  }
}

TEST(Rooms, of_subcommands_include_no_other_subcommand) {
  for (const auto& [file, included] : read_tree()) {
    if (!is_of_subcommand(room_of(file))) continue;
    for (const std::string& each : included) {
      if (is_of_subcommand(room_of(each))) {
        EXPECT_EQ(room_of(each), room_of(file)) << file << " includes " << each;
      }
    }
  }
}

TEST(Rooms, have_no_files_that_include_each_other) {
  const Includes includes = read_tree();
  for (const auto& [file, included] : includes) {
    EXPECT_FALSE(reachable_from(file, includes).contains(file)) << file << " includes itself";
  }
}

}  // namespace
}  // namespace collsim
