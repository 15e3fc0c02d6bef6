#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/recordings/log_facts.h"
#include "tools/collsim/diagnose/cause_fit.h"
#include "tools/collsim/diagnose/evidence.h"
#include "tools/collsim/diagnose/log_predictor.h"
#include "tools/collsim/diagnose/next_measurement.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

/// What a measured time, or a log, says of its machine, the worst last.
enum class Verdict : std::uint8_t {
  healthy,           ///< as fast as expected, within the spread
  cannot_tell,       ///< slower, but too little is known to call it low
  low,               ///< slower than that
  not_this_machine,  ///< far faster than expected, or of other GPUs
  impossible,        ///< faster than physics allows: the log or the machine is wrong
  wrong,             ///< the results were wrong
};
inline constexpr std::array all_verdicts{Verdict::healthy,    Verdict::cannot_tell,
                                         Verdict::low,        Verdict::not_this_machine,
                                         Verdict::impossible, Verdict::wrong};
/// The word of a verdict: "healthy", "cannot tell", "low", "not this machine", "impossible" or
/// "wrong data".
std::string_view to_string(Verdict verdict);

/// One size of one call.
struct DiagnosedSize {
  std::size_t series = 0;
  EvidencePoint point;
  Seconds expected;   ///< on the healthy machine
  Seconds bound;      ///< that no algorithm can beat
  double known = 0;   ///< how much faster than expected such times have been, as a logarithm
  double spread = 0;  ///< a healthy time is up to the expected one times exp(spread)
  /// The time from which on the size is low is the expected one times exp(alarm); at least
  /// `spread`, and more where NCCL's rules are those of another release.
  double alarm = 0;
  Medium medium{};  ///< that the data cross
  Trust trust = Trust::guessed;
  Verdict verdict = Verdict::healthy;

  /// The ratio of busbw: measured / expected.
  double ratio() const { return expected.value / point.measured.value; }
  /// The ratio below which it is low.
  double limit() const;
  /// The ratio from which it is healthy: what the spread allows, but two thirds of what is
  /// expected at least. Between the two limits one cannot tell.
  double healthy_from() const;
  /// The ratio up to which it may be of this machine.
  double healthy_to() const;
  /// How slow it is, as a share of what is not low yet: above 1 it is low.
  double slowness() const;
  /// How slow it is, as a share of what is surely healthy: above 1 one cannot tell, or it is low.
  double doubt() const;
  /// How fast it is, as a share of what this machine may be: above 1 it is another one.
  double excess() const;
};

/// One answer: causes that predict the same for every measured size, so that the log cannot tell
/// them apart, and other ways of the first one: in another place, or on another machine than was
/// guessed.
struct CauseGroup {
  std::vector<FittedCause> causes;  ///< of those alike the likeliest beforehand first
  double likelihood = 0;            ///< among all groups and what is none of them
};

/// All that may have made a log: likelihoods that add up to 1.
struct Posterior {
  std::vector<CauseGroup> causes;  ///< the likeliest first
  double healthy = 0;              ///< that nothing is wrong
  double none = 0;  ///< that it is none of these: something unknown, alone or beside a cause

  /// That nothing is wrong, on this machine or on another than was guessed.
  double fine() const;
};

/// What a log says about its machine.
struct Diagnosis {
  std::vector<RecordedCall> calls;  ///< by series
  std::vector<DiagnosedSize> sizes;
  Verdict verdict = Verdict::healthy;
  std::vector<CauseGroup> causes;    ///< where the verdict is low; the likeliest first
  double likelihood_of_healthy = 0;  ///< that nothing is wrong
  double likelihood_of_none = 0;     ///< that it is none of them
  /// Settings whose price is not simulated ("NCCL_NTHREADS=64"): one of them may be the cause.
  std::vector<std::string> unpriced;
  std::optional<NextMeasurement> next;      ///< what tells the first two causes apart
  std::vector<std::string> contradictions;  ///< between NCCL's log and the machine
  std::vector<std::string> gains;           ///< what settings and releases cost, a sentence each
  std::vector<std::string> notes;           ///< settings, rows left out, odd figures
  std::string reason;                       ///< why this verdict, where no size says it
};

