/* collsim as a C library. A C++ program that includes this header has collsim/collsim.hpp as well.
 *
 * A function that can fail returns a collsim_status; on failure collsim_error_message() says what
 * is wrong and what would be accepted. No C++ exception leaves the library. Threads may call at the
 * same time, but only one of them on the engine `simgrid`. Strings are UTF-8; strings that go in
 * are copied, and NULL means the same as "".
 *
 * Symbols carry versions, and a struct never changes: a later release adds a new one. */
#ifndef COLLSIM_COLLSIM_H
#define COLLSIM_COLLSIM_H

/* C's headers and names, in a C++ program that may warn of them. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <collsim/collsim.hpp>

extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Exit codes of the command, too. */
enum collsim_status {
  COLLSIM_OK = 0,
  COLLSIM_ANSWER_IS_NO = 1, /* collsim_ask() only: a log is not healthy, a job hangs */
  COLLSIM_BAD_INPUT = 2,    /* also: no memory */
  COLLSIM_BUG = 3           /* of collsim's */
};

/* The release: "1.0.0". */
const char* collsim_version(void);

/* Why the last call of this thread that failed did: "what is wrong; what would be accepted", with
 * `file:line:col: ` before it where a file is wrong. Valid until this thread's next call; "" before
 * any failure. */
const char* collsim_error_message(void);

/* A machine and the constants that its calls cost. */
struct collsim_machine;

/* Loads a topology file, a topology dump of NCCL's (*.xml), or a shipped topology by its name.
 * `calibration` is a file or the name of a shipped one; where "", the one that suits the topology.
 * *machine is for collsim_free_machine(), and NULL on failure. */
int collsim_load_machine(const char* topology, const char* calibration,
                         struct collsim_machine** machine);
void collsim_free_machine(struct collsim_machine* machine); /* NULL is fine */

/* What the machine's file says; valid as long as the machine. */
const char* collsim_machine_name(const struct collsim_machine* machine);
const char* collsim_machine_calibration(const struct collsim_machine* machine);
uint32_t collsim_machine_gpus(const struct collsim_machine* machine);

/* What is called, and who decides how it runs. A struct of zeros is an all_reduce of all GPUs, run
 * as `collsim run` would. */
struct collsim_call {
  const char* collective; /* "all_reduce", ...: `collsim list` names them */
  const char* schedule;   /* "nccl" or "textbook" */
  const char* algorithm;  /* "ring", "nvls_tree", ... */
  const char* protocol;   /* "LL", "LL128" or "Simple" */
  const char* const*
      variables;  /* of NCCL's environment, "NCCL_PROTO=LL"; ends with NULL, may be NULL */
  uint32_t ranks; /* the first GPUs of the machine; 0: all of them */
  uint32_t root;  /* counts only where the collective has one */
};

/* How long a call of one size takes, and how far that is from what is possible. */
struct collsim_prediction {
  int64_t bytes;           /* nccl-tests' size, cut down to whole elements of 4 bytes */
  double time_us;          /* until the last rank is done */
  double algbw_gb_s;       /* bytes over time, in 1e9 bytes per second */
  double busbw_gb_s;       /* algbw by the factor of nccl-tests */
  double bound_us;         /* no run on this machine can be faster, whatever the algorithm */
  double nccl_estimate_us; /* what NCCL itself expects; NaN where it does not tune the call */
  uint32_t channels;       /* that carried data */
  char algorithm[36];      /* what ran */
  char protocol[8];
  char trust[16]; /* "exact", "measured", "derived" or "guessed" */
};

/* Fills predictions[0 .. count - 1] for those sizes in bytes, by simulation on the engine "native"
 * or "simgrid" ("": native). On failure nothing is filled in. */
int collsim_simulate(const struct collsim_machine* machine, const struct collsim_call* call,
                     const int64_t* sizes, size_t count, const char* engine,
                     struct collsim_prediction* predictions);

/* The same by the analytic model, in microseconds a size. */
int collsim_estimate(const struct collsim_machine* machine, const struct collsim_call* call,
                     const int64_t* sizes, size_t count, struct collsim_prediction* predictions);

/* Asks any subcommand: `words` are what follows `collsim` on a command line, such as "expect",
 * "hgx-h200", "--format", "json". Returns the exit code. *output is what the command would print,
 * for collsim_free_text(), and NULL where it printed nothing; collsim_error_message() is what it
 * would tell beside that. Questions of several threads take turns. `--time-limit` is not heeded. */
int collsim_ask(const char* const* words, size_t count, char** output);
void collsim_free_text(char* text); /* NULL is fine */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
