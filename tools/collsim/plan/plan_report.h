#pragma once

#include <string>

#include "tools/collsim/plan/capacity_plan.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// The letter by which tables and charts name an alternative: A, B, ..., Z, AA, ...
std::string letter_of(std::size_t alternative);

/// The name of an alternative with what is assumed of the network between its nodes
/// (network_in_words()).
std::string assumptions_of(const Alternative& alternative);

/// Whether steps compute, too, so that they take longer than their communication.
bool has_compute(const CapacityRequest& request);

/// Lists what is moved in a step: "350 GB, 1 GB".
std::string moved_in(const CapacityRequest& request);

/// Adds the table, what follows from it, and a chart:
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
/// `wide` shows all columns in a terminal.
void add_plan(const CapacityRequest& request, const CapacityPlan& plan, bool wide, Answer& answer);

/// All of the answer: for pages also charts of each workload, by nodes and by price.
Answer plan_answer(const CapacityRequest& request, const CapacityPlan& plan, bool wide,
                   const std::string& command);

}  // namespace collsim::command
