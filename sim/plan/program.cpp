#include "sim/plan/program.h"

namespace collsim {

bool alike(const Primitive& a, const Primitive& b) {
  return a.kind == b.kind && a.receive_group == b.receive_group && a.send_group == b.send_group;
}

namespace {

/// Whether two primitives may differ in their first chunk, and do not differ in anything else.
bool fit_one_run(const Primitive& a, const Primitive& b) {
  return alike(a, b) && a.chunk_count == b.chunk_count && a.phase == b.phase;
}

std::uint32_t stride(const Primitive& from, const Primitive& to, std::uint32_t chunks) {
  return (to.first_chunk + chunks - from.first_chunk) % chunks;
}

}  // namespace

std::optional<ChunkWindow> window_of(const Run& run, std::uint32_t chunks) {
  if (run.first.chunk_count != 1 || run.repeats > chunks) return std::nullopt;
  if (run.chunk_stride == 1) return ChunkWindow{run.first.first_chunk};
  if (run.chunk_stride + 1 != chunks) return std::nullopt;
  return ChunkWindow{run.at(run.repeats - 1, chunks).first_chunk, true};
}

void RunList::append(const Primitive& primitive, std::uint32_t chunks) {
  ++size_;
  if (!runs_.empty() && fit_one_run(runs_.back().first, primitive)) {
    Run& last = runs_.back();
    if (last.repeats == 1) last.chunk_stride = stride(last.first, primitive, chunks);
    if (last.at(last.repeats, chunks).first_chunk == primitive.first_chunk) {
      ++last.repeats;
      return;
    }
  }
  runs_.push_back({primitive});
}

void RunList::append(const Run& run, std::uint32_t chunks) {
  // After three of its primitives the last run has its stride, whatever was there before.
  std::uint32_t done = 0;
  for (; done < run.repeats && done < 3; ++done) append(run.at(done, chunks), chunks);
  if (done == run.repeats) return;
  Run& last = runs_.back();
  const Primitive next = run.at(done, chunks);
  const bool goes_on = last.repeats > 1 && last.chunk_stride == run.chunk_stride &&
                       last.at(last.repeats, chunks).first_chunk == next.first_chunk;
  if (goes_on) {
    last.repeats += run.repeats - done;
  } else {
    runs_.push_back({next, run.repeats - done, run.chunk_stride});
  }
  size_ += run.repeats - done;
}

Primitive Program::operator[](std::size_t i) const {
  assert(i < size_);
  const Run* run = runs_.data();
  for (; i >= run->repeats; ++run) i -= run->repeats;
  return run->at(static_cast<std::uint32_t>(i), chunks_);
}

}  // namespace collsim
