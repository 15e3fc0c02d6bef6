#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace collsim::test {

/// A file that exists as long as the object. A bare name gets a fresh folder of its own, which goes
/// with it.
class TemporaryFile {
 public:
  TemporaryFile(const std::filesystem::path& name, std::string_view content);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path folder_;  // empty where it is not ours
};

}  // namespace collsim::test
