#include "tools/collsim/advise/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "models/call/call_compiler.h"
#include "models/call/rank_gpus.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/variable_reach.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/base/parallel.h"
#include "sim/execution/machine_events.h"
#include "sim/nccl/nccl_variable.h"
#include "tools/collsim/advise/pasted_settings.h"

namespace collsim {

CallList with_variables(CallList calls, const std::map<std::string, std::string>& variables) {
  for (CallList::Item& item : calls.items) {
    for (const auto& [name, value] : variables) item.spec.run.variables[name] = value;
  }
  return calls;
}

Effect effect_of(const CallTimes& unchanged, const CallTimes& changed) {
  assert(unchanged.times.size() == changed.times.size() && !unchanged.times.empty());
  Effect effect;
  double logarithms = 0;
  for (std::size_t i = 0; i < unchanged.times.size(); ++i) {
    const double before = unchanged.times[i].value;
    const double ratio = before > 0 ? changed.times[i].value / before : 1;
    logarithms += std::log(ratio);
    if (i == 0 || ratio < effect.min) {
      effect.min = ratio;
      effect.min_at = i;
    }
    if (i == 0 || ratio > effect.max) {
      effect.max = ratio;
      effect.max_at = i;
    }
  }
  effect.mean = std::exp(logarithms / static_cast<double>(unchanged.times.size()));
  return effect;
}

bool is_nothing(const Effect& effect) {
  return effect.min > 1 - min_change && effect.max < 1 + min_change;
}

namespace {

NcclVersion version_of(const CallList& calls) {
  return calls.items.front().spec.run.nccl_version;
}

/// Why NCCL does not take the value; nothing where it does.
std::optional<std::string> refusal(const PastedSetting& setting, NcclVersion version) {
  try {
    static_cast<void>(parse_nccl_environment({{setting.name, setting.value}}, version));
  } catch (const InputError& error) {
    return error.what();
  }
  return std::nullopt;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> names;
  names.reserve(variables.size());
  for (const auto& [name, meaning] : variables) names.push_back(name);
  return names;
}

/// Judges what can be said without a time. Lines that are left count.
class LineJudge {
 public:
  explicit LineJudge(NcclVersion version)
      : version_(version), known_(load_nccl_variables()), modelled_(modelled_nccl_variables()) {}

  /// Whether the setting is to be tried.
  bool judge(JudgedSetting& line) const {
    const std::string& name = line.setting.name;
    if (!is_nccl_setting(name)) {
      line.verdict = SettingVerdict::unknown;
      line.note = "set by images of containers and builds; NCCL does not read it";
      return false;
    }
    const auto known = known_.find(name);
    if (known == known_.end()) {
      line.verdict = SettingVerdict::unknown;
      line.note = did_you_mean(name, names_of(known_));
      return false;
    }
    if (std::find(modelled_.begin(), modelled_.end(), name) == modelled_.end()) {
      line.verdict = SettingVerdict::not_modelled;
      line.note = known->second;
      return false;
    }
    if (const auto why = refusal(line.setting, version_)) {
      line.verdict = SettingVerdict::refused;
      line.note = *why;
      return false;
    }
    return true;
  }

