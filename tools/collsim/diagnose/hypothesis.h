#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/faults/machine_faults.h"
#include "models/recordings/log_facts.h"
#include "models/validation/recorded_call.h"
#include "tools/collsim/diagnose/cause_table.h"

namespace collsim {

/// How a machine or a run differs from what it should be.
struct Deviation {
  std::map<std::string, std::string> variables{};  ///< NCCL_*, in place of the call's
  MachineFaults faults{};
  bool spread_out = false;  ///< ranks sit on GPUs or nodes far apart, not on the first ones
  /// What goes through host memory is as fast as on hosts that were measured, not as links allow.
  bool as_measured = false;
};

/// The logarithm of how likely a value is beforehand, beside one that may be anywhere from 0.02 to
/// 0.85: a cause whose value is known to lie in a narrow range says more where the value does.
double prior_of(const CauseParameter& parameter, double value);

/// A place where a cause may act.
struct CausePlace {
  std::string name;  ///< "node1/nic3", "rank 5"
  std::function<Deviation(double value)> change;
};

/// A cause of a low busbw that can be simulated.
struct Hypothesis {
  std::string cause;  ///< a stable name: "slow-port"
  std::string text;   ///< "one NIC port is slow"
  std::string check;  ///< what to look at on the machine
  std::optional<CauseParameter> parameter;
  std::function<Deviation(double value)> change;  ///< the value counts only with a parameter
  double weight = 1;  ///< how common it is beside others, before any data
  /// The places where it may act, if that matters: in rings and trees every place plays its own
  /// part. `change` is then that of the first.
  std::vector<CausePlace> places{};
  std::string place{};               ///< the one that `change` acts in, where it is one of several
  std::vector<std::string> alike{};  ///< names of the places that play its part, itself among them
  double place_share = 1;            ///< of all places, those
  std::string effect{};      ///< causes with the same one are simulated alike; empty: like no other
  std::string remedy{};      ///< what cures it
  bool destroys = false;     ///< whether that ends work or opens a host
  bool is_question = false;  ///< whether it is no fault, but another machine than was guessed
  int more_numbers = 0;      ///< that were fitted beside `parameter`
  CauseSigns signs{};        ///< in logs and settings
  std::string beside{};      ///< of a fault beside a question, that fault

  /// What is wrong, whatever was guessed wrongly of the machine; of a question, the question.
  const std::string& fault() const { return beside.empty() ? cause : beside; }
};

/// Whether the log shows a cause: it has that weight, of which a rare cause has a tenth.
inline bool is_shown(const Hypothesis& hypothesis) {
  constexpr double rare = 0.1;
  return hypothesis.weight >= rare * weight_if_shown;
}

/// How many numbers of a cause are fitted to a log.
int fitted_numbers(const Hypothesis& hypothesis);

/// Simulations and estimates of a call of more than 32 ranks take as much longer: of whatever is
/// tried or simulated, such a share is.
inline double share_of_effort(Rank ranks) {
  constexpr double usual = 32;
  return std::min(1.0, usual / ranks);
}

/// Says a cause in words: "one NIC port is slow, at 0.25 of its rate".
std::string describe(const Hypothesis& hypothesis, double value);

/// How many NICs of a host have RDMA.
std::size_t rdma_nics(const Nccl& nccl);

/// The causes that a call on a machine can have, as the table of causes describes them: those that
/// are simulated by themselves, then those that are simulated as one of them is, which hosts have
/// for other reasons. `compiler` is of the call on the healthy machine. `guesses_nics`: its NICs
/// are a guess, so that others than those are possible as well.
std::vector<Hypothesis> hypotheses_for(const CallCompiler& compiler, const RecordedCall& call,
                                       bool guesses_nics = false);

/// Weighs causes by what the log says: lines that show a cause or exclude it, and settings that
/// make it.
void weigh_by_facts(const LogFacts& facts, const std::map<std::string, std::string>& settings,
                    std::vector<Hypothesis>& hypotheses);

/// GPUs far apart: one of every `nodes` nodes, or GPUs from the end of one node. Empty where there
/// are none but the first.
std::vector<DeviceId> spread_gpus(const Topology& topology, Rank ranks, std::uint32_t nodes);

}  // namespace collsim
