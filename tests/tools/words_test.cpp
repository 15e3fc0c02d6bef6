// Each concept has one name in the code: docs/glossary.md says which, and which names have lost.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace collsim {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// The names in the last column of the glossary's table; `most_*` stands for all that begin so.
std::vector<std::string> lost_names() {
  const std::string glossary = read(fs::path(COLLSIM_SOURCE_DIR) / "docs/glossary.md");
  const std::string table = glossary.substr(glossary.find("## Names in the code"));
  static const std::regex row(R"(\|[^\n|]*\|[^\n|]*\|([^\n|]*)\|)");
  static const std::regex name(R"(`(\w+)(\*?)`)");
  std::vector<std::string> names;
  for (std::sregex_iterator each(table.begin(), table.end(), row), end; each != end; ++each) {
    const std::string cell = (*each)[1];
    for (std::sregex_iterator found(cell.begin(), cell.end(), name); found != end; ++found) {
      names.push_back((*found)[1].str() + ((*found)[2].length() > 0 ? "\\w+" : ""));
    }
  }
  return names;
}

/// A source without comments and strings.
std::string code_of(const fs::path& file) {
  static const std::regex not_code(R"rx(//[^\n]*|"(\\.|[^"\\\n])*")rx");
  return std::regex_replace(read(file), not_code, "");
}

TEST(Words, that_have_lost_are_not_in_the_code) {
  const std::vector<std::string> names = lost_names();
  ASSERT_GT(names.size(), 20U);
  std::string all;
  for (const std::string& each : names) all += (all.empty() ? "" : "|") + each;
  const std::regex lost("\\b(" + all + ")\\b");
  for (const char* const part : {"sim", "models", "library", "tools/collsim"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(COLLSIM_SOURCE_DIR) / part)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      const std::string code = code_of(entry.path());
      std::smatch found;
      EXPECT_FALSE(std::regex_search(code, found, lost))
          << entry.path() << " has " << found.str() << "; docs/glossary.md has a better name";
    }
  }
}

// Two types of one name in headers of one program are undefined behaviour: templates of one run
// with the other.
TEST(Words, each_type_is_defined_in_one_header) {
  static const std::regex type(
      R"((?:^|\n)(?:struct|class|enum class) (\w+)(?: final)?(?: :[^:;][^;{]*)? \{)");
  std::map<std::string, std::string> defined;
  for (const char* const part : {"sim", "models", "tools/collsim", "library"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(COLLSIM_SOURCE_DIR) / part)) {
      if (entry.path().extension() != ".h") continue;
      const std::string code = read(entry.path());
      for (std::sregex_iterator each(code.begin(), code.end(), type), end; each != end; ++each) {
        const auto [first, is_new] = defined.emplace((*each)[1], entry.path().string());
        EXPECT_TRUE(is_new) << (*each)[1] << " in " << first->second << " and " << entry.path();
      }
    }
  }
  EXPECT_GT(defined.size(), 300U);
}

}  // namespace
}  // namespace collsim
