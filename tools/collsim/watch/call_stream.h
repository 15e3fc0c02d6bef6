#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/recordings/inspector_line.h"
#include "sim/plan/collective.h"

namespace collsim::command {

/// A call of a communicator, put together of what its ranks said.
struct StreamedCall {
  std::string communicator;
  std::optional<Collective> collective;
  std::int64_t number = 0;
  std::int64_t bytes = 0;  ///< nccl-tests' size
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;
  double microseconds = 0;      ///< of the rank that came last, which waited for nobody
  double longest = 0;           ///< microseconds of the rank that waited most
  std::int64_t last_rank = 0;   ///< the rank that came last
  std::string last_host;        ///< its host
  std::set<std::string> hosts;  ///< of the ranks that spoke
  std::int64_t written_us = 0;  ///< since 1970; 0 where nobody said it
};

/// Puts lines of ranks together into calls. A call is whole when every rank has spoken that ever
/// did in its communicator, or when 64 later ones of the communicator wait. What it keeps is
/// bounded, however long the stream.
class CallStream {
 public:
  /// Takes a line, and appends to `done` the calls that it completes.
  void add(const RankCall& line, std::vector<StreamedCall>& done);
  /// Nothing more comes: appends the calls that wait.
  void finish(std::vector<StreamedCall>& done);

 private:
  struct Waiting {
    StreamedCall call;
    std::set<std::int64_t> spoke;
  };
  struct Communicator {
    std::set<std::int64_t> ranks;             ///< that have spoken
    std::map<std::int64_t, Waiting> waiting;  ///< by number
    std::int64_t closed = -1;                 ///< the highest number that is done
    std::uint64_t heard = 0;                  ///< when, in lines
  };

  void forget_the_quietest();
  static void close_first(Communicator& communicator, std::vector<StreamedCall>& done);

  std::map<std::string, Communicator> communicators_;
  std::uint64_t lines_ = 0;
};

}  // namespace collsim::command
