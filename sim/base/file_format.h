#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace collsim {

/// The kinds of things that a file is about.
enum class FileKind : std::uint8_t { machine, recording, trace, dump, log, tuning, packed, steps };

/// How surely a text is of a format, by what its writer leaves in it.
enum class FormatSign : std::uint8_t {
  no,
  any,     ///< nothing speaks against it: the reader to try last
  inside,  ///< it may stand in the text, beside something else
  form,    ///< the text has its form, which others share
  mark,    ///< the text has what nothing else has
};

/// A format of files that people hand to a command. It is declared in the file that reads it, as a
/// constant, and so enters the registry of this header, which is the one place that says what a
/// file is and who reads it.
struct FileFormat {
  FileFormat(FileKind of, std::string_view name, FormatSign (*by)(std::string_view text),
             std::string_view in_its_place = {});
  FileFormat(const FileFormat&) = delete;
  FileFormat& operator=(const FileFormat&) = delete;

  FileKind kind;
  std::string_view what;                      ///< "a profiler's trace (Kineto, Chrome)"
  FormatSign (*sign)(std::string_view text);  ///< its first thousands of bytes may be all there is
  std::string_view instead;  ///< what is read in its place, where no command reads it
};

/// The format of a kind that a text is likest, if it is one as surely as `least`.
const FileFormat* find_format(FileKind kind, std::string_view text,
                              FormatSign least = FormatSign::any);

/// A format with the function that reads it; all formats of a kind are of one type.
template <FileKind of_kind, typename Function>
struct ReadFormat : FileFormat {
  ReadFormat(std::string_view name, FormatSign (*by)(std::string_view text), Function* function,
             std::string_view in_its_place = {})
      : FileFormat(of_kind, name, by, in_its_place), read(function) {}

  static const ReadFormat* find(std::string_view text, FormatSign least = FormatSign::any) {
    return static_cast<const ReadFormat*>(find_format(of_kind, text, least));
  }

  Function* read;
};

/// The kind that a file of collsim's own says: "topology" of "collsim: topology/1". Nothing where
/// no line begins so.
std::optional<std::string> own_kind(std::string_view text);

/// Throws InputError for a file that has the form of another kind than `own`: that it holds none of
/// what was `sought` ("measured times"), what it is, and which command reads it. Files of our own
/// are left to their readers, which know better.
void refuse_other_kind(const std::string& file, std::string_view text, FileKind own,
                       std::string_view sought);

}  // namespace collsim
