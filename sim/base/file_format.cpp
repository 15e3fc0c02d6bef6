#include "sim/base/file_format.h"

#include <fmt/format.h>

#include <tuple>
#include <vector>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

std::vector<const FileFormat*>& known_formats() {
  static std::vector<const FileFormat*> formats;
  return formats;
}

std::string_view reader_of(FileKind kind) {
  switch (kind) {
    case FileKind::machine:
      return "`collsim topo import`, or -t of a command";
    case FileKind::recording:
      return "`collsim diagnose` and `collsim validate`, which read recorded runs";
    case FileKind::trace:
      return "`collsim replay`, which reads traces of all ranks (Kineto, Chakra)";
    case FileKind::dump:
    case FileKind::log:
      return "`collsim hang`, which reads the dumps of all ranks";
    case FileKind::tuning:
      return "`collsim expect` with -t MACHINE, which reads what a communicator will run";
    case FileKind::packed:
    case FileKind::steps:
      break;
  }
  return "the file unpacked";
}

template <typename Fits>
const FileFormat* likest(std::string_view text, FormatSign least, const Fits& fits) {
  const FileFormat* best = nullptr;
  FormatSign best_sign = FormatSign::no;
  for (const FileFormat* const format : known_formats()) {
    if (!fits(format->kind)) continue;
    const FormatSign sign = format->sign(text);
    const bool is_like = sign != FormatSign::no && sign >= least;
    const bool is_better =
        best == nullptr || std::tuple(sign, best->what) > std::tuple(best_sign, format->what);
    if (!is_like || !is_better) continue;
    best = format;
    best_sign = sign;
  }
  return best;
}

FormatSign begins_with(std::string_view text, std::string_view mark) {
  return text.starts_with(mark) ? FormatSign::mark : FormatSign::no;
}

const FileFormat gzip(
    FileKind::packed, "compressed by gzip",
    [](std::string_view text) { return begins_with(text, "\x1f\x8b"); },
    "the file unpacked, by `gunzip`");
const FileFormat zip(
    FileKind::packed, "a ZIP archive",
    [](std::string_view text) { return begins_with(text, "PK\x03\x04"); },
    "the files in it, by `unzip`");

}  // namespace

FileFormat::FileFormat(FileKind of, std::string_view name, FormatSign (*by)(std::string_view text),
                       std::string_view in_its_place)
    : kind(of), what(name), sign(by), instead(in_its_place) {
  known_formats().push_back(this);
}

const FileFormat* find_format(FileKind kind, std::string_view text, FormatSign least) {
  return likest(text, least, [&](FileKind each) { return each == kind; });
}

std::optional<std::string> own_kind(std::string_view text) {
  constexpr std::string_view key = "collsim:";
  const std::size_t line = text.starts_with(key) ? 0 : text.find("\ncollsim:") + 1;
  if (line == 0 && !text.starts_with(key)) return std::nullopt;  // npos + 1 is 0
  const std::string_view kind = text.substr(line + key.size());
  const std::size_t begin = kind.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(kind.substr(begin, kind.find_first_of("/\r\n", begin) - begin));
}

void refuse_other_kind(const std::string& file, std::string_view text, FileKind own,
                       std::string_view sought) {
  if (own_kind(text)) return;
  const FileFormat* const other =
      likest(text, FormatSign::form, [&](FileKind each) { return each != own; });
  if (other == nullptr) return;
  throw InputError(SourcePosition{file}, fmt::format("no {}, but {}", sought, other->what),
                   std::string(other->instead.empty() ? reader_of(other->kind) : other->instead));
}

}  // namespace collsim
