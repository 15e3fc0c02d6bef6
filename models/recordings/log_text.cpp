#include "models/recordings/log_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/clean_text.h"
#include "sim/base/lines.h"

namespace collsim {

namespace {

/// What names of hosts, pods, jobs and ranks in a tag consist of.
constexpr std::string_view name_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/@,";

/// A piece of a line.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool all_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

/// How long the time is that mpirun --timestamp-output puts right before a tag: "Mon Jan  1
/// 10:11:12 2024", as ctime() has it. 0 if there is none.
std::size_t time_before(std::string_view line) {
  constexpr std::string_view form = "aaa aaa dd dd:dd:dd dddd";
  if (line.size() < form.size()) return 0;
  const std::string_view time = line.substr(line.size() - form.size());
  for (std::size_t i = 0; i < form.size(); ++i) {
    const char letter = time[i];
    const bool is_digit = letter >= '0' && letter <= '9';
    const bool is_letter = (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
    const bool fits = form[i] == 'a'   ? is_letter
                      : form[i] == 'd' ? is_digit || letter == ' '
                                       : letter == form[i];
    if (!fits) return 0;
  }
  return form.size();
}

/// The tag of Open MPI whose stream ("<stdout>:") begins at a place: "[1,0]<stdout>:", of PRRTE
/// "[prterun-host-12@1,0]<stdout>: ".
std::optional<Piece> open_mpi_tag(std::string_view line, std::size_t stream) {
  constexpr std::array<std::string_view, 3> streams{"<stdout>:", "<stderr>:", "<stddiag>:"};
  constexpr std::string_view digits = "0123456789";
  const auto* const found =
      std::find_if(streams.begin(), streams.end(),
                   [&](std::string_view name) { return line.substr(stream).starts_with(name); });
  if (found == streams.end() || stream == 0 || line[stream - 1] != ']') return std::nullopt;
  if (stream < 2) return std::nullopt;
  const std::size_t begin = line.find_last_not_of(name_letters, stream - 2);
  if (begin == std::string_view::npos || line[begin] != '[') return std::nullopt;
  std::string_view name = line.substr(begin + 1, stream - 2 - begin);
  const std::size_t at = name.rfind('@');
  if (at != std::string_view::npos) name.remove_prefix(at + 1);
  const std::size_t comma = name.find(',');
  if (comma == std::string_view::npos || !all_of(name.substr(0, comma), digits) ||
      !all_of(name.substr(comma + 1), digits)) {
    return std::nullopt;
  }
  std::size_t end = stream + found->size();
  if (at != std::string_view::npos && end < line.size() && line[end] == ' ') ++end;
  return Piece{begin - time_before(line.substr(0, begin)), end};
}

/// The tag of kubectl logs --prefix that begins at a place: "[pod/worker-0/mpi] ".
std::optional<Piece> kubectl_tag(std::string_view line, std::size_t begin) {
  if (!line.substr(begin).starts_with("[pod/")) return std::nullopt;
  const std::size_t end = line.find_first_not_of(name_letters, begin + 1);
  if (end == std::string_view::npos || !line.substr(end).starts_with("] ")) return std::nullopt;
  return Piece{begin, end + 2};
}

/// The first tag at or behind a place.
std::optional<Piece> next_tag(std::string_view line, std::size_t from) {
  for (std::size_t at = line.find_first_of("<[", from); at != std::string_view::npos;
       at = line.find_first_of("<[", at + 1)) {
    const auto tag = line[at] == '<' ? open_mpi_tag(line, at) : kubectl_tag(line, at);
    if (tag && tag->begin >= from) return tag;
  }
  return std::nullopt;
}

void add_without_tags(std::string_view line, std::string& text) {
  std::size_t from = 0;
  while (const auto tag = next_tag(line, from)) {
    const std::size_t kept = tag->begin == 0 ? tag->end : tag->begin;
    text += line.substr(from, kept - from);
    from = tag->end;
  }
  text += line.substr(from);
}

}  // namespace

std::string log_text(std::string_view text) {
  std::string plain = without_terminal_sequences(text);
  // Ends of line of other systems, and of what overwrites a line of its own.
  std::replace(plain.begin(), plain.end(), '\r', ' ');
  plain = clean_text(plain);
  std::string without_tags;
  without_tags.reserve(plain.size());
  for (const std::string_view line : split_lines(plain)) {
    add_without_tags(line, without_tags);
    without_tags += '\n';
  }
  if (!plain.ends_with('\n') && !plain.empty()) without_tags.pop_back();
  return without_tags;
}

}  // namespace collsim
