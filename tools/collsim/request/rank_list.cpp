#include "tools/collsim/request/rank_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "sim/base/input_error.h"
#include "tools/collsim/core/numbers.h"

namespace collsim::command {

namespace {

DeviceId find_gpu(std::string_view name, const Topology& topology) {
  const auto found = topology.find_device(name);
  if (found && topology.device(*found).kind == DeviceKind::gpu) return *found;
  throw InputError(
      fmt::format("--rank-list: '{}' has no GPU '{}'", topology.name(), name),
      fmt::format("numbers 0 to {} such as 0,2,4..6, or names such as {}",
                  topology.gpus().size() - 1, topology.device_name(topology.gpus().back())));
}

}  // namespace

std::vector<DeviceId> parse_rank_list(std::string_view text, const Topology& topology) {
  std::vector<DeviceId> gpus;
  std::string_view rest = text;
  while (true) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const bool is_number = !item.empty() && item.find_first_not_of("0123456789.") == item.npos;
    if (is_number) {
      const auto last = static_cast<std::uint32_t>(topology.gpus().size() - 1);
      for (const std::uint32_t place : parse_numbers("rank-list", item, 0, last)) {
        gpus.push_back(topology.gpus()[place]);
      }
    } else {
      gpus.push_back(find_gpu(item, topology));
    }
    if (item.size() == rest.size()) break;
    rest.remove_prefix(item.size() + 1);
  }
  std::set<DeviceId> seen;
  for (const DeviceId gpu : gpus) {
    if (seen.insert(gpu).second) continue;
    throw InputError(fmt::format("--rank-list: {} occurs twice", topology.device_name(gpu)),
                     "every GPU at most once");
  }
  return gpus;
}

}  // namespace collsim::command
