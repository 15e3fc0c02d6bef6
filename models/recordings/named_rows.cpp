#include "models/recordings/named_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/recordings/table_identity.h"

namespace collsim {

namespace {

/// How a sentence ends that says what cannot be told.
constexpr std::string_view names_it = " names it";

std::string names_of(const std::vector<Collective>& collectives) {
  std::string text;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    text += i == 0 ? "" : i + 1 == collectives.size() ? " or " : ", ";
    text += to_string(collectives[i]);
  }
  return text;
}

/// One table, whose rows have the same signs.
class TableNaming {
 public:
  TableNaming(std::span<RecordedRow> table, const RowNames& names) : table_(table), names_(names) {}

  std::vector<std::string> take() && {
    if (!table_.front().collective) name_collective();
    if (!table_.front().collective) return std::move(notes_);
    if (table_.front().ranks == 0) {
      name_ranks();
    } else {
      check_ranks();
    }
    return std::move(notes_);
  }

 private:
  const RecordedRow& row() const { return table_.front(); }
  const TableSigns& signs() const { return *row().signs; }

  void set_collective(Collective collective) {
    for (RecordedRow& row : table_) {
      row.collective = collective;
      row.collective_name = to_string(collective);
    }
  }

  void set_ranks(Rank ranks) {
    for (RecordedRow& row : table_) row.ranks = ranks;
  }

  void name_collective() {
    if (!row().collective_name.empty()) return;  // it is none of ours
    if (names_.collective) return set_collective(*names_.collective);
    const auto fitting = collectives_of(signs(), row().ranks);
    if (fitting.size() == 1) return set_collective(fitting.front());
    if (fitting.empty()) return;
    notes_.push_back(fmt::format(
        "the table of line {} does not say its collective; busbw / algbw is that of {}: -c{}",
        row().line, names_of(fitting), names_it));
  }

  std::optional<RankRange> told() const { return ranks_of(*row().collective, signs().factor); }

  void name_ranks() {
    if (names_.ranks) return set_ranks(*names_.ranks);
    const auto range = told();
    const auto ranks = range ? likely_ranks(*range) : std::nullopt;
    if (!ranks) {
      notes_.push_back(fmt::format(
          "the table of line {} does not say how many ranks it is of: -n{}", row().line, names_it));
      return;
    }
    set_ranks(*ranks);
    notes_.push_back(fmt::format(
        "busbw / algbw is that of {} of {} ranks{}", to_string(*row().collective), *ranks,
        range->min == range->max
            ? ""
            : fmt::format(", of {} to {} by its rounding", range->min, range->max)));
  }

  /// Where busbw / algbw is that of another number of ranks than are listed.
  void check_ranks() {
    const Rank listed = row().ranks;
    const auto range = told();
    if (!range || (listed >= range->min && listed <= range->max)) return;
    const auto ranks = likely_ranks(*range);
    if (!ranks) return;
    const bool is_part = listed % *ranks == 0;
    const std::uint32_t runs = is_part ? listed / *ranks : 1;
    for (RecordedRow& row : table_) {
      row.ranks = *ranks;
      row.nodes = std::max(1U, row.nodes / runs);
    }
    notes_.push_back(is_part ? several_runs(runs, *ranks)
                             : fmt::format("{} ranks are listed, but busbw / algbw is that of {}",
                                           listed, *ranks));
  }

  std::span<RecordedRow> table_;
  const RowNames& names_;
  std::vector<std::string> notes_;
};

}  // namespace

std::string several_runs(std::uint32_t runs, Rank ranks) {
  return fmt::format(
      "the text holds {} runs of {} ranks, not one of {}: nccl-tests was built without MPI, so "
      "that "
      "mpirun starts the same run on every host. Rebuild the tests with `make MPI=1`",
      runs, ranks, runs * ranks);
}

std::string several_groups(std::uint32_t groups, Rank ranks) {
  return fmt::format(
      "{} communicators of {} ranks each were timed at once (NCCL_TESTS_SPLIT); what is expected "
      "is that of one alone",
      groups, ranks);
}

std::vector<std::string> name_table(std::span<RecordedRow> table, const RowNames& names) {
  if (table.empty() || !table.front().signs) return {};
  return TableNaming(table, names).take();
}

void name_rows(Recording& recording, const RowNames& names) {
  if (!names.collective && !names.ranks) return;
  std::erase_if(recording.notes, [](const std::string& note) {
    return note.ends_with(names_it);  // is asked again where it still cannot be told
  });
  for (std::size_t begin = 0; begin < recording.rows.size();) {
    std::size_t end = begin;
    while (end < recording.rows.size() && recording.rows[end].id == recording.rows[begin].id) ++end;
    const std::span<RecordedRow> table(recording.rows.data() + begin, end - begin);
    for (std::string& note : name_table(table, names)) recording.notes.push_back(std::move(note));
    begin = end;
  }
}

}  // namespace collsim
