#include "tools/recorder/nccl_choice.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "sim/base/text.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/plan/protocol.h"

namespace collsim::recorder {

namespace {

/// What follows `label` up to the next character of `ends`.
std::string_view after(std::string_view line, std::string_view label, std::string_view ends) {
  const auto start = line.find(label);
  if (start == std::string_view::npos) return {};
  line.remove_prefix(start + label.size());
  return line.substr(0, line.find_first_of(ends));
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A name, or the number that NCCL before 2.24 writes for an enumerator up to `last` (NCCL
/// src/include/nccl_common.h: NCCL_ALGO_* and NCCL_PROTO_*).
template <typename Enumerator>
std::string name_of(std::string_view text, Enumerator last) {
  const auto index = number(text);
  if (!index) return lower_case(text);
  if (*index < 0 || *index > static_cast<int>(last)) return "none";
  return lower_case(to_string(static_cast<Enumerator>(*index)));
}

std::string_view line_around(std::string_view log, std::size_t place) {
  const auto before = log.rfind('\n', place);
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  return log.substr(start, log.find('\n', place) - start);
}

/// A symmetric kernel runs one thread block a channel, from channel 0 on.
NcclChoice symmetric_choice(std::string_view line, std::string_view label) {
  NcclChoice choice;
  choice.kernel = std::string(after(line, label, " \n"));
  if (const auto channels = number(after(line, " nchannels ", " \n")); channels && *channels > 0) {
    choice.first_channel = 0;
    choice.last_channel = *channels - 1;
  }
  return choice;
}

}  // namespace

std::optional<NcclChoice> last_choice(std::string_view log) {
  constexpr std::string_view label = "Bytes -> ";
  constexpr std::string_view algorithm = "Bytes -> Algo ";
  constexpr std::string_view kernel = "Bytes -> Kernel ";
  const auto place = log.rfind(label);
  if (place == std::string_view::npos) return std::nullopt;
  const std::string_view line = line_around(log, place);
  if (line.find(kernel) != std::string_view::npos) return symmetric_choice(line, kernel);
  if (line.find(algorithm) == std::string_view::npos) return std::nullopt;
  NcclChoice choice;
  choice.algorithm = name_of(after(line, algorithm, " \n"), NcclAlgorithm::pat);
  choice.protocol = name_of(after(line, " proto ", " \n"), Protocol::simple);
  constexpr std::string_view channels = "channel{Lo..Hi}={";
  choice.first_channel = number(after(line, channels, "."));
  const std::string_view range = after(line, channels, "}");
  choice.last_channel = number(after(range, "..", "}"));
  return choice;
}

std::string last_warning(std::string_view log) {
  constexpr std::string_view label = "NCCL WARN ";
  const auto place = log.rfind(label);
  if (place == std::string_view::npos) return {};
  const std::string_view line = log.substr(place + label.size());
  return std::string(line.substr(0, line.find('\n')));
}

}  // namespace collsim::recorder
