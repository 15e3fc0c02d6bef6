#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/recordings/recording.h"
#include "sim/base/file_format.h"
#include "sim/base/lines.h"
#include "sim/base/text_file.h"

namespace collsim {

/// How a recording is read. Where a format can tell them apart, bad rows are passed over and
/// counted in `bad_rows`, unless that is null.
using RecordingFormat =
    ReadFormat<FileKind::recording, Recording(const TextFile& text, std::size_t* bad_rows)>;

/// The first line of a text that says something: neither blank nor a comment.
std::string_view first_line(std::string_view text);
/// Whether a text begins with a JSON object.
bool begins_with_object(std::string_view text);

/// An all_to_all whose ranks send each other unlike numbers of bytes, as nccl-tests calls it. Its
/// size is what the rank that sends most does.
inline constexpr std::string_view uneven_exchange = "alltoallv";
inline constexpr std::string_view note_of_uneven_exchange =
    "alltoallv is held against an all_to_all of as many bytes as its busiest rank sends: the log "
    "has no matrix, and one that fills some ports more takes longer (`collsim moe --matrix`)";

/// The collective that a benchmark calls so: our names, and nccl-tests' "alltoall", "alltoallv",
/// "sendrecv".
std::optional<Collective> find_recorded_collective(std::string_view name);
/// The first program of nccl-tests that a text names, without "_perf": "all_reduce" of
/// "node7_all_reduce_perf.log". Else the first "<name>_perf"; empty where there is none.
std::string benchmark_name(std::string_view text);
/// Whether a variable of NCCL's can change what it does: not those for logs, nor what is no setting
/// (is_nccl_setting()).
bool changes_what_nccl_does(std::string_view variable);

/// Which machine rows were made on: a pattern of their ids, and a topology file as the recording
/// has it, relative to the recording.
struct MachineOfRows {
  std::string ids;
  std::string topology;
};
/// Gives every row the machine of the first pattern that its id matches.
void set_machines(const std::vector<MachineOfRows>& machines, const std::string& recording_file,
                  std::vector<RecordedRow>& rows);

/// A whole number or decimal of 0 or more; nothing for anything else.
std::optional<std::int64_t> whole_number(std::string_view text);
/// A number of a rank; one that no rank can have is the largest, which is in no machine.
Rank rank_of(std::int64_t number);
std::optional<double> decimal_number(std::string_view text);
/// Sets the time of a row, which is printed as `text`: `microseconds`, to half a digit.
void set_time(RecordedRow& row, std::string_view text, double microseconds);

}  // namespace collsim
