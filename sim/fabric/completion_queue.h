#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace collsim {

/// When flows will be over, by time, then by flow. A time can be changed and taken back in place,
/// so that flows whose rates change all the time leave nothing behind.
class CompletionQueue {
 public:
  using FlowId = std::uint32_t;

  bool empty() const { return heap_.empty(); }
  /// The least time of all flows. Not when empty.
  double time() const { return heap_.front().time; }
  FlowId front() const { return heap_.front().flow; }
  /// Sets the time at which the flow will be over.
  void set(FlowId flow, double time);
  /// Takes a flow out; does nothing where it has no time.
  void remove(FlowId flow);

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Entry {
    double time = 0;
    FlowId flow = 0;
  };

  static bool earlier(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time < b.time : a.flow < b.flow;
  }
  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    places_[entry.flow] = static_cast<std::uint32_t>(place);
  }
  void place(std::size_t place, const Entry& entry);
  void sink(std::size_t place, const Entry& entry);

  std::vector<Entry> heap_;            ///< each entry is before its four children
  std::vector<std::uint32_t> places_;  ///< in heap_, by flow
};

}  // namespace collsim