 private:
  NcclVersion version_;
  std::map<std::string, std::string> known_;
  std::vector<std::string> modelled_;
};

bool talks_through_host_memory(const CallCompiler& compiler) {
  if (compiler.nccl() == nullptr || !compiler.cost().memory.used) return false;
  return compiler.nccl()->talks_through_host_memory();
}

/// Why the size of NCCL's buffers counts; empty where it is not that they lie in host memory.
std::string reason_of(const TriedChange& change) {
  if (!change.variables.contains("NCCL_BUFFSIZE")) return {};
  for (const CallList::Item& item : change.calls.items) {
    const CallCompiler compiler(item.spec);
    if (!talks_through_host_memory(compiler)) continue;
    return fmt::format(
        "buffers lie in host memory here; what of them exceeds the CPUs' cache, of which I/O gets "
        "{}, moves at the rate of the memory itself",
        to_string(compiler.cost().memory.cache));
  }
  return {};
}

/// Pairs of GPUs of the first node that talk through host memory.
std::size_t pairs_through_host_memory(const CallSpec& spec) {
  const CallCompiler compiler(spec);
  if (compiler.nccl() == nullptr) return 0;
  const std::size_t gpus = placement_of(*spec.topology, spec.gpus).ranks_by_node().front().size();
  const Nccl& host = compiler.nccl()->host(0);
  std::size_t pairs = 0;
  for (std::uint32_t from = 0; from < gpus; ++from) {
    for (std::uint32_t to = 0; to < from; ++to) {
      if (host.through_host_memory(from, to)) ++pairs;
    }
  }
  return pairs;
}

/// Why nobody can tell a change's time from here: it opens peer-to-peer over CPUs, beyond all
/// PCIe switches, whose rate differs between hosts from none to more than memory gives.
std::string unknown_way_of(const TriedChange& change) {
  if (!change.variables.contains("NCCL_P2P_LEVEL")) return {};
  const CallList below_switches = with_variables(change.calls, {{"NCCL_P2P_LEVEL", "PXB"}});
  for (std::size_t i = 0; i < change.calls.items.size(); ++i) {
    if (pairs_through_host_memory(change.calls.items[i].spec) <
        pairs_through_host_memory(below_switches.items[i].spec)) {
      return "GPUs would reach each other over a CPU, at a rate that its host bridges, IOMMU and "
             "ACS decide; measure these calls with it and without";
    }
  }
  return {};
}

/// Whether a later line sets the same variable.
bool is_overridden(const std::vector<PastedSetting>& settings, std::size_t index) {
  return std::any_of(
      settings.begin() + static_cast<std::ptrdiff_t>(index) + 1, settings.end(),
      [&](const PastedSetting& later) { return later.name == settings[index].name; });
}

}  // namespace

Adviser::Adviser(CallList calls, std::uint32_t threads)
    : calls_(std::move(calls)), threads_(threads) {
  method_.cache = cache_.get();
  for (const CallList::Item& item : calls_.items) compilers_.emplace_back(item.spec);
  times_ = times_of(calls_);
}

CallTimes Adviser::times_of(const CallList& calls) const {
  assert(calls.items.size() == compilers_.size());
  CallTimes result;
  for (std::size_t i = 0; i < compilers_.size(); ++i) {
    const CallList::Item& item = calls.items[i];
    Predictor predictor(CallCompiler(item.spec, &compilers_[i]), method_);
    for (const Bytes size : item.sizes) {
      const Prediction prediction = predictor.predict(size);
      result.times.push_back(prediction.time);
      result.algorithms.push_back(prediction.algorithm);
    }
  }
  return result;
}

Advice Adviser::tried(const TriedChange& change) const {
  Advice advice{change.text, change.variables};
  try {
    take_effect(change, times_of(change.calls), advice);
  } catch (const InputError& error) {
    advice.problem = error.what();
  } catch (const HangError& error) {
    advice.problem = error.what();
  }
  return advice;
}

void Adviser::take_effect(const TriedChange& change, const CallTimes& changed,
                          Advice& advice) const {
  advice.effect = effect_of(times_, changed);
  advice.unmodelled = unknown_way_of(change);
  if (!advice.unmodelled.empty()) return;
  advice.reason = is_nothing(advice.effect) ? "" : reason_of(change);
  if (!is_nothing(advice.effect) || change.variables.empty()) return;
  for (const std::string& algorithm : changed.algorithms) {
    const auto reason = unmodelled_reason(change.variables, algorithm, version_of(calls_));
    if (!reason) continue;
    advice.unmodelled = *reason;
    return;
  }
}

std::vector<Advice> Adviser::advise(const std::vector<TriedChange>& changes) {
  std::vector<Advice> advices(changes.size());
  for_each_in_parallel(changes.size(), threads_,
                       [&](std::size_t i) { advices[i] = tried(changes[i]); });
  return advices;
}

std::optional<Advice> Adviser::best_together(std::span<const Advice> advices) const {
  std::vector<const Advice*> faster;
  for (const Advice& advice : advices) {
    const bool counts =
        advice.problem.empty() && advice.unmodelled.empty() && !advice.variables.empty();
    if (counts && advice.effect.mean < 1 - min_change) faster.push_back(&advice);
  }
  std::stable_sort(faster.begin(), faster.end(), [](const Advice* a, const Advice* b) {
    return a->effect.mean < b->effect.mean;
  });
  constexpr std::size_t max_tried = 8;
  faster.resize(std::min(faster.size(), max_tried));
  if (faster.size() < 2) return std::nullopt;
  Advice best = *faster.front();
  std::size_t kept = 1;
  for (std::size_t i = 1; i < faster.size(); ++i) {
    TriedChange change{best.text, best.variables, {}};
    change.variables.insert(faster[i]->variables.begin(), faster[i]->variables.end());
    if (change.variables.size() == best.variables.size()) continue;  // another value of the same
    change.text += " " + faster[i]->text;
    change.calls = with_variables(calls_, change.variables);
    Advice both = tried(change);
    if (!both.problem.empty() || both.effect.mean > best.effect.mean - min_change) continue;
    best = std::move(both);
    ++kept;
  }
  return kept > 1 ? std::optional(best) : std::nullopt;
}

std::string_view to_string(SettingVerdict verdict) {
  switch (verdict) {
    case SettingVerdict::helps:
      return "helps";
    case SettingVerdict::nothing:
      return "nothing";
    case SettingVerdict::harms:
      return "harms";
    case SettingVerdict::mixed:
      return "mixed";
    case SettingVerdict::overridden:
      return "overridden";
    case SettingVerdict::not_modelled:
      return "not modelled";
    case SettingVerdict::unknown:
      return "unknown to NCCL";
    case SettingVerdict::refused:
      return "refused";
  }
  return "";
}

SettingVerdict verdict_of(const Effect& effect) {
  if (is_nothing(effect)) return SettingVerdict::nothing;
  const bool some_faster = effect.min < 1 - min_change;
  const bool some_slower = effect.max > 1 + min_change;
  if (some_faster && some_slower) return SettingVerdict::mixed;
  return some_faster ? SettingVerdict::helps : SettingVerdict::harms;
}

SettingVerdict verdict_of(const Advice& advice) {
  if (!advice.problem.empty()) return SettingVerdict::refused;
  if (!advice.unmodelled.empty()) return SettingVerdict::not_modelled;
  return verdict_of(advice.effect);
}

Judgement judge(Adviser& adviser, const std::vector<PastedSetting>& settings) {
  const LineJudge judge_line(version_of(adviser.calls()));
  Judgement judgement;
  std::vector<TriedChange> changes;
  std::vector<std::size_t> tried;
  std::map<std::string, std::string> all;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const PastedSetting& setting = settings[i];
    JudgedSetting& line = judgement.lines.emplace_back(JudgedSetting{setting});
    if (!judge_line.judge(line)) continue;
    if (is_overridden(settings, i)) {
      line.verdict = SettingVerdict::overridden;
      line.note = "a later line sets it again";
      continue;
    }
    const std::map<std::string, std::string> alone{{setting.name, setting.value}};
    all.insert(alone.begin(), alone.end());
    changes.push_back({fmt::format("{}={}", setting.name, setting.value), alone,
                       with_variables(adviser.calls(), alone)});
    tried.push_back(i);
  }
  if (tried.empty()) return judgement;
  changes.push_back({"all together", all, with_variables(adviser.calls(), all)});
  std::vector<Advice> advices = adviser.advise(changes);
  judgement.together = advices.back();
  // Of a variable that is not followed its line says so; the others have their time all the same.
  judgement.together->unmodelled = unknown_way_of(changes.back());
  for (std::size_t i = 0; i < tried.size(); ++i) {
    JudgedSetting& line = judgement.lines[tried[i]];
    line.advice = advices[i];
    line.verdict = verdict_of(advices[i]);
    line.note = advices[i].problem.empty() ? advices[i].unmodelled : advices[i].problem;
  }
  return judgement;
}

}  // namespace collsim
