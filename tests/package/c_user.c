/* A C99 program on the installed library: what collsim/collsim.h promises. */
#include <collsim/collsim.h>
#include <collsim/lookup.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("not so: %s (%s)\n", what, collsim_error_message());
  ++failures;
}

/* The message is "what is wrong; what would be accepted", and has the value. */
static void expect_bad_input(int status, const char* value) {
  const char* const message = collsim_error_message();
  expect(status == COLLSIM_BAD_INPUT, value);
  expect(strstr(message, value) != NULL && strstr(message, "; ") != NULL, value);
}

/* 8 ranks, 50 GB/s, 1 us: 14 hops of 1 us + S / 8 / 50 GB/s. */
static void answer_a_textbook_call(const struct collsim_machine* machine) {
  struct collsim_call call = {0};
  struct collsim_prediction rows[2];
  const int64_t sizes[] = {1 << 20, (1 << 23) + 3};
  call.algorithm = "ring";
  expect(collsim_simulate(machine, &call, sizes, 2, NULL, rows) == COLLSIM_OK, "simulate");
  expect(fabs(rows[0].time_us - 50.70016) < 1e-4, "time by hand");
  expect(rows[1].bytes == 1 << 23, "whole elements");
  expect(strcmp(rows[0].algorithm, "ring") == 0 && strcmp(rows[0].trust, "exact") == 0, "names");
  expect(collsim_estimate(machine, &call, sizes, 2, rows) == COLLSIM_OK, "estimate");
  expect(fabs(rows[0].time_us - 50.70016) < 1e-4, "time by formula");
  expect(collsim_estimate(machine, &call, NULL, 0, NULL) == COLLSIM_OK, "no sizes");
}

static void answer_a_call_of_nccl(void) {
  struct collsim_machine* machine;
  struct collsim_call call = {0};
  struct collsim_prediction row;
  const int64_t size = 1 << 26;
  const char* const variables[] = {"NCCL_PROTO=LL", NULL};
  expect(collsim_load_machine("hgx-h200", "", &machine) == COLLSIM_OK, "load");
  call.variables = variables;
  call.ranks = 4;
  expect(collsim_estimate(machine, &call, &size, 1, &row) == COLLSIM_OK, "estimate");
  expect(strcmp(row.protocol, "LL") == 0 && row.channels > 1, "a variable of NCCL's");
  expect(row.nccl_estimate_us > 0, "NCCL's own estimate");
  collsim_free_machine(machine);
}

static void refuse_wrong_input(const struct collsim_machine* machine) {
  struct collsim_machine* none = (struct collsim_machine*)&none;
  struct collsim_call call = {0};
  struct collsim_prediction row;
  const int64_t size = 8;
  const int64_t less = -8;
  const char* const variables[] = {"NCCL_PROTO", NULL};
  row.channels = 77;
  expect_bad_input(collsim_load_machine("no-such", NULL, &none), "no-such");
  expect(none == NULL, "no machine on failure");
  expect_bad_input(collsim_load_machine(NULL, NULL, &none), "topology is NULL");
  expect_bad_input(collsim_load_machine("switch-8", NULL, NULL), "machine is NULL");
  expect_bad_input(collsim_estimate(NULL, &call, &size, 1, &row), "machine is NULL");
  expect_bad_input(collsim_estimate(machine, NULL, &size, 1, &row), "call is NULL");
  expect_bad_input(collsim_estimate(machine, &call, NULL, 1, &row), "sizes is NULL");
  expect_bad_input(collsim_estimate(machine, &call, &size, 1, NULL), "predictions is NULL");
  expect_bad_input(collsim_estimate(machine, &call, &less, 1, &row), "-8");
  expect_bad_input(collsim_simulate(machine, &call, &size, 1, "no-engine", &row), "no-engine");
  call.ranks = 9;
  expect_bad_input(collsim_estimate(machine, &call, &size, 1, &row), "9");
  call.ranks = 0;
  call.variables = variables;
  expect_bad_input(collsim_estimate(machine, &call, &size, 1, &row), "NCCL_PROTO");
  call.variables = NULL;
  call.collective = "no_such";
  expect_bad_input(collsim_estimate(machine, &call, &size, 1, &row), "no_such");
  expect(row.channels == 77, "nothing is filled in on failure");
}

static void ask(void) {
  const char* const expected[] = {"expect", "switch-8", "--format", "json"};
  const char* const wrong[] = {"expect", "no-such"};
  char* output;
  expect(collsim_ask(expected, 4, &output) == COLLSIM_OK, "ask");
  expect(output != NULL && output[0] == '{', "a document");
  collsim_free_text(output);
  expect_bad_input(collsim_ask(wrong, 2, &output), "no-such");
  expect(output == NULL, "no output on failure");
  collsim_free_text(output);
}

int main(void) {
  struct collsim_machine* machine;
  expect(strlen(collsim_error_message()) == 0, "no message before a failure");
  expect(strchr(collsim_version(), '.') != NULL, "a version");
  if (collsim_load_machine("switch-8", "ideal", &machine) != COLLSIM_OK) return 1;
  expect(collsim_machine_gpus(machine) == 8, "GPUs");
  expect(strcmp(collsim_machine_calibration(machine), "ideal") == 0, "calibration");
  expect(strlen(collsim_machine_name(machine)) > 0, "name");
  answer_a_textbook_call(machine);
  answer_a_call_of_nccl();
  refuse_wrong_input(machine);
  ask();
  collsim_free_machine(machine);
  collsim_free_machine(NULL);
  return failures == 0 ? 0 : 1;
}
