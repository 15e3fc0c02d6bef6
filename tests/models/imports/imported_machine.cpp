#include "tests/models/imports/imported_machine.h"

#include <algorithm>

#include "models/imports/import.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/topology_writer.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {

Topology imported(const std::string& file, const char* gpu, std::uint32_t nics) {
  const ImportOptions options{gpu == nullptr ? nullptr : find_gpu_model(gpu),
                              gpu != nullptr && is_card(gpu), nics};
  ClusterText cluster{"imported", {}, {}, 1, {}};
  cluster.node = import_node(read_text_file(source + "/" + file, "a description"), options).node;
  return read_topology({"imported", topology_text(cluster)});
}

Topology shipped(const std::string& name) {
  return load_topology(source + "/topologies/" + name + ".yaml");
}

std::vector<std::tuple<std::string, std::string, std::uint32_t, double>> nvlinks(
    const Topology& topology) {
  std::vector<std::tuple<std::string, std::string, std::uint32_t, double>> links;
  for (const Link link : topology.links()) {
    if (link.kind != LinkKind::nvlink) continue;
    links.emplace_back(topology.device_name(link.from), topology.device_name(link.to), link.count,
                       in_gigabytes_per_second(link.bandwidth));
  }
  std::sort(links.begin(), links.end());
  return links;
}

}  // namespace collsim::test
