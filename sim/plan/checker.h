#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/plan.h"

namespace collsim {

/// What the checker tries. Every schedule of the plan runs under each credit depth, in `orders`
/// random legal orders, for `loops` loops in a row.
struct CheckOptions {
  std::vector<std::uint32_t> credits = {};  ///< none: default_credits() of the plan
  std::uint32_t orders = 3;
  std::uint32_t loops = 2;
  std::uint64_t seed = 1;
  std::size_t max_violations = 20;  ///< how many are described; all are counted
};

enum class ViolationKind : std::uint8_t {
  missing_contribution,  ///< the result lacks what a rank had to give
  doubled_contribution,  ///< a reduction adds what is there already
  wrong_chunks,          ///< the k-th send meets a receive of other chunks
  unreceived_message,    ///< a message is left when all programs are over
  deadlock,              ///< programs wait for each other, or for what nobody sends
  redundant_copy,        ///< a copy brings just what the receiver holds
  foreign_contribution,  ///< the result has what a rank had for somebody else
  shared_chunk,          ///< two channels carry a chunk that belongs to one
  shared_connection,     ///< two programs use one end of a connection: its order is open
};
std::string_view to_string(ViolationKind kind);

struct Violation {
  ViolationKind kind = ViolationKind::missing_contribution;
  std::uint32_t channel = 0;  ///< the first channel with the schedule
  Rank rank = 0;              ///< or the agent
  std::uint32_t loop = 0;
  ChunkRange chunks;
  std::uint32_t lane = 0;
  std::uint32_t step = 0;  ///< position of the primitive in its program
  std::string text;        ///< a sentence with all of this
};

/// What check() did and found.
struct CheckReport {
  std::uint32_t schedules = 0;  ///< proved one by one
  std::uint32_t channels = 0;   ///< that run them
  std::uint64_t runs = 0;       ///< schedules x credit depths x orders
  std::uint64_t messages = 0;   ///< messages of all runs
  std::vector<Violation> violations;
  std::uint64_t violation_count = 0;

  bool ok() const { return violation_count == 0; }
};

/// The credit depths that a plan has to work with: 1, 2, 3 and 8, but none below its min_credits;
/// from 2 on, and 4 too, where a primitive forwards a sum without storing it. Such a primitive
/// keeps the message's slot until it has sent on, so that a ring of them with one slot each waits
/// for itself. NCCL's have four or eight.
std::vector<std::uint32_t> default_credits(const Plan& plan);

/// Proves that a plan does what its collective promises (held_before(), held_after()). It runs the
/// programs in random legal orders, bound only by what a machine guarantees (program order, FIFO
/// connections, credits), and counts for every chunk at every rank how often each rank's
/// contribution is in it. Counting finds what comparing sums does not: one contribution missing
/// while another is doubled. A run ends at a deadlock and reports who waits for whom. Deterministic
/// for equal options.
///
/// A primitive that does not store what it receives sends the sum with its own part on and leaves
/// its own buffer as it is. Switch agents run like ranks that have nothing and need nothing. A
/// primitive waits for all its messages at once, then for credits on all its sends at once, which
/// is the strictest reading of its contract.
CheckReport check(const Plan& plan, const CheckOptions& options = {});

}  // namespace collsim
