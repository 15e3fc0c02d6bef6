#include "models/recordings/listed_ranks.h"

#include <algorithm>

namespace collsim {

void ListedRanks::add(std::int64_t number, std::int64_t group, std::string_view host) {
  ++listed_;
  ++times_[number];
  Group& own = groups_[group];
  ++own.ranks;
  if (!host.empty()) own.hosts.emplace(host);
  if (!host.empty()) hosts_.emplace(host);
}

std::uint32_t ListedRanks::runs() const {
  if (times_.empty()) return 1;
  const std::uint32_t times = times_.begin()->second;
  const bool alike = std::all_of(times_.begin(), times_.end(),
                                 [&](const auto& each) { return each.second == times; });
  return alike ? times : 1;
}

std::uint32_t ListedRanks::groups() const {
  if (groups_.empty() || runs() > 1) return 1;
  const Group& first = groups_.begin()->second;
  const bool alike = std::all_of(groups_.begin(), groups_.end(), [&](const auto& each) {
    return each.second.ranks == first.ranks && each.second.hosts.size() == first.hosts.size();
  });
  return alike ? static_cast<std::uint32_t>(groups_.size()) : 1;
}

Rank ListedRanks::ranks() const {
  return listed_ / runs() / groups();
}

std::uint32_t ListedRanks::nodes() const {
  const std::size_t hosts = groups() > 1 ? groups_.begin()->second.hosts.size() : hosts_.size();
  return std::max(1U, static_cast<std::uint32_t>(hosts) / runs());
}

}  // namespace collsim
