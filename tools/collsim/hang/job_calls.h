#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/collsim/hang/flight_record.h"

namespace collsim {

/// A communicator of a job, as the dumps describe it together.
struct JobCommunicator {
  std::string name;
  std::string description;
  std::vector<std::uint32_t> ranks;     ///< in the communicator's order
  std::vector<std::size_t> members;     ///< records of those with a dump, by rank
  std::vector<std::uint32_t> undumped;  ///< ranks without a dump
};

/// How far a rank has come with a call.
enum class Progress : std::uint8_t {
  absent,   ///< it has not issued the call
  pending,  ///< issued, but not completed: also what the watchdog has aborted
  completed
};

/// A rank's part in a call.
struct Participation {
  std::size_t record = 0;  ///< index of Job::records
  Progress progress = Progress::absent;
  /// The rank's entry, or nothing where its dump has none (any more).
  const FlightEntry* entry = nullptr;
  std::size_t run = 0;  ///< calls of a rank that were issued as one (coalesced) have the same
};

/// A call of several ranks, put together from their dumps: a collective by its communicator and
/// sequence number, a send with its receive by their place among those of the pair.
struct JobCall {
  std::size_t communicator = 0;
  bool is_exchange = false;
  std::int64_t sequence = 0;
  std::size_t part = 0;  ///< among collectives that share a sequence number (coalesced)
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::vector<Participation> participants;  ///< those with a dump, by rank
  std::vector<std::uint32_t> undumped;      ///< of a send: sender and receiver without one
};

/// A member's last completed and last issued collective of a communicator; 0 for none.
struct MemberState {
  std::int64_t issued = 0;
  std::int64_t completed = 0;
};

/// All dumps of a job, put together.
struct Job {
  std::vector<FlightRecord> records;  ///< by rank
  std::vector<JobCommunicator> communicators;
  std::vector<std::vector<MemberState>> states;  ///< by communicator and place in its members
  std::vector<JobCall> calls;
  std::vector<std::uint32_t> undumped;  ///< ranks of some communicator that have no dump
};

/// The ranks of a call that have no dump.
const std::vector<std::uint32_t>& undumped_of(const Job& job, const JobCall& call);

/// Puts the dumps of a job together. `unread` are ranks whose dumps could not be read. Throws
/// InputError if two dumps are of the same rank.
Job assemble_job(std::vector<FlightRecord> records, const std::vector<std::uint32_t>& unread = {});

}  // namespace collsim
