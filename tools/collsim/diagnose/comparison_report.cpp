#include "tools/collsim/diagnose/comparison_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "sim/base/json_text.h"
#include "tools/collsim/core/wrap.h"
#include "tools/collsim/diagnose/diagnosis_report.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

double busbw(const ChangedSize& size, Seconds time) {
  return in_gigabytes_per_second(size.size / time) *
         busbw_factor(size.call.collective, size.call.ranks);
}

/// Of busbw, in percent.
double percent(double ratio) {
  return 100 * (ratio - 1);
}

std::string band_name(const ChangedBand& band) {
  return fmt::format("{} {}", band.bound_by_bandwidth ? "from" : "below",
                     to_string(bandwidth_bound));
}

/// The first line: what became of the run as a whole.
std::string verdict_text(const RunChange& change) {
  const ChangedBand* worst = nullptr;
  const ChangedBand* best = nullptr;
  for (const ChangedBand& band : change.bands) {
    if (band.change == Change::slower && (worst == nullptr || band.ratio < worst->ratio)) {
      worst = &band;
    }
    if (band.change == Change::faster && (best == nullptr || band.ratio > best->ratio)) {
      best = &band;
    }
  }
  const ChangedBand* const told = worst != nullptr ? worst : best;
  if (told == nullptr) return "same: no call differs by more than noise and the threshold";
  return fmt::format("{}: {} {}, busbw {:+.1f} % in the middle of {} sizes",
                     to_string(told->change), name_of(told->call), band_name(*told),
                     percent(told->ratio), told->sizes);
}

void print_call(const RunChange& change, const RecordedCall& call, std::ostream& out) {
  fmt::print(out, "#\n# {}\n", name_of(call));
  fmt::print(out, "#{:>10} {:>10} {:>10} {:>8} {:>8} {:>7} {:>6}\n", "size", "before", "after",
             "before", "after", "change", "limit");
  fmt::print(out, "#{:>10} {:>10} {:>10} {:>8} {:>8} {:>7} {:>6}\n", "(B)", "(us)", "(us)",
             "(GB/s)", "(GB/s)", "(%)", "(%)");
  for (const ChangedSize& size : change.sizes) {
    if (size.call != call) continue;
    const std::string place = size.in_place ? " in place" : "";
    fmt::print(out, "{:>11} {:>10.2f} {:>10.2f} {:>8.2f} {:>8.2f} {:>+7.1f} {:>6.1f} {}{}\n",
               size.size.count, in_microseconds(size.before), in_microseconds(size.after),
               busbw(size, size.before), busbw(size, size.after), percent(size.ratio()),
               100 * std::expm1(size.limit), to_string(size.change), place);
  }
  for (const ChangedBand& band : change.bands) {
    if (band.call != call) continue;
    fmt::print(out, "# {}: {}, {:+.1f} % in the middle of {} size{}\n", band_name(band),
               to_string(band.change), percent(band.ratio), band.sizes, band.sizes == 1 ? "" : "s");
  }
}

}  // namespace

void print_comparison_table(const Recording& before, const Recording& after,
                            const RunChange& change, std::ostream& out) {
  out << wrapped(verdict_text(change), "verdict: ", "  ");
  out << wrapped(fmt::format("collsim {}: {} against {}", COLLSIM_VERSION,
                             after.file.filename().string(), before.file.filename().string()),
                 "# ", "#   ");
  const RecordedCall* last = nullptr;
  for (const ChangedSize& size : change.sizes) {
    if (last != nullptr && size.call == *last) continue;
    print_call(change, size.call, out);
    last = &size.call;
  }
  for (const std::string& setting : change.settings) out << wrapped(setting, "differs: ", "  ");
  if (change.only_before + change.only_after > 0) {
    fmt::print(out, "note: {} sizes are in the first log only, {} in the second only\n",
               change.only_before, change.only_after);
  }
}

Record comparison_record(const Recording& before, const Recording& after, const RunChange& change) {
  Record document{{"before", before.file.filename().string()},
                  {"after", after.file.filename().string()},
                  {"verdict", change.is_slower() ? "slower" : "not slower"},
                  {"sizes", Record::array()},
                  {"bands", Record::array()},
                  {"settings", change.settings},
                  {"only_before", change.only_before},
                  {"only_after", change.only_after},
                  {"collsim_version", COLLSIM_VERSION}};
  for (const ChangedSize& size : change.sizes) {
    document["sizes"].push_back({{"collective", to_string(size.call.collective)},
                                 {"ranks", size.call.ranks},
                                 {"nodes", size.call.nodes},
                                 {"in_place", size.in_place},
                                 {"size_bytes", size.size.count},
                                 {"before_us", in_microseconds(size.before)},
                                 {"after_us", in_microseconds(size.after)},
                                 {"busbw_ratio", size.ratio()},
                                 {"limit", std::expm1(size.limit)},
                                 {"change", to_string(size.change)}});
  }
  for (const ChangedBand& band : change.bands) {
    document["bands"].push_back({{"collective", to_string(band.call.collective)},
                                 {"ranks", band.call.ranks},
                                 {"nodes", band.call.nodes},
                                 {"bound_by_bandwidth", band.bound_by_bandwidth},
                                 {"sizes", band.sizes},
                                 {"busbw_ratio", band.ratio},
                                 {"change", to_string(band.change)}});
  }
  return document;
}

}  // namespace collsim::command
