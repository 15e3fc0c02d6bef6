#pragma once

#include <iosfwd>
#include <string>

#include "models/planning/capacity_plan.h"
#include "tools/collsim/records.h"

namespace collsim::command {

/// The letter by which tables and charts name an alternative: A, B, ..., Z, AA, ...
std::string letter_of(std::size_t alternative);

/// "dgx-h100, nic=200Gb/s".
std::string describe(const Alternative& alternative);

/// A row for programs.
Record record_of(const CapacityQuestion& question, const PlanRow& row);

/// All of the answer for programs: rows, where scaling ends, what changes bring, how prices count,
/// and where prices are from.
Record as_json(const CapacityQuestion& question, const CapacityPlan& plan);

/// The table, what follows from it, and a chart:
///
///   # collsim 0.1.0: plan for all_reduce of 350 GB, NCCL 2.30
///   #   A dgx-h100
///   #   B dgx-h100, nic=200Gb/s
///   #
///   #   nodes gpus      time  busbw  weak    limit      cost mark from   trust
///   #                   (ms) (GB/s)   (%)            (USD/h)
///   A     64  512   1846.53 378.34   100      NIC   3522.56    *  run derived
///   B     64  512   3672.90 190.21   100      NIC   3187.91 best  run derived
///
/// `wide` shows all columns.
void print_plan(const CapacityQuestion& question, const CapacityPlan& plan, bool wide,
                std::ostream& out);

}  // namespace collsim::command