/// What a diagnosis is asked, beside the log.
struct DiagnosisInput {
  const Recording* recording = nullptr;
  const LogFacts* facts = nullptr;
  const Topology* topology = nullptr;
  const Calibration* cost = nullptr;
  NcclVersion version = default_nccl_version;
  bool knows_release = true;    ///< whether the version is that of the log
  std::size_t max_points = 16;  ///< points that causes are fitted to
  bool find_causes = true;
  double widening = 1;        ///< factor of predictions' errors where the machine is guessed
  bool guesses_nics = false;  ///< whether NICs and their network are guessed
  bool one_is_slow = false;   ///< whether other runs show that a single host is slow, not all
  /// Of the same machine, costs and release; may be added to.
  std::shared_ptr<HealthyTimes> known = std::make_shared<HealthyTimes>();
};

/// A busbw that falls from one size of a call to a larger one, where it should not. However far off
/// predictions are, they are off by about as much for both.
struct BusbwFall {
  const DiagnosedSize* from = nullptr;
  const DiagnosedSize* to = nullptr;
};

/// The deepest fall of a call among its sizes that are bandwidth_bound, by the faster place of
/// each; nothing where there is none of more than a third. `sizes` are of one call, by rising size.
std::optional<BusbwFall> fall_of(const std::vector<const DiagnosedSize*>& sizes);

/// The likeliest cause; null where it is likelier that nothing is wrong, or none of these, so that
/// there is nothing to cure.
const FittedCause* likeliest_cause(const Diagnosis& diagnosis);

/// What curing a cause brings: the largest size of the first call as the cause makes it and as the
/// healthy machine has it.
struct RemedyGain {
  const DiagnosedSize* size = nullptr;
  Seconds with;  ///< the cause, as predicted
};
/// Nothing where the cause was not fitted to the largest size.
std::optional<RemedyGain> gain_of(const FittedCause& cause, const Diagnosis& diagnosis);

/// Judges one size by its ratio and its limits. Its results are right.
Verdict verdict_of(const DiagnosedSize& size);

/// Compares every time of a log with what the machine should do, and where it is too slow, or the
/// log shows a cause that fits better, simulates what could be the matter. Throws InputError where
/// no row can be of the machine.
Diagnosis diagnose(const DiagnosisInput& input, const Spread& of_class);

/// Judges a log by the verdicts of its sizes. Impossible times count however few. A call is low
/// where the middle one of its sizes that are bandwidth_bound is, or the middle one of the others,
/// or three of either in a row, or where its busbw falls (fall_of()). Of the other two verdicts,
/// the sizes that are bandwidth_bound decide, where there are any: the middle one of them whether
/// one can tell, a quarter of them that they are too fast. A log is what one in four of its calls
/// is.
Verdict verdict_of(const std::vector<DiagnosedSize>& sizes);

/// The scores of what is no cause, beside those of causes (score_of()).
struct OtherScores {
  double healthy = 0;  ///< nothing is wrong
  double none = 0;     ///< something unknown is
};

/// Puts causes that predict the same into one group, and groups of one fault into one answer, each
/// as likely as all of its causes. The likeliest first.
Posterior posterior_of(std::vector<FittedCause> causes, const OtherScores& others);

/// A verdict, and why where no size says it.
struct Ruling {
  Verdict verdict = Verdict::healthy;
  std::string reason{};
};

/// Judges a log by all that may have made it. Where its sizes are low, or it shows a cause and is
/// slower by it (`is_slow`), it is low only if it is healthy with less than 5 %.
Ruling judge(Verdict of_sizes, bool is_slow, const Posterior& posterior);

}  // namespace collsim
