#include "sim/execution/worker.h"

#include <algorithm>
#include <cmath>

#include "sim/base/division.h"
#include "sim/execution/machine_events.h"

namespace collsim {

void begin_slice(Worker& worker, const DataPartition& partition) {
  const ChunkRange chunks = worker.current().chunks();
  const Bytes chunk = partition.chunk_bytes(worker.channel, worker.loop, chunks);
  worker.slice_bytes = partition.slice_bytes(chunk, worker.slice).count;
  worker.piece_bytes = bytes_of_pieces(worker.slice_bytes, worker.setting);
  worker.piece = 0;
  worker.pieces =
      worker.slice_bytes == 0
          ? 1
          : static_cast<std::uint32_t>(divide_up(worker.slice_bytes, worker.piece_bytes));
}

bool advance(Worker& worker, const DataPartition& partition) {
  if (++worker.piece < worker.pieces) return false;
  bool over = false;
  if (++worker.slice == partition.chunking().slices) {
    worker.slice = 0;
    ++worker.primitive;
    if ((++worker.at).at_end()) {
      worker.begin_program(worker.program);
      over = ++worker.loop == worker.loops;
      if (over) worker.loop = 0;
    }
  }
  begin_slice(worker, partition);
  return over;
}

double jitter_factor(const Worker& worker, double jitter) {
  if (jitter == 0) return 1;
  const std::uint64_t place = (std::uint64_t{worker.primitive} << 8U) ^ worker.slice;
  // Multiples of the golden ratio, modulo 1, are spread evenly, however many there are.
  const double spread = 0.6180339887 * worker.channel;
  const double of_slice = jitter_of(0, 0, place) + spread;
  const double of_channel = 0.5 + spread;
  const auto offset = [](double turns) { return 2 * (turns - std::floor(turns)) - 1; };
  return 1 + jitter * (offset(of_slice) + offset(of_channel));
}

TimelineRecord record_of(const Worker& worker) {
  TimelineRecord record;
  record.channel = worker.channel;
  record.rank = worker.rank;
  record.lane = worker.lane;
  record.loop = worker.loop;
  record.primitive = worker.primitive;
  record.slice = worker.slice;
  record.bytes = {worker.bytes_of_piece()};
  return record;
}

}  // namespace collsim
