/* Prints how long an all_reduce takes on 8 x H200, by size.
 * cc -std=c99 times.c -o times $(pkg-config --cflags --libs collsim) */
#include <collsim/collsim.h>
#include <stdio.h>

int main(void) {
  struct collsim_machine* machine;
  struct collsim_call call = {0};
  const int64_t sizes[] = {1 << 20, 1 << 25, 1 << 30};
  struct collsim_prediction rows[3];
  int i;
  if (collsim_load_machine("hgx-h200", NULL, &machine) != COLLSIM_OK ||
      collsim_simulate(machine, &call, sizes, 3, NULL, rows) != COLLSIM_OK) {
    fprintf(stderr, "%s\n", collsim_error_message());
    return 1;
  }
  for (i = 0; i < 3; ++i) {
    printf("%lld %.2f %s %s\n", (long long)rows[i].bytes, rows[i].time_us, rows[i].algorithm,
           rows[i].protocol);
  }
  collsim_free_machine(machine);
  return 0;
}
