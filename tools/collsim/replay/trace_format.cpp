#include "tools/collsim/replay/trace_format.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace collsim {

namespace {

/// Enough for what comes before the first event in all formats.
constexpr std::size_t start_bytes = 4096;
/// A first message of Chakra's is its metadata: a length, then fields with their names.
constexpr std::size_t metadata_bytes = 64;

}  // namespace

TraceFormat trace_format(std::string_view start) {
  const auto has = [&](std::string_view word) {
    return start.find(word) != std::string_view::npos;
  };
  const std::size_t first = start.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) return TraceFormat::other;
  if (start[first] == '{') {
    if (has("\"workload_graph\"")) return TraceFormat::chakra_json;
    const bool is_kineto = has("\"traceEvents\"") || has("\"schemaVersion\"") ||
                           has("\"distributedInfo\"") || has("\"deviceProperties\"");
    return is_kineto ? TraceFormat::kineto : TraceFormat::other;
  }
  if (start[first] == '[') {
    const bool is_plugin = has("\"GROUP_API\"") || has("\"COLL_API\"") || has("\"P2P_API\"") ||
                           has("\"cat\": \"PROXY\"") || has("\"cat\": \"GROUP\"");
    return is_plugin ? TraceFormat::nccl_profiler : TraceFormat::other;
  }
  const bool is_chakra = start.substr(0, metadata_bytes).find("schema") != std::string_view::npos;
  return is_chakra ? TraceFormat::chakra_protobuf : TraceFormat::other;
}

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

}  // namespace collsim
