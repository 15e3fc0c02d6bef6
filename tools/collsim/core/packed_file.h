#pragma once

#include <zlib.h>

#include <cstddef>
#include <memory>
#include <string>

namespace collsim {

/// A file that is read piece by piece, unpacked if gzip has packed it. Traces become 10 to 20 times
/// smaller by gzip: what would unpack to far more is refused, as is all beyond 1 GiB.
class PackedFile {
 public:
  /// Throws InputError, which says that `accepted` would be, where the file cannot be opened.
  PackedFile(const std::string& name, std::string accepted);

  /// Fills `piece` as far as there is more, and returns how many bytes came; 0 at the end. Throws
  /// InputError for what cannot be unpacked, is cut off, or is too large.
  std::size_t read(char* piece, std::size_t size);

 private:
  struct Closer {
    void operator()(gzFile file) const { gzclose(file); }
  };

  std::string name_;
  std::string accepted_;
  std::unique_ptr<gzFile_s, Closer> file_;
  std::size_t most_;
  std::size_t total_ = 0;
};

/// All of a file, unpacked if gzip has packed it. Throws InputError, which says that `accepted`
/// would be, where it cannot be read or has more than `most` bytes.
std::string unpacked(const std::string& name, const std::string& accepted, std::size_t most);

/// Counts what is kept of a file, so that no file fills the memory.
class KeptBytes {
 public:
  /// Throws InputError where more is kept than a trace of some steps has.
  void add(const std::string& file, std::size_t bytes);

 private:
  std::size_t bytes_ = 0;
};

}  // namespace collsim
