#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace collsim {

/// A communicator as a dump describes it (PyTorch's process group).
struct FlightGroup {
  std::string name;
  std::string description;
  /// Ranks of the job, in the group's own order. It is empty where the dump does not say them.
  std::vector<std::uint32_t> ranks;
};

/// How far a communicator has come, as PyTorch's watchdog saw it. 0 or less: no call yet.
struct FlightStatus {
  std::int64_t enqueued = 0;
  std::int64_t completed = 0;
};

/// A line of the Python program.
struct FlightFrame {
  std::string function;
  std::string file;
  std::int64_t line = 0;
  bool operator==(const FlightFrame&) const = default;
};

/// What all ranks of a call must agree on. Counts of elements are those of each tensor.
struct FlightShape {
  std::string operation;  ///< "all_reduce"
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> outputs;
  std::vector<std::string> input_types;  ///< "Float"
  std::vector<std::string> output_types;
};

/// One call of a rank.
struct FlightEntry {
  std::string group;
  std::string group_description;
  std::int64_t group_id = -1;  ///< the rank's own number for the group
  std::int64_t record = 0;     ///< counts the calls of a rank
  std::int64_t collective_sequence = 0;
  std::int64_t exchange_sequence = 0;  ///< of sends and receives
  bool is_exchange = false;
  FlightShape shape;
  /// The places of sender and receiver in the group, of a send or receive.
  std::optional<std::uint32_t> sender;
  std::optional<std::uint32_t> receiver;
  bool is_completed = false;
  std::int64_t created_ns = 0;
  std::optional<std::int64_t> completed_ns;
  bool is_retired = false;  ///< PyTorch's watchdog saw that it completed
  std::optional<std::int64_t> timeout_ms;
  std::optional<FlightFrame> frame;  ///< the innermost line that is not PyTorch's
};

/// The time between two readings of a clock.
Seconds between(std::int64_t begin_ns, std::int64_t end_ns);
/// The timeout of a call, or PyTorch's default.
Seconds timeout_of(const FlightEntry& entry);

/// A dump of PyTorch's Flight Recorder: what one rank has called, the oldest first.
struct FlightRecord {
  std::string file;
  std::uint32_t rank = 0;
  std::string version;
  std::map<std::string, FlightGroup> groups;
  std::map<std::int64_t, FlightStatus> status;  ///< by FlightEntry::group_id
  std::vector<FlightEntry> entries;
  /// When the file was last written, as nanoseconds of the system's clock, where that is known.
  std::optional<std::int64_t> written_ns;
};

/// The rank that a file's name says: its last number, but for the ending.
std::optional<std::uint32_t> rank_in_name(const std::string& file);

/// Reads a dump, a pickle or JSON, of format version 2. The rank is the last number in the file's
/// name. The groups say it where the name has none. Throws InputError with the place of what is
/// wrong.
FlightRecord read_flight_record(const std::string& file, std::string_view content);

}  // namespace collsim
