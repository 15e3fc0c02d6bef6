#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "sim/plan/primitive.h"

namespace collsim {

/// Primitives in a row that differ in their chunks only: those of each lie `chunk_stride` after
/// those of the one before, modulo the schedule's chunks.
struct Run {
  Primitive first;
  std::uint32_t repeats = 1;
  std::uint32_t chunk_stride = 0;

  /// The i-th primitive of the run, from 0, in a schedule of `chunks` chunks.
  Primitive at(std::uint32_t i, std::uint32_t chunks) const {
    Primitive primitive = first;
    primitive.first_chunk =
        static_cast<std::uint32_t>((first.first_chunk + std::uint64_t{i} * chunk_stride) % chunks);
    return primitive;
  }
};

/// Chunks one after another, as a run around a ring takes them.
struct ChunkWindow {
  std::uint32_t begin = 0;   ///< the lowest; behind the last chunk comes chunk 0
  bool is_backward = false;  ///< the run takes them from the highest down
};

/// The window of a run that takes one neighbouring chunk after another, each at most once; nothing
/// of any other run. `chunks`: of the schedule.
std::optional<ChunkWindow> window_of(const Run& run, std::uint32_t chunks);

/// The runs of a program under construction.
class RunList {
 public:
  std::span<const Run> runs() const { return runs_; }
  /// The number of primitives.
  std::uint32_t size() const { return size_; }
  /// Puts a primitive at the end: into the last run, where it goes on like it. `chunks` are the
  /// schedule's.
  void append(const Primitive& primitive, std::uint32_t chunks);
  /// Appends every primitive of the run.
  void append(const Run& run, std::uint32_t chunks);

 private:
  std::vector<Run> runs_;
  std::uint32_t size_ = 0;
};

/// What a participant does on one lane: a view of runs, read primitive by primitive. A ring over
/// any number of ranks has a handful of runs.
class Program {
 public:
  /// The place of a reader in the program.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Primitive;
    using difference_type = std::ptrdiff_t;
    using pointer = const Primitive*;
    using reference = const Primitive&;

    Iterator() = default;
    /// `end`: of the runs.
    Iterator(const Run* run, const Run* end, std::uint32_t chunks)
        : run_(run), end_(end), chunks_(chunks) {
      if (run != end) current_ = run->first;
    }
    /// The current primitive. It holds until the next step.
    const Primitive& operator*() const { return current_; }
    const Primitive* operator->() const { return &current_; }
    Iterator& operator++() {
      if (++repeat_ < run_->repeats) {
        current_.first_chunk += run_->chunk_stride;
        if (current_.first_chunk >= chunks_) current_.first_chunk -= chunks_;
      } else {
        repeat_ = 0;
        if (++run_ != end_) current_ = run_->first;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const {
      return run_ == other.run_ && repeat_ == other.repeat_;
    }
    bool at_end() const { return run_ == end_; }

   private:
    const Run* run_ = nullptr;
    const Run* end_ = nullptr;
    std::uint32_t repeat_ = 0;
    std::uint32_t chunks_ = 1;
    Primitive current_;
  };

  Program() = default;
  /// `chunks`: of the schedule.
  Program(const RunList& list, std::uint32_t chunks)
      : runs_(list.runs()), size_(list.size()), chunks_(chunks) {}

  std::span<const Run> runs() const { return runs_; }
  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Modulo what the chunk strides of runs count.
  std::uint32_t chunks() const { return chunks_; }
  Iterator begin() const { return {runs_.data(), runs_.data() + runs_.size(), chunks_}; }
  Iterator end() const {
    return {runs_.data() + runs_.size(), runs_.data() + runs_.size(), chunks_};
  }
  Primitive front() const { return runs_.front().first; }
  /// Looks for the run from the first on.
  Primitive operator[](std::size_t i) const;

 private:
  std::span<const Run> runs_;
  std::uint32_t size_ = 0;
  std::uint32_t chunks_ = 1;
};

/// Whether two primitives do the same with the same peers, whatever their chunks and phases.
bool alike(const Primitive& a, const Primitive& b);

/// Calls visit(first, length) for every stretch of primitives of a program that are alike().
template <typename Visit>
void for_each_uniform_run(const Program& program, const Visit& visit) {
  const std::span<const Run> runs = program.runs();
  for (std::size_t i = 0; i < runs.size();) {
    const Primitive& first = runs[i].first;
    std::uint32_t length = 0;
    for (; i < runs.size() && alike(runs[i].first, first); ++i) length += runs[i].repeats;
    visit(first, length);
  }
}

}  // namespace collsim
