#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace collsim {

/// What is to happen: `id` is the owner's, `version` lets the owner tell an event that was
/// overtaken by a later decision from one that still holds.
struct FabricEvent {
  std::uint32_t id = 0;
  std::uint32_t version = 0;
};

/// Events by time; first in, first out within one time.
///
/// In synchronous patterns thousands of events share one time. Only distinct times are in the heap;
/// each has a list of its events. A small lossy cache finds the list of a time that is already
/// there; where it misses, one time has two lists, which costs a little speed and nothing else.
class EventQueue {
 public:
  /// Adds an event. `time` must not be a NaN.
  void push(double time, FabricEvent event);
  bool empty() const { return heap_.empty(); }
  /// The least time of all events. Not when empty.
  double time() const { return heap_.front().time; }
  /// The event that pop() takes. Not when empty.
  FabricEvent front() const { return nodes_[buckets_[heap_.front().bucket].first].event; }
  FabricEvent pop();

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Node {
    FabricEvent event;
    std::uint32_t next = none;
  };
  struct Bucket {
    double time = 0;
    std::uint32_t first = none;  ///< none: free
    std::uint32_t last = none;
  };
  struct HeapEntry {
    double time = 0;
    std::uint32_t order = 0;  ///< of creation
    std::uint32_t bucket = 0;
  };

  /// Compares without branches: in a heap they would be guessed wrong half of the time.
  static bool earlier(const HeapEntry& a, const HeapEntry& b) {
    return static_cast<bool>(
        static_cast<int>(a.time < b.time) |
        (static_cast<int>(a.time == b.time) & static_cast<int>(a.order < b.order)));
  }
  static std::size_t hash(double time) {
    return (std::bit_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15U) >> 58U;
  }
  std::uint32_t add_node(FabricEvent event);
  void add_bucket(double time, std::uint32_t node);
  void remove_front_bucket();
  std::size_t earliest_child(std::size_t parent) const;

  std::vector<HeapEntry> heap_;  ///< each entry is before its four children, 4 i + 1 to 4 i + 4
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> free_buckets_;
  std::vector<Node> nodes_;
  std::uint32_t free_node_ = none;  ///< a list through Node::next
  std::uint32_t created_ = 0;
  std::array<std::uint32_t, 64> recent_{};  ///< bucket of a time, by hash; may be outdated
};

inline void EventQueue::push(double time, FabricEvent event) {
  const std::uint32_t node = add_node(event);
  const std::uint32_t guess = recent_[hash(time)];
  if (guess < buckets_.size() && buckets_[guess].first != none && buckets_[guess].time == time) {
    nodes_[buckets_[guess].last].next = node;
    buckets_[guess].last = node;
    return;
  }
  add_bucket(time, node);
}

inline FabricEvent EventQueue::pop() {
  Bucket& bucket = buckets_[heap_.front().bucket];
  const std::uint32_t node = bucket.first;
  bucket.first = nodes_[node].next;
  nodes_[node].next = free_node_;
  free_node_ = node;
  const FabricEvent event = nodes_[node].event;
  if (bucket.first == none) {
    remove_front_bucket();
  }
  return event;
}

inline std::uint32_t EventQueue::add_node(FabricEvent event) {
  if (free_node_ == none) {
    nodes_.push_back({event, none});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  const std::uint32_t node = free_node_;
  free_node_ = nodes_[node].next;
  nodes_[node] = {event, none};
  return node;
}

}  // namespace collsim
