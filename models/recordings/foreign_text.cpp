#include "models/recordings/foreign_text.h"

#include <algorithm>
#include <array>

namespace collsim {

namespace {

/// A writer's mark, where the text begins or anywhere in it.
struct Mark {
  std::string_view text;
  bool begins = false;
  ForeignText of;
};

constexpr std::string_view table_of_times = "the text or JSON of nccl-tests (-J) has times";
constexpr std::string_view by_hang = "`collsim hang`, which reads the dumps of all ranks";
constexpr std::string_view by_replay =
    "`collsim replay`, which reads traces of all ranks (Kineto, Chakra)";

/// The first that is found counts.
constexpr auto marks = std::to_array<Mark>({
    {"\x1f\x8b", true, {"compressed by gzip", "the file unpacked, by `gunzip`"}},
    {"PK\x03\x04", true, {"a ZIP archive", "the files in it, by `unzip`"}},
    {"\x80\x02", true, {"a pickle, as PyTorch's Flight Recorder writes", by_hang}},
    {"\x80\x03", true, {"a pickle, as PyTorch's Flight Recorder writes", by_hang}},
    {"\x80\x04", true, {"a pickle, as PyTorch's Flight Recorder writes", by_hang}},
    {"\x80\x05", true, {"a pickle, as PyTorch's Flight Recorder writes", by_hang}},
    // A Kineto trace says pg_config as well, so it is asked for first.
    {"\"traceEvents\"", false, {"a profiler's trace (Kineto, Chrome)", by_replay}},
    {"\"pg_config\"", false, {"a dump of PyTorch's Flight Recorder", by_hang}},
    {"\"workload_graph\"", false, {"an execution trace (Chakra)", by_replay}},
    {"\"GROUP_API\"", false, {"a trace of NCCL's profiler plugin", table_of_times}},
    {"Watchdog caught collective operation timeout",
     false,
     {"a log of PyTorch's watchdog, which says that a call took too long", by_hang}},
});

}  // namespace

std::optional<ForeignText> recognize_foreign_text(std::string_view content) {
  const auto* const found = std::find_if(marks.begin(), marks.end(), [&](const Mark& mark) {
    return mark.begins ? content.starts_with(mark.text)
                       : content.find(mark.text) != std::string_view::npos;
  });
  return found == marks.end() ? std::nullopt : std::optional(found->of);
}

}  // namespace collsim
