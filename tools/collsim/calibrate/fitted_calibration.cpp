#include "tools/collsim/calibrate/fitted_calibration.h"

#include <fmt/format.h>

#include <string_view>

#include "tools/collsim/calibrate/parameter.h"

namespace collsim {

namespace {

/// In double quotes; control characters, which a calibration must not have, become spaces.
std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    const bool control = static_cast<unsigned char>(letter) < ' ' || letter == '\x7f';
    quoted += control ? ' ' : letter;
  }
  return quoted + "\"";
}

std::string source_of(const Provenance& provenance, std::size_t rows) {
  std::string files;
  for (const Provenance::Recording& recording : provenance.recordings) {
    files += (files.empty() ? "" : ", ") + recording.file;
  }
  std::string machine;
  for (const auto& [key, value] : provenance.machine) {
    machine += fmt::format(", {} {}", key == "nccl" ? "NCCL" : key == "gpu" ? "GPU" : key, value);
  }
  return fmt::format("fitted to {} rows of {}{}", rows, files, machine);
}

void print_recordings(const Provenance& provenance, std::string& out) {
  out += "  recordings:\n";
  for (const Provenance::Recording& recording : provenance.recordings) {
    out += fmt::format("    - {{ file: {}, rows: {}, held_out: {} }}\n", in_quotes(recording.file),
                       recording.rows, recording.held_out);
  }
}

/// Errors by size, with all rows in the last line.
void print_scores(std::string_view key, const FamilyScore& score, std::string& out) {
  if (score.all.rows == 0) return;
  out += fmt::format("  {}:  # absolute errors\n", key);
  const auto print = [&](std::string_view sizes, const Score& each) {
    if (each.rows == 0) return;
    out += fmt::format("    {}: {{ rows: {}, median: {:.2f}%, mean: {:.2f}% }}\n", in_quotes(sizes),
                       each.rows, 100 * each.median, 100 * each.mean);
  };
  for (std::size_t band = 0; band < size_band_count; ++band) {
    print(size_band_names[band], score.bands[band]);
  }
  print("all", score.all);
}

void print_constants(const CalibrationFit& fit, std::string& out) {
  std::string fitted;
  std::string kept;
  for (const FittedConstant& constant : fit.constants) {
    const Parameter& parameter = constant.parameter;
    if (constant.determination == Determination::fitted) {
      fitted += constant.max > 0 ? fmt::format("    {}: [{}, {}]\n", parameter.name,
                                               text_of(parameter, constant.min),
                                               text_of(parameter, constant.max))
                                 : fmt::format("    {}: no interval\n", parameter.name);
    } else if (constant.determination != Determination::not_asked) {
      kept += fmt::format("    {}: {}\n", parameter.name, in_quotes(why_kept(constant)));
    }
  }
  if (!fitted.empty()) out += "  fitted:  # 95 % intervals\n" + fitted;
  if (!kept.empty()) out += "  kept:  # as the start has them\n" + kept;
  if (fit.correlated.empty()) return;
  out += "  correlated:  # the rows tell them apart badly\n";
  for (const CorrelatedPair& pair : fit.correlated) {
    out += fmt::format("    - [{}, {}, {:.3f}]\n", pair.first, pair.second, pair.correlation);
  }
}

}  // namespace

std::string interval_of(const FittedConstant& constant) {
  if (constant.max == 0) return "-";
  return fmt::format("{} to {}", text_of(constant.parameter, constant.min),
                     text_of(constant.parameter, constant.max));
}

std::string why_kept(const FittedConstant& constant) {
  constexpr double max_shown = 100;
  switch (constant.determination) {
    case Determination::hidden:
      return "no row depends on it";
    case Determination::undetermined:
      return constant.max > max_shown * constant.min
                 ? "not determined: nearly any value would do"
                 : fmt::format("not determined: {} would do", interval_of(constant));
    case Determination::fitted:
    case Determination::not_asked:
      break;
  }
  return {};
}

CalibrationText with_fitted(CalibrationText start, const CalibrationFit& fit) {
  for (const FittedConstant& constant : fit.constants) {
    if (constant.determination != Determination::fitted) continue;
    start.set(constant.parameter.name, text_of(constant.parameter, constant.value));
  }
  return start;
}

std::string fitted_calibration(const FitPlan& plan, const CalibrationFit& fit,
                               const Provenance& provenance, const FamilyScore& used,
                               const FamilyScore& held_out) {
  std::string out = fmt::format(
      "# Made by `collsim calibrate`; `provenance` below says from what and how sure.\n"
      "collsim: calibration/1\nname: {}\nsource: {}\ndate: {}\n",
      in_quotes(plan.name), in_quotes(source_of(provenance, used.all.rows)), plan.date);
  out += plan.trust + with_fitted(plan.stated, fit).constants();
  out += fmt::format("provenance:\n  command: {}\n", in_quotes(provenance.command));
  if (!provenance.version.empty()) {
    out += fmt::format("  version: {}\n", in_quotes(provenance.version));
  }
  out += fmt::format("  topology: {}\n", in_quotes(provenance.topology));
  std::string machine;
  for (const auto& [key, value] : provenance.machine) {
    machine += fmt::format("{}{}: {}", machine.empty() ? " " : ", ", key, in_quotes(value));
  }
  if (!machine.empty()) out += fmt::format("  machine: {{{} }}\n", machine);
  out +=
      fmt::format("  start: {{ name: {}, source: {}, date: {} }}\n", in_quotes(plan.start.name()),
                  in_quotes(plan.start.source()), in_quotes(plan.start.date()));
  print_recordings(provenance, out);
  out += fmt::format("  rows: {}  # fitted to, of those that are not held out\n", fit.rows);
  print_scores("not_held_out", used, out);
  print_scores("held_out", held_out, out);
  if (fit.stopped) out += "  stopped: true  # before its end: the best that had been found\n";
  print_constants(fit, out);
  return out;
}

}  // namespace collsim
