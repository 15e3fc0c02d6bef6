#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/settings/version.h"
#include "models/recordings/table_identity.h"
#include "sim/base/text_file.h"
#include "sim/base/units.h"
#include "sim/cost/calibration.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/plan/collective.h"

namespace collsim {

/// How the timed calls were made: one after the other, or captured in one CUDA graph.
enum class CallMode : std::uint8_t { plain, graph };
std::string_view to_string(CallMode mode);

/// One measured time. What the file does not say is empty; `ranks` is then 0.
struct RecordedRow {
  std::string id;               ///< the sweep that it belongs to
  int line = 0;                 ///< of the file
  std::string collective_name;  ///< as the file has it; "" where even that is not known
  std::optional<Collective> collective;
  std::uint32_t nodes = 1;
  Rank ranks = 0;
  Rank root = 0;
  std::optional<NcclAlgorithm> algorithm;  ///< that ran, by NCCL's log
  std::optional<Protocol> protocol;
  std::optional<std::uint32_t> channels;         ///< that carried data
  std::map<std::string, std::string> variables;  ///< NCCL_*, those that change what NCCL does
  Bytes size;
  std::string type = "float";
  std::string redop = "sum";
  bool in_place = false;
  CallMode mode = CallMode::plain;
  bool registered = false;       ///< buffers were symmetric windows of the communicator
  bool user_registered = false;  ///< NCCL knew the buffers by ncclCommRegister()
  /// NCCL's symmetric kernel that ran in place of an algorithm, by its log; else empty.
  std::string symmetric_kernel{};
  std::optional<std::uint32_t> iterations;  ///< calls in a row whose mean time it is
  Seconds time;
  Seconds half_digit;  ///< half of the last digit that was printed of the time; 0: not known
  std::optional<Seconds> nccl_estimate;
  bool wrong = false;                  ///< the results were not as expected
  std::uint32_t gpus_per_process = 1;  ///< whose calls one CPU thread issues, one after the other
  /// File of the machine that it was made on, where the recording says so of single rows.
  std::string topology{};
  std::string file{};                 ///< name of the recording's file, without folders
  std::optional<TableSigns> signs{};  ///< of the table of nccl-tests that it stands in

  /// What it may have taken at most, by what was printed.
  Seconds longest() const { return time + half_digit; }
};

/// Measured times of one file, whatever wrote it.
struct Recording {
  std::filesystem::path file;
  /// What is known of the machine; `gpu` ("NVIDIA H200"), `gpus`, `nccl` ("2.28.9") and more.
  std::map<std::string, std::string> machine;
  std::string topology;  ///< the shipped machine that it says it fits; may be empty
  std::string left_out;  ///< why no machine fits it; mostly empty
  std::optional<NcclVersion> nccl_rules;  ///< where the recorded release is not to be taken
  std::vector<RecordedRow> rows;
  std::set<std::string> hosts{};  ///< names, where the file lists ranks
  bool names_hosts = true;        ///< else `nodes` of its rows is not known, and 1
  /// Names of NCCL's variables that stand for what the machine is like: the run set none of them.
  std::set<std::string> simulated_variables{};
  std::vector<std::string> notes{};  ///< what a person should know of how it was read
};

/// Reads any of the formats of docs/formats.md ("Recordings"), which it tells by the content: our
/// recorder's YAML, a published run's, a CSV, nccl-tests' text output, its JSON. Throws InputError.
Recording read_recording(const std::filesystem::path& path);
/// Reads a recording from a text. Throws InputError.
Recording read_recording(const TextFile& text);
/// Reads a recording. Rows of nccl-tests' text that are cut off or contradict themselves are passed
/// over and counted in `bad_rows`.
Recording read_recording(const TextFile& text, std::size_t& bad_rows);

/// The release whose rules apply: the one that the recording names for this, else the recorded one,
/// else the newest. Throws InputError where the recorded one is not known.
NcclVersion nccl_version_of(const Recording& recording);

/// Times by size of one sweep: rows of that id and rank count, out of place, plain. Throws
/// InputError where there are none, naming the ids there are.
std::map<Bytes, Seconds> measured_times(const Recording& recording, std::string_view id,
                                        Collective collective, Rank ranks);

}  // namespace collsim
