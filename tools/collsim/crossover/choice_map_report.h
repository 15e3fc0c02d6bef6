#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "tools/collsim/crossover/choice_map.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// A map of what is fastest, one row for each set of ranks; all rows have the same sizes.
struct ChoiceMap {
  const CallRequest* request = nullptr;
  std::span<const ChoiceRow> rows;
};

/// Names the collective and the machine: "all_reduce on HGX H200".
std::string title_of(const ChoiceMap& map);
/// Names the ranks of a row: "8 ranks", or "16 ranks, 2 nodes".
std::string name_of_row(const ChoiceRow& row);
/// Names a pair of algorithm and protocol: "ring/ll128".
std::string name_of_pair(const NcclVariants::Pair& pair);
/// "R8": the letter of the algorithm, small where the lead is `open`, within the error, and that of
/// the protocol.
std::string code_of(const NcclVariants::Pair& pair, bool open);
/// The pairs that are fastest or chosen anywhere, in NCCL's order.
std::vector<NcclVariants::Pair> shown_pairs(const ChoiceMap& map);
/// Writes a size with the largest unit that divides it: "8", "64K", "256M".
std::string short_size(Bytes size);
/// A cell in one sentence.
std::string describe(const ChoiceRow& row, const ChoiceCell& cell);
/// Says what NCCL's choice loses: "8 ranks: NCCL's choice loses 0.1 % on average".
std::string mean_loss_note(const ChoiceRow& row);
/// Adds a cell to a table.
void add_cell(const ChoiceMap& map, const ChoiceRow& row, const ChoiceCell& cell, Table& table);

/// Prints the map in 80 columns: two letters for each size, three lines for each row; many sizes in
/// several blocks.
void print_choice_map(const ChoiceMap& map, std::ostream& out);
/// A drawing: an SVG file, which a page may hold as it is.
void print_choice_svg(const ChoiceMap& map, std::ostream& out);
/// The map for pages, and what NCCL's choice loses; the cells as a table.
Answer answer_of(const ChoiceMap& map, const std::string& command);

}  // namespace collsim::command
