#include "models/recordings/recording.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "models/recordings/readers.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// Machines that a recording names are files. A pipe or a device may never end.
void require_files(const Recording& recording) {
  std::set<std::string> names{recording.topology};
  for (const RecordedRow& row : recording.rows) names.insert(row.topology);
  for (const std::string& name : names) {
    std::error_code unknown;  // as of a name that is no path
    const auto kind = std::filesystem::status(name, unknown).type();
    if (kind == std::filesystem::file_type::regular || !is_readable_kind(name)) continue;
    throw InputError(SourcePosition{recording.file.string(), 0, 0},
                     fmt::format("'{}', which it names as its machine, is no plain file", name),
                     "the name of a machine, or a topology file");
  }
}

/// A text that cannot be read may be another tool's.
Recording read(const TextFile& text, std::size_t* bad_rows) {
  Recording recording;
  try {
    recording = RecordingFormat::find(text.content)->read(text, bad_rows);
  } catch (const InputError&) {
    refuse_other_kind(text.name, text.content, FileKind::recording, "measured times");
    throw;
  }
  recording.file = text.name;
  require_files(recording);
  const std::string name = recording.file.filename().string();
  for (RecordedRow& row : recording.rows) row.file = name;
  return recording;
}

}  // namespace

std::string_view to_string(CallMode mode) {
  return mode == CallMode::plain ? "plain" : "graph";
}

Recording read_recording(const TextFile& text) {
  return read(text, nullptr);
}

Recording read_recording(const TextFile& text, std::size_t& bad_rows) {
  return read(text, &bad_rows);
}

Recording read_recording(const std::filesystem::path& path) {
  return read_recording(read_text_file(path, "a recording"));
}

NcclVersion nccl_version_of(const Recording& recording) {
  if (recording.nccl_rules) return *recording.nccl_rules;
  const auto recorded = recording.machine.find("nccl");
  return recorded == recording.machine.end() ? default_nccl_version
                                             : parse_nccl_version(recorded->second);
}

std::map<Bytes, Seconds> measured_times(const Recording& recording, std::string_view id,
                                        Collective collective, Rank ranks) {
  std::map<Bytes, Seconds> times;
  std::set<std::string, std::less<>> ids;
  for (const RecordedRow& row : recording.rows) {
    ids.insert(row.id);
    if (row.id != id || row.collective != collective || row.ranks != ranks) continue;
    if (!row.in_place && row.mode == CallMode::plain) times[row.size] = row.time;
  }
  if (times.empty()) {
    throw InputError(
        SourcePosition{recording.file.string(), 0, 0},
        fmt::format("no {} rows of id '{}' on {} ranks", to_string(collective), id, ranks),
        fmt::format("ids are {}", fmt::join(ids, ", ")));
  }
  return times;
}

}  // namespace collsim
