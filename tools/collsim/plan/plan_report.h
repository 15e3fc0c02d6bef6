#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/planning/capacity_plan.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/report.h"

namespace collsim::command {

/// The letter by which tables and charts name an alternative: A, B, ..., Z, AA, ...
std::string letter_of(std::size_t alternative);

/// The line of a chart that has the name; a new one at its end if none has.
ReportSeries& line_called(const std::string& name, ReportChart& chart);

/// The same with what is assumed of the network between its nodes (network_in_words()).
std::string assumptions_of(const Alternative& alternative);

/// Whether steps compute, too, so that they take longer than their communication.
bool has_compute(const CapacityRequest& request);

/// The columns of the table, for a page.
std::vector<ReportColumn> plan_columns(const CapacityRequest& request);

/// What follows from the table, a sentence each: where scaling ends, what changes bring, what is
/// cheapest, and where prices are from.
std::vector<std::string> plan_notes(const CapacityRequest& request, const CapacityPlan& plan);

/// A row for programs.
Record record_of(const CapacityRequest& request, const PlanRow& row);

/// All of the answer for programs: rows, where scaling ends, what changes bring, how prices count,
/// and where prices are from.
Record as_json(const CapacityRequest& request, const CapacityPlan& plan);

/// The table, what follows from it, and a chart:
///
///   # collsim 1.0.0: plan for all_reduce of 350 GB, NCCL 2.30
///   #   A dgx-h100
///   #   B dgx-h100, nic=200Gb/s
///   #
///   #   nodes gpus      time  busbw  weak    limit      cost mark from   trust
///   #                   (ms) (GB/s)   (%)            (USD/h)
///   A     64  512   1846.53 378.34   100      NIC   3522.56    *  run derived
///   B     64  512   3672.90 190.21   100      NIC   3187.91 best  run derived
///
/// `wide` shows all columns.
void print_plan(const CapacityRequest& request, const CapacityPlan& plan, bool wide,
                std::ostream& out);

/// For each workload the time of a step over nodes, and time over price with the front; and
/// the table with what follows from it.
Report plan_report(const CapacityRequest& request, const CapacityPlan& plan,
                   const std::string& command);

}  // namespace collsim::command
