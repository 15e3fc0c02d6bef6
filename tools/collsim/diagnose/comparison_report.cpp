#include "tools/collsim/diagnose/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/collsim/diagnose/diagnosis_report.h"

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

/// Adds a size to a table. JSON has the shares of busbw, people its figures.
void add_size(const ChangedSize& size, Table& table) {
  NewRow add(table);
  add.data("collective", to_string(size.call.collective));
  add.data("ranks", size.call.ranks);
  add.data("nodes", size.call.nodes);
  add.data("in_place", size.in_place);
  add({"size_bytes", "size", "(B)"}, size.size.count);
  add({"before_us", "before", "(us)"}, in_microseconds(size.before));
  add({"after_us", "after", "(us)"}, in_microseconds(size.after));
  add.data("busbw_ratio", size.ratio());
  add({"limit", "limit", "(%)", 1, 100}, std::expm1(size.limit));
  add({"change", ""}, to_string(size.change));
}

AnswerSection call_section(const RunChange& change, const RecordedCall& call) {
  Table table;
  for (const ChangedSize& size : change.sizes) {
    if (size.call != call) continue;
    add_size(size, table);
    Record& row = table.rows.back();
    row["before_busbw"] = busbw(size, size.before);
    row["after_busbw"] = busbw(size, size.after);
    row["percent"] = percent(size.ratio());
    if (size.in_place) row["change"] = fmt::format("{} in place", to_string(size.change));
  }
  const std::vector<Column> of_busbw{{"before_busbw", "before", "(GB/s)"},
                                     {"after_busbw", "after", "(GB/s)"},
                                     {"percent", "change", "(%)", 1, 1, 0, 0, true}};
  table.columns.insert(table.columns.end() - 2, of_busbw.begin(), of_busbw.end());
  AnswerSection section{"", {}, {comment(""), comment(name_of(call))}, {std::move(table)}};
  for (const ChangedBand& band : change.bands) {
    if (band.call != call) continue;
    section.after.push_back(comment(fmt::format(
        "{}: {}, {:+.1f} % in the middle of {} size{}", band_name(band), to_string(band.change),
        percent(band.ratio), band.sizes, band.sizes == 1 ? "" : "s")));
  }
  return section;
}

Record document_of(const Recording& before, const Recording& after, const RunChange& change) {
  Record document{{"before", before.file.filename().string()},
                  {"after", after.file.filename().string()},
                  {"verdict", change.is_slower() ? "slower" : "not slower"},
                  {"sizes", Record::array()},
                  {"bands", Record::array()},
                  {"settings", change.settings},
                  {"only_before", change.only_before},
                  {"only_after", change.only_after},
                  {"collsim_version", COLLSIM_VERSION}};
  Table sizes;
  for (const ChangedSize& size : change.sizes) add_size(size, sizes);
  document["sizes"] = std::move(sizes.rows);
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

}  // namespace

Answer comparison_answer(const Recording& before, const Recording& after, const RunChange& change) {
  Answer answer;
  answer.document = document_of(before, after, change);
  answer.head(
      {labelled("verdict", verdict_text(change)),
       comment(fmt::format("collsim {}: {} against {}", COLLSIM_VERSION,
                           after.file.filename().string(), before.file.filename().string()))});
  const RecordedCall* last = nullptr;
  for (const ChangedSize& size : change.sizes) {
    if (last != nullptr && size.call == *last) continue;
    answer.sections.push_back(call_section(change, size.call));
    last = &size.call;
  }
  std::vector<Note> notes;
  for (const std::string& setting : change.settings) notes.push_back(labelled("differs", setting));
  if (change.only_before + change.only_after > 0) {
    notes.push_back(
        labelled("note", fmt::format("{} sizes are in the first log only, {} in the second only",
                                     change.only_before, change.only_after)));
  }
  answer.head(std::move(notes));
  return answer;
}

}  // namespace collsim::command
