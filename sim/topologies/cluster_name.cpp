#include "sim/topologies/cluster_name.h"

#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/file_status.h"
#include "sim/base/number.h"
#include "sim/topologies/loader.h"

namespace collsim {

namespace fs = std::filesystem;

std::optional<ClusterName> parse_cluster_name(std::string_view name) {
  constexpr std::string_view times = "-x";
  const std::size_t end_of_node = name.rfind(times);
  if (end_of_node == std::string_view::npos || end_of_node == 0) return std::nullopt;
  const std::string_view digits = name.substr(end_of_node + times.size());
  const std::uint32_t nodes = parse_number<std::uint32_t>(digits).value_or(0);
  if (nodes == 0 || nodes > gpu_limit) return std::nullopt;
  return ClusterName{std::string(name.substr(0, end_of_node)), nodes};
}

std::optional<std::string> shipped_cluster(std::string_view node) {
  std::optional<std::string> least;
  std::uint32_t nodes = 0;
  for (std::string& name : shipped_names("topologies")) {
    const auto cluster = parse_cluster_name(name);
    const bool same = cluster ? cluster->node == node : name == node;
    const std::uint32_t count = cluster ? cluster->nodes : gpu_limit;
    if (!same || (least && count >= nodes)) continue;
    least = std::move(name);
    nodes = count;
  }
  return least;
}

bool names_unwritten_cluster(std::string_view name) {
  const bool bare = name.find('/') == std::string_view::npos;
  if (!bare || is_there(fs::path(name)) || is_there(shipped_file(name, "topologies"))) return false;
  const auto cluster = parse_cluster_name(name);
  const std::string node = cluster ? cluster->node : std::string(name);
  return is_there(shipped_file(node, "topologies/nodes")) || (cluster && shipped_cluster(node));
}

fs::path find_machine(std::string_view name, const fs::path& base) {
  if (names_unwritten_cluster(name) && !is_there(base / name)) return name;
  return find_data_file(name, "topologies", base);
}

}  // namespace collsim
