#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/topologies/graph.h"
#include "sim/topologies/topology_library.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// Reads the lists `devices`, `links` and `shared` into a Graph. Several files can be read one
/// after the other: after next_file(), what a file lists replaces what an earlier one listed under
/// the same name (devices, shared resources) or between the same devices (links of one kind). Every
/// mistake is an InputError at its place.
class GraphReader {
 public:
  /// Checks the models of GPUs as the library does.
  explicit GraphReader(const TopologyLibrary& library = {})
      : check_gpu_model_(library.check_gpu_model) {}
  /// A device that is there before any list is read.
  void add_known(GraphDevice device);
  void next_file();
  /// `inside_node`: network switches are refused, and `kind` must be said; otherwise devices are
  /// network switches unless said otherwise, and links network links.
  void read_devices(const YamlValue& list, bool inside_node);
  void read_links(const YamlValue& list, bool inside_node);
  void read_shares(const YamlValue& list);
  Graph take() && { return std::move(graph_); }

 private:
  using LinkKey = std::tuple<std::uint32_t, std::uint32_t, LinkKind>;

  std::uint32_t find_device(const YamlValue& where, const std::string& name) const;
  void add_device(const YamlValue& where, GraphDevice device);
  void add_link(const YamlValue& where, const GraphLink& link);
  void read_share(const YamlValue& value);
  std::vector<std::vector<GraphDirection>> read_covered(const YamlValue& value,
                                                        const LinkKind* kind) const;
  std::vector<GraphDirection> directions_between(const std::uint32_t* from, const std::uint32_t* to,
                                                 const LinkKind* kind) const;

  std::function<void(const YamlValue&)> check_gpu_model_;
  Graph graph_;
  std::unordered_map<std::string, std::uint32_t> device_of_name_;
  std::map<LinkKey, std::uint32_t> link_of_key_;
  std::map<std::string, std::size_t> share_of_name_;
  std::set<std::string> devices_of_file_;
  std::set<LinkKey> links_of_file_;
  std::set<std::string> shares_of_file_;
};

/// Reads a kind of device, such as "gpu". Throws InputError, which lists the kinds.
DeviceKind read_device_kind(const YamlValue& value);
LinkKind read_link_kind(const YamlValue& value);

}  // namespace collsim
