/* Looks up what a call should take in a file of `collsim expect hgx-h200 --export-lookup FILE`,
 * with no library: cc -std=c99 lookup.c -o lookup; ./lookup FILE all_reduce 1048576 */
#include <collsim/lookup.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
  static uint64_t bytes[1 << 17]; /* of the alignment that a file needs */
  struct collsim_lookup lookup;
  struct collsim_expected expected;
  FILE* file = count == 4 ? fopen(words[1], "rb") : NULL;
  size_t length = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (collsim_lookup_open(bytes, length, &lookup) != 0) {
    fprintf(stderr, "usage: lookup FILE COLLECTIVE BYTES\n");
    return 2;
  }
  if (collsim_lookup_find(&lookup, collsim_lookup_collective(words[2]),
                          strtoull(words[3], NULL, 10), &expected) != 0) {
    fprintf(stderr, "no such call\n");
    return 1;
  }
  printf("%.2f (%.2f to %.2f) us\n", expected.time_us, expected.low_us, expected.high_us);
  fclose(file);
  return 0;
}
