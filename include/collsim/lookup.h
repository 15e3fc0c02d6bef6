/* What calls of a communicator should take, as `collsim expect --export-lookup FILE` writes it.
 * This header alone reads the file: C99, no library, no allocation, no call that can block. Map or
 * read the file, open it once, then ask for each call: a search among its sizes.
 *
 * The file is little endian, as the machines are that read it: the header below, then `rows` rows,
 * ordered by collective and size. */
#ifndef COLLSIM_LOOKUP_H
#define COLLSIM_LOOKUP_H

/* C's casts and C's headers, in a C++ program that may warn of them. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first bytes of a file; the digit is the version of its form. */
#define COLLSIM_LOOKUP_MAGIC "clsmexp1"

/* The collectives, in the order of their numbers in a row, as nccl-tests calls them. */
#define COLLSIM_LOOKUP_COLLECTIVES                                                               \
  {                                                                                              \
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "sendrecv", "alltoall", \
        "gather", "scatter"                                                                      \
  }

struct collsim_lookup_header {
  char magic[8];
  uint32_t rows;
  uint32_t ranks;
};

/* Times in microseconds. low and high hold 8 of 10 times of healthy machines; both are the time
 * itself where the prediction is exact. */
struct collsim_lookup_row {
  uint64_t bytes;
  float time_us, low_us, high_us;
  uint8_t collective;
  uint8_t algorithm; /* NCCL's number: 0 tree, 1 ring, 4 nvls, ...; 255 for any other */
  uint8_t protocol;  /* NCCL's number: 0 LL, 1 LL128, 2 Simple */
  uint8_t channels;
};

/* A file that is open. The bytes stay the caller's, and must outlive it. */
struct collsim_lookup {
  const struct collsim_lookup_row* rows;
  uint32_t count;
  uint32_t ranks;
};

/* What is expected of one call. */
struct collsim_expected {
  double time_us, low_us, high_us;
  int algorithm, protocol, channels; /* of the nearest size in the file, from below */
};

/* Opens a file of `length` bytes that begin at an address that 8 divides. 0, or -1 where it is no
 * such file. */
static inline int collsim_lookup_open(const void* data, size_t length,
                                      struct collsim_lookup* lookup) {
  const struct collsim_lookup_header* const header = (const struct collsim_lookup_header*)data;
  if (length < sizeof *header || memcmp(header->magic, COLLSIM_LOOKUP_MAGIC, 8) != 0) return -1;
  if ((length - sizeof *header) / sizeof(struct collsim_lookup_row) != header->rows) return -1;
  lookup->rows = (const struct collsim_lookup_row*)(header + 1);
  lookup->count = header->rows;
  lookup->ranks = header->ranks;
  return 0;
}

/* The number of a collective; -1 where the file's form has none of that name. */
static inline int collsim_lookup_collective(const char* name) {
  static const char* const names[] = COLLSIM_LOOKUP_COLLECTIVES;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (strcmp(name, names[i]) == 0) return (int)i;
  }
  return -1;
}

/* What a call of so many bytes (nccl-tests' size) should take: between two sizes of the file on a
 * straight line, above the largest as many bytes a second as there. 0, or -1 where the file has no
 * row of the collective. */
static inline int collsim_lookup_find(const struct collsim_lookup* lookup, int collective,
                                      uint64_t bytes, struct collsim_expected* expected) {
  uint32_t low = 0, high = lookup->count;
  while (low < high) { /* the first row beyond the size */
    const uint32_t middle = low + (high - low) / 2;
    const struct collsim_lookup_row* const row = &lookup->rows[middle];
    if (row->collective < collective || (row->collective == collective && row->bytes <= bytes)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const struct collsim_lookup_row* const above =
      low < lookup->count && lookup->rows[low].collective == collective ? &lookup->rows[low] : NULL;
  const struct collsim_lookup_row* const below =
      low > 0 && lookup->rows[low - 1].collective == collective ? &lookup->rows[low - 1] : NULL;
  if (above == NULL && below == NULL) return -1;
  const struct collsim_lookup_row* const near = below != NULL ? below : above;
  double share = 0, factor = 1;
  if (above != NULL && below != NULL) {
    share = (double)(bytes - below->bytes) / (double)(above->bytes - below->bytes);
  } else if (above == NULL && near->bytes > 0) {
    factor = (double)bytes / (double)near->bytes;
  }
  const struct collsim_lookup_row* const far = above != NULL ? above : near;
  expected->time_us = factor * (near->time_us + share * (far->time_us - near->time_us));
  expected->low_us = factor * (near->low_us + share * (far->low_us - near->low_us));
  expected->high_us = factor * (near->high_us + share * (far->high_us - near->high_us));
  expected->algorithm = near->algorithm;
  expected->protocol = near->protocol;
  expected->channels = near->channels;
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif
