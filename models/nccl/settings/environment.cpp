#include "models/nccl/settings/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "models/nccl/settings/selection_list.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

/// One variable as it was given.
struct Setting {
  const std::string& name;
  const std::string& value;
  NcclVersion version;

  [[noreturn]] void reject(const std::string& accepted) const {
    throw InputError(fmt::format("{}={}", name, value), accepted);
  }

  std::int64_t integer(std::int64_t least, std::int64_t most) const {
    const auto number = parse_number<std::int64_t>(value);
    if (!number || *number < least || *number > most) {
      reject(fmt::format("an integer from {} to {}", least, most));
    }
    return *number;
  }

  std::uint32_t count(std::int64_t least, std::int64_t most) const {
    return static_cast<std::uint32_t>(integer(least, most));
  }

  bool flag() const { return integer(0, 1) != 0; }

  std::uint32_t thread_count(std::int64_t least, std::int64_t most) const {
    const std::int64_t threads = integer(least, most);
    if (threads % 32 != 0) reject(fmt::format("a multiple of 32 from {} to {}", least, most));
    return static_cast<std::uint32_t>(threads);
  }

  /// A path type by name, or by number as NCCL 2.3 had them.
  PathType level() const {
    constexpr std::array by_number{PathType::loc, PathType::pix, PathType::pxb,
                                   PathType::phb, PathType::sys, PathType::sys};
    const auto named = find_path_type(value);
    if (named && *named <= PathType::sys) return *named;
    if (!value.empty() && value.front() >= '0' && value.front() <= '9') {
      const auto number = static_cast<std::size_t>(integer(0, 1'000'000));
      return by_number[std::min(number, by_number.size() - 1)];
    }
    reject("LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS or 0 to 5");
  }

  Bytes bytes() const {
    const std::int64_t number = integer(1, std::int64_t{1} << 31);
    return {number};
  }
};

NetFilter read_net_filter(const Setting& setting) {
  NetFilter filter;
  std::string text = setting.value;
  const auto take = [&text](char mark) {
    if (!text.starts_with(mark)) return false;
    text.erase(0, 1);
    return true;
  };
  filter.exclude = take('^');
  filter.exact = take('=');
  for (const std::string& entry : split(text, ',')) {
    filter.names.push_back(entry.substr(0, entry.find(':')));  // the port does not matter
  }
  if (filter.names.empty()) setting.reject("names of NICs, as in mlx5_0,mlx5_1 or ^mlx5_2");
  return filter;
}

void read_thread_thresholds(const Setting& setting, NcclEnvironment& environment) {
  std::istringstream stream(setting.value);
  std::int64_t number = 0;
  std::size_t place = 0;
  while (stream >> number) {
    if (place == 2 * protocol_count) setting.reject("up to six numbers");
    if (number >= 0) {
      environment.thread_thresholds[place / protocol_count][place % protocol_count] = number;
    }
    ++place;
  }
  if (!stream.eof() || place == 0) {
    setting.reject("up to six numbers with spaces between: tree LL, LL128, Simple, then ring");
  }
}

/// Recordings lose their paths on the way here (call_of()).
std::filesystem::path read_path(const Setting& setting, NcclEnvironment& environment) {
  if (setting.value.empty()) {
    environment.warnings.push_back(fmt::format(
        "{}: no file is opened; one that a recording names is of its own machine", setting.name));
  }
  return setting.value;
}

void read_net(const Setting& setting, NcclEnvironment& environment) {
  if (setting.value == "Socket") {
    environment.socket_net = true;
  } else if (setting.value != "IB") {
    environment.warnings.push_back(fmt::format(
        "NCCL_NET={}: this plugin is not known; the NICs of the machine are used", setting.value));
  }
}

