#include "tests/support/temporary_file.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace collsim::test {

namespace fs = std::filesystem;

TemporaryFile::TemporaryFile(const fs::path& name, std::string_view content) : path_(name) {
  if (!name.has_parent_path()) {
    std::string pattern = (fs::temp_directory_path() / "collsim-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
    path_ = folder_ / name;
  }
  std::ofstream file(path_, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  fs::remove_all(folder_.empty() ? path_ : folder_, ignored);
}

}  // namespace collsim::test
