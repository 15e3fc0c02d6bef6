#include "models/recordings/listed_ranks.h"

#include <algorithm>

namespace collsim {

void ListedRanks::add(std::int64_t number, std::string_view host) {
  ++listed_;
  ++times_[number];
  if (!host.empty()) hosts_.emplace(host);
}

std::uint32_t ListedRanks::runs() const {
  if (times_.empty()) return 1;
  const std::uint32_t times = times_.begin()->second;
  const bool alike = std::all_of(times_.begin(), times_.end(),
                                 [&](const auto& each) { return each.second == times; });
  return alike ? times : 1;
}

Rank ListedRanks::ranks() const {
  return listed_ / runs();
}

std::uint32_t ListedRanks::nodes() const {
  return std::max(1U, static_cast<std::uint32_t>(hosts_.size()) / runs());
}

}  // namespace collsim
