#include "tools/collsim/choose/choice_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/base/input_error.h"
#include "sim/base/json_text.h"

namespace collsim::command {

namespace {

constexpr int min_log2_size = 3;
constexpr int max_log2_size = 33;

struct NamedGraph {
  const char* name;
  const NcclGraph* graph;
  bool with_channels;  ///< whether golden output lists its channels
};

std::vector<NamedGraph> named_graphs(const NcclGraphs& graphs) {
  std::vector<NamedGraph> named{{"ring", &graphs.ring, true},
                                {"tree", &graphs.tree, true},
                                {"collnet", &graphs.collnet_chain, false},
                                {"collnetd", &graphs.collnet_direct, false},
                                {"nvls", &graphs.nvls, false}};
  std::erase_if(named, [](const NamedGraph& each) { return each.graph->channels.empty(); });
  return named;
}

bool any_bandwidth(const PerProtocol<Tuning>& row) {
  return std::any_of(row.begin(), row.end(), [](const Tuning& each) { return each.bandwidth > 0; });
}

std::string channel_text(const Nccl& nccl, const GraphChannel& channel) {
  const NcclSystem& system = nccl.system();
  const auto net_text = [&](const std::optional<std::uint32_t>& net) {
    if (!net || nccl.nodes() == 1) return std::string();
    const std::uint32_t node = system.of_kind(NcclNodeKind::net)[*net];
    return fmt::format(" NET{}", system.node(node).net.device);
  };
  std::string text = net_text(channel.first_net);
  for (const std::uint32_t gpu : channel.gpus) {
    text += fmt::format(" {}", system.gpu(gpu).gpu.rank);
  }
  return text + net_text(channel.last_net);
}

void print_graph(const NamedGraph& named, std::ostream& out) {
  const NcclGraph& graph = *named.graph;
  fmt::print(out,
             "{:<6} pattern {} crossNic {} nCh {} bwIntra {:.2f} bwInter {:.2f} typeIntra {} "
             "typeInter {} same {}\n",
             named.name, static_cast<int>(graph.pattern), graph.cross_nic, graph.channel_count(),
             graph.intra_bandwidth, graph.inter_bandwidth, to_string(graph.intra_type),
             to_string(graph.inter_type), graph.same_channels ? 1 : 0);
}

void print_graphs(const Nccl& nccl, std::ostream& out) {
  const auto graphs = named_graphs(nccl.graphs());
  for (const NamedGraph& named : graphs) print_graph(named, out);
  for (const NamedGraph& named : graphs) {
    if (!named.with_channels) continue;
    for (std::uint32_t c = 0; c < named.graph->channel_count(); ++c) {
      fmt::print(out, " {} ch{:>2}:{}\n", named.name, c,
                 channel_text(nccl, named.graph->channels[c]));
    }
  }
}

void print_tuning(const Nccl& nccl, std::ostream& out) {
  for (const NcclFunction function : all_nccl_functions) {
    for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
      const auto& row = nccl.table()[index_of(function)][index_of(algorithm)];
      if (!any_bandwidth(row)) continue;
      fmt::print(out, "{:<13} {:<10}", nccl_name(function), nccl_name(algorithm));
      for (const Protocol protocol : all_nccl_protocols) {
        const Tuning& cell = row[index_of(protocol)];
        fmt::print(out, "{}{} {:.2f}/{:.3f}", protocol == Protocol::ll ? " " : "  ",
                   to_string(protocol), cell.latency, cell.bandwidth);
      }
      fmt::print(out, "\n");
    }
  }
}

void print_sweep(const Nccl& nccl, std::ostream& out) {
  for (const NcclFunction function : all_nccl_functions) {
    const auto sweep = selection_sweep(nccl, function);
    if (sweep.empty()) continue;
    fmt::print(out, "select {}:", nccl_name(function));
    for (const Switch& each : sweep) {
      fmt::print(out, " 2^{}=>{}/{}({:.1f}us)", each.log2_size, nccl_name(each.algorithm),
                 to_string(each.protocol), each.time);
    }
    fmt::print(out, "\n");
  }
}

/// Equal neighbours share a line: "channels 0-11 0 1 2 3".
template <typename Text, typename Equal>
void print_runs(std::size_t count, const char* what, Text text, Equal equal, std::ostream& out) {
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin + 1;
    while (end < count && equal(begin, end)) ++end;
    fmt::print(out, "  {} {:<7}{}\n", what, fmt::format("{}-{}", begin, end - 1), text(begin));
    begin = end;
  }
}

