#include "tools/collsim/traces/job_trace.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// Enough for what comes before the first event in all formats.
constexpr std::size_t start_bytes = 4096;

/// The first bytes of a file, unpacked if gzip has packed it; empty if it cannot be read, or is a
/// pipe.
std::string trace_start(const std::string& file) {
  std::error_code error;
  // What is read of a pipe is gone.
  if (!std::filesystem::is_regular_file(file, error)) return {};
  const gzFile opened = gzopen(file.c_str(), "rb");
  if (opened == nullptr) return {};
  std::string start(start_bytes, '\0');
  const int count = gzread(opened, start.data(), static_cast<unsigned>(start.size()));
  gzclose(opened);
  start.resize(static_cast<std::size_t>(std::max(0, count)));
  return start;
}

const TraceFormat plugin_format(
    "a trace of NCCL's profiler plugin",
    [](std::string_view text) {
      const auto has = [&](std::string_view word) {
        return text.find(word) != std::string_view::npos;
      };
      const bool has_sign = has("\"GROUP_API\"") || has("\"COLL_API\"") || has("\"P2P_API\"") ||
                            has("\"cat\": \"PROXY\"") || has("\"cat\": \"GROUP\"");
      const std::size_t begin = text.find_first_not_of(" \t\r\n");
      return has_sign && text[begin] == '[' ? FormatSign::mark : FormatSign::no;
    },
    [](const std::string& file) -> RankTrace {
      throw InputError(SourcePosition{file, 0, 0},
                       "a trace of the example of NCCL's profiler plug-in, which is not JSON",
                       "a trace of PyTorch's profiler, or lines of NCCL's Inspector (`diagnose`)");
    },
    "the text or JSON of nccl-tests (-J) has times");

}  // namespace

void sort_by_time(RankTrace& trace) {
  const auto begins_before = [](const JobSpan& a, const JobSpan& b) {
    return a.begin_us < b.begin_us;
  };
  for (std::vector<JobSpan>* const spans : {&trace.compute, &trace.steps, &trace.waits}) {
    std::stable_sort(spans->begin(), spans->end(), begins_before);
  }
  std::vector<std::size_t> order(trace.calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return begins_before(trace.calls[a].span, trace.calls[b].span);
  });
  std::vector<TracedCall> calls;
  std::vector<std::int32_t> place(order.size());
  calls.reserve(order.size());
  for (const std::size_t each : order) {
    place[each] = static_cast<std::int32_t>(calls.size());
    calls.push_back(std::move(trace.calls[each]));
  }
  trace.calls = std::move(calls);
  for (TracedWork& each : trace.work) {
    if (each.call >= 0) each.call = place[static_cast<std::size_t>(each.call)];
  }
  const auto issued = [](const TracedWork& work) {
    return work.launch_us > 0 ? work.launch_us : work.span.begin_us;
  };
  std::stable_sort(trace.work.begin(), trace.work.end(), [&](const auto& a, const auto& b) {
    return std::pair(issued(a), a.span.begin_us) < std::pair(issued(b), b.span.begin_us);
  });
}

bool is_job_trace(const std::string& file) {
  return TraceFormat::find(trace_start(file), FormatSign::inside) != nullptr;
}

RankTrace read_job_trace(const std::string& file) {
  const std::string start = trace_start(file);
  if (TraceFormat::find(start, FormatSign::inside) == nullptr) {
    refuse_other_kind(file, start, FileKind::trace, "trace");
  }
  return TraceFormat::find(start)->read(file);
}

}  // namespace collsim
