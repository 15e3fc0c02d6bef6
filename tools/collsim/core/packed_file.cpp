#include "tools/collsim/core/packed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::size_t max_text = std::size_t{1} << 30U;
/// So much is read in a few seconds, however small the file is.
constexpr std::size_t max_small_text = std::size_t{256} << 20U;
/// Traces of PyTorch's profiler are packed 10 to 20 times.
constexpr std::size_t max_packed_times = 24;
/// Beside it stand copies while it is sorted: three times as much in all.
constexpr std::size_t max_kept = std::size_t{256} << 20U;

std::size_t max_text_of(const std::string& name) {
  std::error_code error;
  const std::uintmax_t packed = std::filesystem::file_size(name, error);
  if (error) return max_small_text;  // a pipe
  const std::size_t counted = std::min<std::size_t>(packed, max_text);
  return std::clamp(max_packed_times * counted, max_small_text, max_text);
}

}  // namespace

PackedFile::PackedFile(const std::string& name, std::string accepted)
    : name_(name),
      accepted_(std::move(accepted)),
      file_(gzopen(name.c_str(), "rb")),
      most_(max_text_of(name)) {
  if (!file_) throw InputError(SourcePosition{name_}, "cannot be opened", accepted_);
}

std::size_t PackedFile::read(char* piece, std::size_t size) {
  const int count = gzread(file_.get(), piece, static_cast<unsigned>(size));
  int state = Z_OK;
  gzerror(file_.get(), &state);
  if (count < 0) throw InputError(SourcePosition{name_}, "cannot be read or unpacked", accepted_);
  if (state == Z_BUF_ERROR) {
    throw InputError(SourcePosition{name_}, "cut off within its compressed data", accepted_);
  }
  total_ += static_cast<std::size_t>(count);
  if (total_ > most_) {
    throw InputError(SourcePosition{name_},
                     fmt::format("larger than {} MiB when unpacked", most_ >> 20U),
                     "a trace of fewer steps");
  }
  return static_cast<std::size_t>(count);
}

std::string unpacked(const std::string& name, const std::string& accepted, std::size_t most) {
  PackedFile file(name, accepted);
  std::string content;
  std::array<char, 1U << 16U> piece{};
  while (const std::size_t count = file.read(piece.data(), piece.size())) {
    content.append(piece.data(), count);
    if (content.size() <= most) continue;
    throw InputError(SourcePosition{name}, fmt::format("larger than {} MiB", most >> 20U),
                     accepted);
  }
  return content;
}

void KeptBytes::add(const std::string& file, std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= max_kept) return;
  throw InputError(
      SourcePosition{file},
      fmt::format("more than {} MiB of kernels, calls and their words", max_kept >> 20U),
      "a trace of fewer steps");
}

}  // namespace collsim