void append_number(std::string& text, Rank rank) {
  const fmt::format_int digits(rank);
  text.append(digits.data(), digits.size());
}

std::string ring_text(const std::vector<Rank>& ring) {
  std::string text;
  for (const Rank rank : ring) {
    text += ' ';
    append_number(text, rank);
  }
  return text;
}

/// "child<parent" of every rank but the root.
std::string tree_text(const RootedTree& tree) {
  std::string text;
  for (Rank rank = 0; rank < tree.size(); ++rank) {
    text += ' ';
    append_number(text, rank);
    if (tree.parent[rank]) {
      text += '<';
      append_number(text, *tree.parent[rank]);
    } else {
      text += "=root";
    }
  }
  return text;
}

}  // namespace

std::vector<Switch> selection_sweep(const Nccl& nccl, NcclFunction function) {
  std::vector<Switch> sweep;
  for (int log2_size = min_log2_size; log2_size <= max_log2_size; ++log2_size) {
    const Bytes size{std::int64_t{1} << log2_size};
    std::optional<Candidate> best;
    for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
      for (const Protocol protocol : all_nccl_protocols) {
        const auto time = nccl.estimate(function, algorithm, protocol, size);
        if (time && (!best || *time < best->time)) best = {algorithm, protocol, *time};
      }
    }
    if (!best) return {};
    if (sweep.empty() || sweep.back().algorithm != best->algorithm ||
        sweep.back().protocol != best->protocol) {
      sweep.push_back({log2_size, best->algorithm, best->protocol, best->time});
    }
  }
  return sweep;
}

void print_golden(const Nccl& nccl, const std::string& name, std::ostream& out) {
  const SystemBandwidth bandwidth = nccl.bandwidth();
  fmt::print(out, "== {} nNodes {} ngpus {} nnets {} maxBw {:.1f} totalBw {:.1f}\n", name,
             nccl.nodes(), nccl.system().gpu_count(),
             nccl.system().of_kind(NcclNodeKind::net).size(), bandwidth.per_channel,
             bandwidth.total);
  print_graphs(nccl, out);
  fmt::print(out, "collChannels {}\n", nccl.channel_count());
  print_tuning(nccl, out);
  print_sweep(nccl, out);
}

void print_choice_table(const Nccl& nccl, const std::string& name, std::ostream& out) {
  const SystemBandwidth bandwidth = nccl.bandwidth();
  const auto& channels = nccl.channels().channels;
  fmt::print(out, "{}: NCCL {} on {} node{} of {} GPUs and {} NICs\n", name,
             to_string(nccl.version()), nccl.nodes(), nccl.nodes() == 1 ? "" : "s",
             nccl.system().gpu_count(), nccl.system().of_kind(NcclNodeKind::net).size());
  fmt::print(out, "limits: {:.1f} GB/s per channel, {:.1f} GB/s per GPU\n\nsearch graphs\n",
             bandwidth.per_channel, bandwidth.total);
  print_graphs(nccl, out);
  fmt::print(out, "\n{} channels", channels.size());
  if (nccl.nvls_channels() > 0) fmt::print(out, ", {} for NVLS", nccl.nvls_channels());
  fmt::print(out, "\n");
  print_runs(
      channels.size(), "rings", [&](std::size_t c) { return ring_text(channels[c].ring); },
      [&](std::size_t a, std::size_t b) { return channels[a].ring == channels[b].ring; }, out);
  print_runs(
      channels.size(), "trees", [&](std::size_t c) { return tree_text(channels[c].tree); },
      [&](std::size_t a, std::size_t b) {
        return channels[a].tree.parent == channels[b].tree.parent;
      },
      out);
  fmt::print(out, "\nlatency in us / bandwidth in GB/s\n");
  print_tuning(nccl, out);
  fmt::print(out, "\nchoice by size (bytes as in NCCL's tuning) and NCCL's estimate\n");
  print_sweep(nccl, out);
}

