#include "tools/collsim/trace/view_steps.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/plan/steps.h"

namespace collsim {

namespace {

using nlohmann::ordered_json;

/// Transfers of all schedules that a page holds at most: beyond, it would grow by more than 1 MB.
constexpr std::size_t max_transfers = 30'000;

ordered_json transfer_row(const StepTransfer& transfer) {
  constexpr unsigned half = 32;
  ordered_json row{transfer.from,         transfer.to,           transfer.lane,
                   transfer.chunks.first, transfer.chunks.count, transfer.reduce ? 1 : 0};
  for (const Contributions& whose : transfer.whose) {
    row.push_back(static_cast<std::uint32_t>(whose.bits));
    row.push_back(static_cast<std::uint32_t>(whose.bits >> half));
  }
  return row;
}

ordered_json step_rows(const std::vector<Step>& steps) {
  ordered_json rows = ordered_json::array();
  for (const Step& step : steps) {
    ordered_json transfers = ordered_json::array();
    for (const StepTransfer& transfer : step.transfers) transfers.push_back(transfer_row(transfer));
    rows.push_back({{"phase", step.phase}, {"transfers", std::move(transfers)}});
  }
  return rows;
}

}  // namespace

ordered_json steps_of_schedules(const Plan& plan) {
  ordered_json schedules = ordered_json::array();
  std::size_t transfers = 0;
  for (std::uint32_t s = 0; s < plan.schedules.size(); ++s) {
    schedules.push_back(nullptr);
    const auto& of_channel = plan.schedule_of_channel;
    const auto channel = std::find(of_channel.begin(), of_channel.end(), s);
    if (plan.ranks() > max_replayed_ranks || channel == of_channel.end()) continue;
    if (transfers > max_transfers) continue;
    const auto steps = replay_steps(plan, static_cast<std::uint32_t>(channel - of_channel.begin()));
    for (const Step& step : steps) transfers += step.transfers.size();
    if (transfers <= max_transfers) schedules.back() = {{"steps", step_rows(steps)}};
  }
  return schedules;
}

}  // namespace collsim
