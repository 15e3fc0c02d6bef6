#include "sim/fabric/event_queue.h"

namespace collsim {

void EventQueue::add_bucket(double time, std::uint32_t node) {
  std::uint32_t bucket = 0;
  if (free_buckets_.empty()) {
    bucket = static_cast<std::uint32_t>(buckets_.size());
    buckets_.emplace_back();
  } else {
    bucket = free_buckets_.back();
    free_buckets_.pop_back();
  }
  buckets_[bucket] = {time, node, node};
  recent_[hash(time)] = bucket;
  const HeapEntry entry{time, created_++, bucket};
  heap_.push_back(entry);
  std::size_t place = heap_.size() - 1;
  while (place > 0 && earlier(entry, heap_[(place - 1) / 4])) {
    heap_[place] = heap_[(place - 1) / 4];
    place = (place - 1) / 4;
  }
  heap_[place] = entry;
}

void EventQueue::remove_front_bucket() {
  free_buckets_.push_back(heap_.front().bucket);
  const HeapEntry last = heap_.back();
  heap_.pop_back();
  if (heap_.empty()) {
    return;
  }
  std::size_t place = 0;
  while (4 * place + 1 < heap_.size()) {
    const std::size_t child = earliest_child(place);
    if (!earlier(heap_[child], last)) {
      break;
    }
    heap_[place] = heap_[child];
    place = child;
  }
  heap_[place] = last;
}

std::size_t EventQueue::earliest_child(std::size_t parent) const {
  const std::size_t first = 4 * parent + 1;
  if (first + 4 <= heap_.size()) {
    const std::size_t left =
        first + static_cast<std::size_t>(earlier(heap_[first + 1], heap_[first]));
    const std::size_t right =
        first + 2 + static_cast<std::size_t>(earlier(heap_[first + 3], heap_[first + 2]));
    return earlier(heap_[right], heap_[left]) ? right : left;
  }
  std::size_t child = first;
  for (std::size_t i = first + 1; i < heap_.size(); ++i) {
    child = earlier(heap_[i], heap_[child]) ? i : child;
  }
  return child;
}

}  // namespace collsim
