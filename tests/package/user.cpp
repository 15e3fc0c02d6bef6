#include <collsim/collsim.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

using namespace collsim::api;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  ++failures;
}

bool near(double value, double expected) {
  return std::abs(value - expected) <= 1e-6 * expected;
}

template <typename Wrong>
void expect_input_error(Wrong wrong, const char* what) {
  try {
    wrong();
    expect(false, what);
  } catch (const std::runtime_error& error) {
    expect(std::string(error.what()).find("; ") != std::string::npos, what);
  }
}

// 8 ranks, 50 GB/s, 1 us: 14 hops of 1 us + S / 8 / 50 GB/s, on every engine.
void answer_a_textbook_call() {
  const Machine machine = load_machine("switch-8", "ideal");
  expect(machine.gpus == 8 && machine.calibration == "ideal", "what was asked for is loaded");
  const std::vector<std::int64_t> sizes{1 << 20, (1 << 23) + 3};
  for (const std::string& engine : engine_names()) {
    const auto answers = simulate(machine, {.algorithm = "ring"}, sizes, engine);
    expect(answers.size() == 2 && answers[1].bytes == 1 << 23, "whole elements, in order");
    expect(near(answers[0].time_us, 50.70016), engine.c_str());
    expect(near(answers[1].busbw_gb_s, 1.75 * answers[1].algbw_gb_s), "busbw of all_reduce");
    expect(answers[0].bound_us <= answers[0].time_us, "no time is below its bound");
    expect(answers[0].algorithm == "ring" && answers[0].trust == "exact", "what ran");
  }
  expect(near(estimate(machine, {.algorithm = "ring"}, sizes)[0].time_us, 50.70016), "estimate");
}

void answer_a_call_of_nccl() {
  const Call call{.collective = "all_reduce", .schedule = "nccl", .protocol = "Simple", .ranks = 4};
  const Prediction answer = simulate(load_machine("hgx-h200"), call, {1 << 26}).front();
  expect(answer.protocol == "Simple" && answer.channels > 1, "NCCL's channels and protocol");
  expect(answer.nccl_estimate_us && *answer.nccl_estimate_us > 0, "NCCL's own estimate");
}

void name_what_there_is() {
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  expect(has(collective_names(), "all_reduce"), "all_reduce is a collective");
  expect(has(algorithm_names("all_reduce"), "ring"), "ring is an algorithm");
  expect(has(machine_names(), "hgx-h200"), "hgx-h200 is shipped");
  expect(has(calibration_names(), "ideal"), "ideal is shipped");
}

void refuse_wrong_input() {
  const Machine machine = load_machine("switch-8");
  expect_input_error([] { load_machine("no-such"); }, "no such machine");
  expect_input_error([&] { simulate(machine, {.collective = "no_such"}, {8}); }, "no collective");
  expect_input_error([&] { simulate(machine, {}, {8}, "no-such"); }, "no such engine");
  expect_input_error([&] { estimate(machine, {.ranks = 9}, {8}); }, "9 of 8 GPUs");
  expect_input_error([&] { estimate(machine, {}, {-8}); }, "less than no bytes");
  expect_input_error([&] { estimate({}, {}, {8}); }, "a machine that was not loaded");
}

}  // namespace

int main() {
  answer_a_textbook_call();
  answer_a_call_of_nccl();
  name_what_there_is();
  refuse_wrong_input();
  return failures == 0 ? 0 : 1;
}
