#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/plan/checker.h"
#include "sim/plan/schedule_builder.h"
#include "sim/plan/steps.h"
#include "tests/support/test_name.h"

namespace collsim {
namespace {

enum class Change { remove, repeat };
constexpr std::array changes{Change::remove, Change::repeat};

template <typename T>
void apply(Change change, std::vector<T>& list, std::size_t position) {
  const auto at = list.begin() + static_cast<std::ptrdiff_t>(position);
  if (change == Change::remove) {
    list.erase(at);
  } else {
    const T copy = *at;
    list.insert(at, copy);
  }
}

bool is_caught(const Plan& mutant) {
  return !check(mutant, {.credits = {1, 8}, .orders = 1, .max_violations = 1}).ok();
}

/// Neighbours in nodes of 2, so that every part of a hierarchical algorithm has work, and a number
/// that is no power of two.
Plan original(const std::string& algorithm) {
  const Placement apart = uniform_placement(6, 2);
  const bool spans_nodes = !why_unsupported(Collective::all_reduce, algorithm, apart);
  return make_plan(Collective::all_reduce, algorithm,
                   spans_nodes ? apart : uniform_placement(6, 6));
}

class CheckerMutation : public testing::TestWithParam<std::string> {};

TEST_P(CheckerMutation, every_primitive_removed_or_repeated_is_caught) {
  const Plan plan = original(GetParam());
  const Schedule& schedule = plan.schedule(0);
  int mutants = 0;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      const auto program = schedule.program(rank, lane);
      for (std::size_t i = 0; i < program.size(); ++i) {
        for (const Change change : changes) {
          std::vector<Primitive> changed(program.begin(), program.end());
          apply(change, changed, i);
          Plan mutant = plan;
          mutant.schedules.front() = schedule.with_program(rank, lane, changed);
          ++mutants;
          EXPECT_TRUE(is_caught(mutant))
              << (change == Change::remove ? "removed" : "repeated") << " primitive " << i
              << " of rank " << rank << ", lane " << lane;
        }
      }
    }
  }
  EXPECT_GT(mutants, 0);
  RecordProperty("mutants", mutants);
}

/// The plan that a textbook's list of steps lowers to.
Plan lowered(const Plan& like, const std::vector<std::vector<StepTransfer>>& steps) {
  ScheduleBuilder builder(like.ranks(), like.schedule(0).chunks());
  for (const auto& transfers : steps) {
    builder.step();
    for (const StepTransfer& transfer : transfers) {
      builder.lane(transfer.lane);
      if (transfer.reduce) {
        builder.reduce(transfer.from, transfer.to, transfer.chunks);
      } else {
        builder.copy(transfer.from, transfer.to, transfer.chunks);
      }
    }
  }
  Plan plan = like;
  plan.schedules.front() = std::move(builder).build();
  return plan;
}

TEST_P(CheckerMutation, every_transfer_removed_or_repeated_is_caught) {
  const Plan plan = original(GetParam());
  // What a switch does is no textbook's step.
  if (!plan.schedule(0).agents().empty()) return;
  std::vector<std::vector<StepTransfer>> steps;
  for (const Step& step : replay_steps(plan)) steps.push_back(step.transfers);
  ASSERT_FALSE(is_caught(lowered(plan, steps)));
  int mutants = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (std::size_t i = 0; i < steps[s].size(); ++i) {
      for (const Change change : changes) {
        auto changed = steps;
        apply(change, changed[s], i);
        ++mutants;
        EXPECT_TRUE(is_caught(lowered(plan, changed)))
            << (change == Change::remove ? "removed" : "repeated") << " transfer "
            << steps[s][i].from << " -> " << steps[s][i].to << " of step " << s;
      }
    }
  }
  EXPECT_GT(mutants, 0);
  RecordProperty("mutants", mutants);
}

INSTANTIATE_TEST_SUITE_P(all_reduce, CheckerMutation,
                         testing::ValuesIn(algorithm_names(Collective::all_reduce)),
                         [](const auto& algorithm) { return test::test_name(algorithm.param); });

}  // namespace
}  // namespace collsim
