#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/predict/predictor.h"
#include "models/simulate/call_cache.h"
#include "sim/base/units.h"
#include "tools/collsim/advise/pasted_settings.h"

namespace collsim {

/// Calls whose times count, each alike.
struct CallList {
  struct Item {
    CallSpec spec;
    std::vector<Bytes> sizes;
  };
  std::vector<Item> items;
};

/// The calls with NCCL variables set besides.
CallList with_variables(CallList calls, const std::map<std::string, std::string>& variables);

/// The times of its calls, in order.
struct CallTimes {
  std::vector<Seconds> times;
  std::vector<std::string> algorithms{};  ///< by which they run: "nvlstree", "p2p"
};

/// How the times of changed calls compare: changed over unchanged. Below 1 is faster.
struct Effect {
  double mean = 1;  ///< the geometric mean of all calls
  double min = 1;
  double max = 1;
  std::size_t min_at = 0;  ///< which call
  std::size_t max_at = 0;
};
Effect effect_of(const CallTimes& unchanged, const CallTimes& changed);

/// A change smaller than this is none: what rounding to whole chunks may do.
inline constexpr double min_change = 0.005;

/// Whether no call's time changes.
bool is_nothing(const Effect& effect);

/// Something that could be otherwise: a setting, a placement, a fault that is not there.
struct TriedChange {
  std::string text;                                ///< "NCCL_ALGO=Tree"
  std::map<std::string, std::string> variables{};  ///< that it sets; empty of others
  CallList calls{};                                ///< as changed
};

/// What a change does.
struct Advice {
  std::string text;
  std::map<std::string, std::string> variables{};
  Effect effect{};
  std::string problem{};  ///< why it cannot run; empty where it can
  /// Why its time, or that it has none, says nothing: the model does not follow a variable for the
  /// algorithm that runs, or a rate counts that each host has of its own. Empty where it does.
  std::string unmodelled{};
  /// Why the time changes, where a sentence says it.
  std::string reason{};
};

/// Compares changes of calls by simulation on small clusters, which show what they do: dozens are
/// tried at every size. Throws InputError and HangError where the unchanged calls cannot run.
class Adviser {
 public:
  explicit Adviser(CallList calls, std::uint32_t threads = 1);

  const CallList& calls() const { return calls_; }
  /// The times of the unchanged calls.
  const CallTimes& times() const { return times_; }

  /// In the order of the changes.
  std::vector<Advice> advise(const std::vector<TriedChange>& changes);
  /// The settings among them that are faster, tried together: the best first, each further one kept
  /// if it makes the whole faster still. Nothing where fewer than two are kept.
  std::optional<Advice> best_together(std::span<const Advice> advices) const;

 private:
  CallTimes times_of(const CallList& calls) const;
  Advice tried(const TriedChange& change) const;
  /// Sets the advice's effect: what the change makes of the unchanged times.
  void take_effect(const TriedChange& change, const CallTimes& changed, Advice& advice) const;

  CallList calls_;
  std::uint32_t threads_;
  std::unique_ptr<CallCache> cache_ = std::make_unique<CallCache>();  // of all changes
  Method method_ = by_simulation({.max_ranks = 32, .max_seconds = 0.2, .stop_seconds = 0.4});
  std::vector<CallCompiler> compilers_;  // of the unchanged calls
  CallTimes times_;
};

/// What becomes of a setting that a person pasted.
enum class SettingVerdict : std::uint8_t {
  helps,
  nothing,
  harms,
  mixed,         ///< some calls faster, some slower
  overridden,    ///< a later line sets the variable again
  not_modelled,  ///< NCCL knows it, collsim does not
  unknown,       ///< NCCL does not know it
  refused,       ///< NCCL, or collsim where NCCL is silent, does not take the value
};
/// The word of a verdict: "helps", "nothing", "harms", "mixed", "overridden", "not modelled",
/// "unknown to NCCL" or "refused".
std::string_view to_string(SettingVerdict verdict);

/// Judges a setting by the mean and the extremes of its effect.
SettingVerdict verdict_of(const Effect& effect);
/// Judges a change: refused where it cannot run, not modelled where the model cannot tell its time.
SettingVerdict verdict_of(const Advice& advice);

struct JudgedSetting {
  PastedSetting setting;
  SettingVerdict verdict = SettingVerdict::nothing;
  std::optional<Advice> advice{};  ///< of the line alone, where it was tried
  std::string note{};              ///< what is wrong, or what the variable is for
};

/// The judgement of a pasted block, line by line and as a whole.
struct Judgement {
  std::vector<JudgedSetting> lines;
  std::optional<Advice> together;  ///< all lines that count; nothing where there are none
};
Judgement judge(Adviser& adviser, const std::vector<PastedSetting>& settings);

}  // namespace collsim