namespace {

using Json = nlohmann::ordered_json;

Json graphs_json(const Nccl& nccl) {
  Json graphs;
  for (const NamedGraph& named : named_graphs(nccl.graphs())) {
    const NcclGraph& graph = *named.graph;
    Json entry{{"pattern", static_cast<int>(graph.pattern)},
               {"cross_nic", graph.cross_nic},
               {"intra_bandwidth_GBps", graph.intra_bandwidth},
               {"inter_bandwidth_GBps", graph.inter_bandwidth},
               {"intra_type", to_string(graph.intra_type)},
               {"inter_type", to_string(graph.inter_type)},
               {"same_channels", graph.same_channels},
               {"channels", Json::array()}};
    for (const GraphChannel& channel : graph.channels) entry["channels"].push_back(channel.gpus);
    graphs[named.name] = std::move(entry);
  }
  return graphs;
}

Json channels_json(const Nccl& nccl) {
  Json channels = Json::array();
  for (const NcclChannel& channel : nccl.channels().channels) {
    Json parents = Json::array();
    for (const auto& parent : channel.tree.parent) {
      parents.push_back(parent ? Json(*parent) : Json());
    }
    channels.push_back({{"ring", channel.ring}, {"tree_parent", std::move(parents)}});
  }
  return channels;
}

void add_tuning(const Nccl& nccl, NcclFunction function, Json& tuning) {
  for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
    for (const Protocol protocol : all_nccl_protocols) {
      const Tuning& cell = nccl.tuning(function, algorithm, protocol);
      if (cell.bandwidth <= 0) continue;
      tuning.push_back({{"function", nccl_name(function)},
                        {"algorithm", nccl_name(algorithm)},
                        {"protocol", to_string(protocol)},
                        {"latency_us", cell.latency},
                        {"bandwidth_GBps", cell.bandwidth}});
    }
  }
}

void add_selection(const Nccl& nccl, NcclFunction function, Json& selection) {
  for (const Switch& each : selection_sweep(nccl, function)) {
    const Bytes size{std::int64_t{1} << each.log2_size};
    const LaunchSize launch = nccl.launch(each.algorithm, each.protocol, size);
    selection.push_back({{"function", nccl_name(function)},
                         {"from_size_bytes", size.count},
                         {"algorithm", nccl_name(each.algorithm)},
                         {"protocol", to_string(each.protocol)},
                         {"channels", launch.channels},
                         {"threads", launch.threads},
                         {"nccl_estimate_us", each.time}});
  }
}

}  // namespace

Record choice_record(const Nccl& nccl, const std::string& name) {
  Json document{{"machine", name},
                {"nccl_version", to_string(nccl.version())},
                {"nodes", nccl.nodes()},
                {"gpus_per_node", nccl.system().gpu_count()},
                {"max_channel_bandwidth_GBps", nccl.bandwidth().per_channel},
                {"total_bandwidth_GBps", nccl.bandwidth().total},
                {"collsim_version", COLLSIM_VERSION},
                {"graphs", graphs_json(nccl)},
                {"channels", channels_json(nccl)},
                {"tuning", Json::array()},
                {"selection", Json::array()}};
  for (const NcclFunction function : all_nccl_functions) {
    add_tuning(nccl, function, document["tuning"]);
    add_selection(nccl, function, document["selection"]);
  }
  return document;
}

}  // namespace collsim::command
