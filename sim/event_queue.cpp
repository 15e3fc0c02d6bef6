#include "sim/event_queue.h"

#include <algorithm>

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
  heap_.push_back({time, created_++, bucket});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void EventQueue::remove_front_bucket() {
  free_buckets_.push_back(heap_.front().bucket);
  std::pop_heap(heap_.begin(), heap_.end(), later);
  heap_.pop_back();
}

}  // namespace collsim