/// How far apart NICs may be that NCCL makes one of (NCCL src/graph/topo.cc, ncclTopoGetFusionEnv).
void read_merge_level(const Setting& setting, NcclEnvironment& environment) {
  constexpr std::array beyond{"PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
  if (setting.version < NcclVersion{2, 24}) {
    environment.warnings.push_back(fmt::format("{}: NCCL reads it from 2.24 on", setting.name));
  } else if (setting.value == "LOC") {
    environment.merges_ports = false;
  } else if (std::find(beyond.begin(), beyond.end(), setting.value) != beyond.end()) {
    environment.warnings.push_back(
        fmt::format("{}={}: only ports of one NIC are merged here", setting.name, setting.value));
  } else if (setting.value != "PORT") {
    setting.reject("LOC, PORT, PIX, PXB, P2C, PXN, PHB or SYS");
  }
}

/// No published run tells what more queue pairs cost or gain: a connection is one flow all the
/// same.
void read_queue_pairs(const Setting& setting, bool several, NcclEnvironment& environment) {
  if (!several) return;
  environment.warnings.push_back(
      fmt::format("{}={}: a connection takes one path and costs as much as with one queue pair",
                  setting.name, setting.value));
}

/// Reads which members (algorithms, protocols) are allowed for which function. `find` gives the
/// member of a name.
template <typename Find, typename Allowed>
void keep(const Setting& setting, Find find, std::string_view names, Allowed& allowed) {
  const auto lists = parse_selection_list(
      setting.name, setting.value, setting.version,
      [&](std::string_view name) -> std::optional<std::size_t> {
        const auto found = find(name);
        return found ? std::optional(index_of(*found)) : std::nullopt;
      },
      names);
  for (std::size_t f = 0; f < nccl_function_count; ++f) {
    for (std::size_t i = 0; lists[f] && i < allowed[f].size(); ++i) {
      allowed[f][i] = lists[f]->allows(i);
    }
  }
}

void keep_algorithms(const Setting& setting, NcclEnvironment& environment) {
  keep(setting, find_nccl_algorithm, "Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT",
       environment.algorithm_allowed);
}

void keep_protocols(const Setting& setting, NcclEnvironment& environment) {
  keep(setting, find_nccl_protocol, "LL, LL128, Simple", environment.protocol_allowed);
}

/// Channels are limited by any of several names; the strictest wins (NCCL src/graph/connect.cc).
void raise_min_channels(const Setting& setting, NcclEnvironment& environment) {
  environment.min_channels = std::max(environment.min_channels, setting.count(0, 64));
}

void lower_max_channels(const Setting& setting, NcclEnvironment& environment) {
  environment.max_channels = std::min(environment.max_channels, setting.count(1, 64));
}

/// A variable that collsim models, and what reads its value.
struct Variable {
  std::string_view name;
  void (*read)(const Setting&, NcclEnvironment&);
};

constexpr auto known_variables = std::to_array<Variable>({
  {"NCCL_ALGO", keep_algorithms},
  {"NCCL_PROTO", keep_protocols},
  {"NCCL_MIN_NCHANNELS", raise_min_channels},
  {"NCCL_MIN_NRINGS", raise_min_channels},
  {"NCCL_MIN_CTAS", raise_min_channels},
  {"NCCL_MAX_NCHANNELS", lower_max_channels},
  {"NCCL_MAX_NRINGS", lower_max_channels},
  {"NCCL_MAX_CTAS", lower_max_channels},
  {"NCCL_NTHREADS",
   [](const Setting& s, NcclEnvironment& e) { e.threads = s.thread_count(64, 512); }},
  {"NCCL_LL128_NTHREADS",
   [](const Setting& s, NcclEnvironment& e) { e.ll128_threads = s.thread_count(160, 640); }},
  {"NCCL_THREAD_THRESHOLDS", read_thread_thresholds},
  {"NCCL_BUFFSIZE", [](const Setting& s, NcclEnvironment& e) { e.buffer_size[2] = s.bytes(); }},
  {"NCCL_LL_BUFFSIZE",
   [](const Setting& s, NcclEnvironment& e) { e.buffer_size[0] = s.bytes(); }},
  {"NCCL_LL128_BUFFSIZE",
   [](const Setting& s, NcclEnvironment& e) { e.buffer_size[1] = s.bytes(); }},
  {"NCCL_MIN_P2P_NCHANNELS",
   [](const Setting& s, NcclEnvironment& e) { e.min_message_channels = s.count(1, 64); }},
  {"NCCL_MAX_P2P_NCHANNELS",
   [](const Setting& s, NcclEnvironment& e) { e.max_message_channels = s.count(1, 64); }},
  {"NCCL_P2P_NVL_CHUNKSIZE",
   [](const Setting& s, NcclEnvironment& e) { e.nvlink_message_step = s.bytes(); }},
  {"NCCL_P2P_PCI_CHUNKSIZE",
   [](const Setting& s, NcclEnvironment& e) { e.pcie_message_step = s.bytes(); }},
  {"NCCL_P2P_NET_CHUNKSIZE",
   [](const Setting& s, NcclEnvironment& e) { e.network_message_step = s.bytes(); }},
  {"NCCL_P2P_LL_THRESHOLD",
   [](const Setting& s, NcclEnvironment& e) {
     e.message_ll_threshold.count = s.integer(0, 1 << 30);
   }},
  {"NCCL_NCHANNELS_PER_NET_PEER",
   [](const Setting& s, NcclEnvironment& e) { e.channels_per_net_peer = s.count(1, 64); }},
  {"NCCL_P2P_PER_CHANNEL_NET_BW",
   [](const Setting& s, NcclEnvironment& e) {
     e.message_channel_bandwidth = s.integer(1, 1'000'000);
     if (s.version < NcclVersion{2, 29, 2}) {
       e.warnings.push_back(fmt::format("{}: NCCL reads it from 2.29.2 on", s.name));
     }
   }},
  {"NCCL_P2P_LEVEL",
   [](const Setting& s, NcclEnvironment& e) {
     if (!e.p2p_level) e.p2p_level = s.level();
   }},
  {"NCCL_P2P_DISABLE",  // comes before NCCL_P2P_LEVEL, and wins
   [](const Setting& s, NcclEnvironment& e) {
     if (s.flag()) e.p2p_level = PathType::loc;
   }},
  {"NCCL_SHM_DISABLE", [](const Setting& s, NcclEnvironment& e) { e.shm_disabled = s.flag(); }},
  {"NCCL_NVB_DISABLE", [](const Setting& s, NcclEnvironment& e) { e.nvb_disabled = s.flag(); }},
  {"NCCL_CROSS_NIC",
   [](const Setting& s, NcclEnvironment& e) {
     e.cross_nic = static_cast<int>(s.integer(0, 2));
   }},
  {"NCCL_PXN_DISABLE", [](const Setting& s, NcclEnvironment& e) { e.pxn_disabled = s.flag(); }},
  {"NCCL_P2P_PXN_LEVEL",
   [](const Setting& s, NcclEnvironment& e) {
     e.message_pxn_level = static_cast<int>(s.integer(0, 2));
   }},
  {"NCCL_LL128_C2C", [](const Setting& s, NcclEnvironment& e) { e.ll128_over_c2c = s.flag(); }},
  {"NCCL_NET_GDR_C2C", [](const Setting& s, NcclEnvironment& e) { e.gdr_over_c2c = s.flag(); }},
  {"NCCL_PXN_C2C", [](const Setting& s, NcclEnvironment& e) { e.pxn_over_c2c = s.flag(); }},
  {"NCCL_NET_GDR_LEVEL", [](const Setting& s, NcclEnvironment& e) { e.gdr_level = s.level(); }},
  {"NCCL_NVLS_ENABLE",
   [](const Setting& s, NcclEnvironment& e) { e.nvls_enabled = s.integer(0, 2) != 0; }},
  {"NCCL_NVLS_NCHANNELS",
   [](const Setting& s, NcclEnvironment& e) { e.nvls_channels = s.count(1, 64); }},
  {"NCCL_NVLS_CHUNKSIZE",
   [](const Setting& s, NcclEnvironment& e) { e.nvls_chunk = s.bytes(); }},
  {"NCCL_NVLSTREE_MAX_CHUNKSIZE",
   [](const Setting& s, NcclEnvironment& e) {
     if (s.version >= NcclVersion{2, 20}) e.nvls_tree_chunk = s.bytes();
   }},
  {"NCCL_COLLNET_ENABLE",
   [](const Setting& s, NcclEnvironment& e) { e.collnet_enabled = s.flag(); }},
  {"NCCL_COLLNET_NODE_THRESHOLD",
   [](const Setting& s, NcclEnvironment& e) {
     e.collnet_node_threshold = s.count(0, 1 << 30);
   }},
  {"NCCL_PAT_ENABLE",
   [](const Setting& s, NcclEnvironment& e) { e.pat = static_cast<int>(s.integer(0, 2)); }},
  {"NCCL_NET_OVERHEAD",
   [](const Setting& s, NcclEnvironment& e) {
     e.net_overhead = static_cast<double>(s.integer(0, 1'000'000'000)) / 1000;
   }},
  {"NCCL_IB_HCA", [](const Setting& s, NcclEnvironment& e) { e.nets = read_net_filter(s); }},
  {"NCCL_IB_MERGE_NICS",
   [](const Setting& s, NcclEnvironment& e) { e.merges_ports = s.flag() && e.merges_ports; }},
  {"NCCL_NET_MERGE_LEVEL", read_merge_level},
  {"NCCL_IB_DISABLE", [](const Setting& s, NcclEnvironment& e) { e.ib_disabled = s.flag(); }},
  {"NCCL_NET", read_net},
  {"NCCL_TUNER_PLUGIN",
   [](const Setting& s, NcclEnvironment& e) { e.tuner = s.value != "none"; }},
  {"NCCL_SOCKET_NTHREADS",
   [](const Setting& s, NcclEnvironment& e) { e.socket_threads = s.count(0, 16); }},
  {"NCCL_NSOCKS_PERTHREAD",
   [](const Setting& s, NcclEnvironment& e) { e.streams_per_thread = s.count(1, 64); }},
  {"NCCL_IB_QPS_PER_CONNECTION",
   [](const Setting& s, NcclEnvironment& e) { read_queue_pairs(s, s.count(1, 128) > 1, e); }},
  {"NCCL_IB_SPLIT_DATA_ON_QPS",
   [](const Setting& s, NcclEnvironment& e) { read_queue_pairs(s, s.flag(), e); }},
  {"NCCL_TOPO_FILE",
   [](const Setting& s, NcclEnvironment& e) { e.topology_file = read_path(s, e); }},
  {"NCCL_GRAPH_FILE",
   [](const Setting& s, NcclEnvironment& e) { e.graph_file = read_path(s, e); }},
});

const Variable* find_variable(std::string_view name) {
  const auto* const found = std::find_if(known_variables.begin(), known_variables.end(),
                                         [&](const Variable& each) { return each.name == name; });
  return found == known_variables.end() ? nullptr : found;
}

}  // namespace

bool NetFilter::allows(const std::string& name) const {
  if (names.empty()) return true;
  const bool listed = std::any_of(names.begin(), names.end(), [&](const std::string& each) {
    return exact ? name == each : name.starts_with(each);
  });
  return listed != exclude;
}

std::vector<std::string> modelled_nccl_variables() {
  std::vector<std::string> names;
  names.reserve(known_variables.size());
  for (const Variable& each : known_variables) names.emplace_back(each.name);
  std::sort(names.begin(), names.end());
  return names;
}

NcclEnvironment parse_nccl_environment(const std::map<std::string, std::string>& variables,
                                       NcclVersion version) {
  NcclEnvironment environment;
  for (auto& algorithms : environment.algorithm_allowed) algorithms.fill(true);
  // std::map hands them over by name, so that NCCL_P2P_DISABLE comes before NCCL_P2P_LEVEL.
  for (const auto& [name, value] : variables) {
    if (const Variable* const known = find_variable(name)) {
      known->read({name, value, version}, environment);
    } else {
      environment.warnings.push_back(fmt::format("{}: not modelled, changes nothing here", name));
    }
  }
  if (environment.min_channels > environment.max_channels) {
    environment.warnings.push_back(fmt::format(
        "at least {} channels of at most {}: NCCL cuts first, then duplicates, and runs {}",
        environment.min_channels, environment.max_channels, environment.min_channels));
  }
  return environment;
}

}  // namespace collsim
