#include "sim/base/text_file.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/text_encoding.h"

namespace collsim {

namespace {

constexpr std::uintmax_t size_limit = std::uintmax_t{8} << 20;

}  // namespace

TextFile read_text_file(const std::filesystem::path& path, const std::string& accepted) {
  const SourcePosition position{path.string()};
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    throw InputError(position, "no such file", "the path of " + accepted);
  if (std::filesystem::is_directory(status)) {
    throw InputError(position, "this is a directory", "the path of " + accepted);
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(position, "cannot be opened", "a file that can be read");
  // Piece by piece, since a pipe or a device does not know its size.
  std::string text;
  std::array<char, 65'536> piece{};
  while (text.size() <= size_limit &&
         (stream.read(piece.data(), piece.size()) || stream.gcount() > 0)) {
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) throw InputError(position, "cannot be read", "a file that can be read");
  if (text.size() > size_limit) throw InputError(position, "larger than 8 MiB", "a smaller file");
  return {path.string(), utf8_text(std::move(text), position)};
}

}  // namespace collsim
