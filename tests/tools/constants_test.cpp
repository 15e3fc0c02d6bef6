// Constants of thread blocks are read where the equations of docs/cost-model.md stand, and nowhere
// else: sim/cost. Calibration files and fits write them.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace collsim {
namespace {

namespace fs = std::filesystem;

/// Rooms that turn constants into files and back.
bool may_read_constants(const std::string& file) {
  return file.starts_with("sim/cost/") || file.starts_with("models/calibration/") ||
         file.starts_with("tools/collsim/calibrate/");
}

std::vector<std::string> lines_with_constants(const fs::path& path) {
  static const std::regex constant(
      R"(corrections\.\w+|\balpha\[|\w*cost\w*(\(\))?(\.|->)(step|read|write|wait|work|first|setup|setup_per_warp)\b)");
  std::vector<std::string> found;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    const std::string code = line.substr(0, line.find("//"));
    if (std::regex_search(code, constant)) found.push_back(line);
  }
  return found;
}

TEST(Constants, of_thread_blocks_are_read_by_the_equations_alone) {
  const fs::path root = COLLSIM_SOURCE_DIR;
  for (const char* const part : {"sim", "models", "library", "tools/collsim"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / part)) {
      const fs::path extension = entry.path().extension();
      const std::string file = fs::relative(entry.path(), root).string();
      if ((extension != ".h" && extension != ".cpp") || may_read_constants(file)) continue;
      for (const std::string& line : lines_with_constants(entry.path())) {
        ADD_FAILURE() << file << ": " << line;
      }
    }
  }
}

TEST(Constants, are_found_where_they_are_read) {
  EXPECT_FALSE(
      lines_with_constants(fs::path(COLLSIM_SOURCE_DIR) / "sim/cost/slice_cost.h").empty());
}

}  // namespace
}  // namespace collsim
