#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/simulate/known_calls.h"
#include "tools/collsim/advise/call_list.h"
#include "tools/collsim/advise/pasted_settings.h"

namespace collsim {

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
  bool simulated = false;  ///< else by formulas
  std::string problem{};   ///< why it cannot run; empty where it can
  /// Why its time, or that it has none, says nothing: the model does not follow a variable for the
  /// algorithm that runs, or a rate counts that each host has of its own. Empty where it does.
  std::string unmodelled{};
  /// Why the time changes, where a sentence says it.
  std::string reason{};
};

/// How much may be simulated: messages of all changes together. What is left keeps its estimate.
inline constexpr std::uint64_t messages_of_advice = 200'000'000;

/// Compares changes of calls: all by formulas, then as many as the messages allow by
/// simulation, those first whose estimate is fastest. In the order of the changes. Throws
/// InputError and HangError where the unchanged calls cannot run.
class Adviser {
 public:
  explicit Adviser(CallList calls, std::uint32_t threads = 1,
                   std::uint64_t messages = messages_of_advice);

  const CallList& calls() const { return calls_; }
  /// Of the unchanged calls, simulated.
  const CallTimes& times() const { return simulated_; }

  std::vector<Advice> advise(const std::vector<TriedChange>& changes);
  /// The settings among them that are faster, tried together: the best first, each further one kept
  /// if it makes the whole faster still. Nothing where fewer than two are kept. Simulated.
  std::optional<Advice> best_together(std::span<const Advice> advices) const;

 private:
  Advice estimated(const TriedChange& change) const;
  /// What a change makes of the unchanged times.
  void take_effect(const TriedChange& change, const CallTimes& unchanged, const CallTimes& changed,
                   Advice& advice) const;
  void simulate(const TriedChange& change, Advice& advice) const;

  CallList calls_;
  std::uint32_t threads_;
  std::uint64_t messages_;
  std::unique_ptr<KnownCalls> known_ = std::make_unique<KnownCalls>();  ///< of all changes
  CallTimes estimated_;
  CallTimes simulated_;
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
/// "helps", "nothing", "harms", "mixed", "overridden", "not modelled", "unknown to NCCL",
/// "refused".
std::string_view to_string(SettingVerdict verdict);

/// By the mean and the extremes of an effect.
SettingVerdict verdict_of(const Effect& effect);
/// Of a change: refused where it cannot run, not modelled where the model cannot tell its time.
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
