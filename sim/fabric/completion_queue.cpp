#include "sim/fabric/completion_queue.h"

#include <algorithm>

namespace collsim {

void CompletionQueue::set(FlowId flow, double time) {
  if (flow >= places_.size()) {
    places_.resize(std::size_t{flow} + 1, none);
  }
  if (places_[flow] == none) {
    places_[flow] = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back({time, flow});
  }
  place(places_[flow], {time, flow});
}

void CompletionQueue::remove(FlowId flow) {
  if (flow >= places_.size() || places_[flow] == none) return;
  const std::size_t hole = places_[flow];
  places_[flow] = none;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.flow != flow) {
    place(hole, last);
  }
}

/// Fills the place with the entry, or with one that belongs there while the entry finds its own.
void CompletionQueue::place(std::size_t place, const Entry& entry) {
  while (place > 0 && earlier(entry, heap_[(place - 1) / 4])) {
    put(place, heap_[(place - 1) / 4]);
    place = (place - 1) / 4;
  }
  sink(place, entry);
}

void CompletionQueue::sink(std::size_t place, const Entry& entry) {
  while (4 * place + 1 < heap_.size()) {
    const auto first = heap_.begin() + static_cast<std::ptrdiff_t>(4 * place + 1);
    const auto last =
        heap_.begin() + static_cast<std::ptrdiff_t>(std::min(4 * place + 5, heap_.size()));
    const auto child = std::min_element(first, last, earlier);
    if (!earlier(*child, entry)) break;
    const auto next = static_cast<std::size_t>(child - heap_.begin());
    put(place, *child);
    place = next;
  }
  put(place, entry);
}

}  // namespace collsim
