#include "sim/topologies/topology_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "sim/topologies/name_run.h"

namespace collsim {

namespace {

/// Plain text in quotes: nothing in it means anything to YAML.
std::string quoted_text(std::string_view text) {
  constexpr std::string_view punctuation = " _-.,/()+:";
  std::string safe;
  for (const char letter : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                       punctuation.find(letter) != std::string_view::npos;
    safe += plain ? letter : '_';
  }
  return fmt::format("\"{}\"", safe);
}

/// Nine digits, so that what a reader makes of it is the same number for all purposes.
std::string rate_text(BytesPerSecond rate) {
  return fmt::format("{:.9g} GB/s", in_gigabytes_per_second(rate));
}

std::string name_text(const NameRun& run) {
  return run.first == run.last ? run.text() : fmt::format("\"{}\"", run.text());
}

std::string device_properties(const GraphDevice& device) {
  std::string text = fmt::format("kind: {}", to_string(device.kind));
  if (!device.model.empty()) text += fmt::format(", model: {}", quoted_text(device.model));
  if (device.port_rate.value > 0) {
    text += fmt::format(", rate: {:.9g} Gb/s", 8 * in_gigabytes_per_second(device.port_rate));
  }
  if (!device.gpudirect) text += ", gpudirect: false";
  if (!device.card.empty()) text += fmt::format(", card: {}", quoted_text(device.card));
  if (device.reduces) text += ", multicast: true";
  return text;
}

std::string devices_text(const std::vector<GraphDevice>& devices) {
  std::vector<std::pair<NameRun, std::string>> runs;
  for (const GraphDevice& device : devices) {
    NameRun next = run_of(device.name);
    std::string properties = device_properties(device);
    if (!runs.empty() && next.first >= 0 && runs.back().first.stem == next.stem &&
        runs.back().first.last + 1 == next.first && runs.back().second == properties) {
      runs.back().first.last = next.first;
    } else {
      runs.emplace_back(std::move(next), std::move(properties));
    }
  }
  std::string text = "  devices:\n";
  for (const auto& [run, properties] : runs) {
    text += fmt::format("    - {{ id: {}, {} }}\n", name_text(run), properties);
  }
  return text;
}

std::string links_text(const NodeTemplate& node) {
  if (node.links.empty()) return {};
  std::vector<LinkRun> runs;
  for (const GraphLink& link : node.links) {
    std::string properties = fmt::format("kind: {}", to_string(link.kind));
    if (link.count > 1) properties += fmt::format(", count: {}", link.count);
    properties += fmt::format(", bandwidth: {}", rate_text((1.0 / link.count) * link.bandwidth));
    if (link.latency.value > 0) {
      properties += fmt::format(", latency: {:.9g} us", in_microseconds(link.latency));
    }
    if (link.burst.size.count > 0) {
      properties += fmt::format(", burst: {{ size: {} B, peak: {} }}", link.burst.size.count,
                                rate_text(link.burst.peak));
    }
    LinkRun next{run_of(node.devices[link.from].name), run_of(node.devices[link.to].name),
                 std::move(properties)};
    if (runs.empty() || !try_extend(runs.back(), next)) runs.push_back(std::move(next));
  }
  std::string text = "  links:\n";
  for (const LinkRun& run : runs) {
    text += fmt::format("    - {{ from: {}, to: {}, {} }}\n", name_text(run.from),
                        name_text(run.to), run.properties);
  }
  return text;
}

std::string shares_text(const NodeTemplate& node) {
  if (node.shares.empty()) return {};
  std::string text = "  shared:\n";
  for (const GraphShare& share : node.shares) {
    std::string links;
    for (const GraphDirection direction : share.links) {
      const GraphLink& link = node.links[direction.link];
      const std::string& from = node.devices[direction.reversed ? link.to : link.from].name;
      const std::string& to = node.devices[direction.reversed ? link.from : link.to].name;
      links += fmt::format("{}\"{} -> {}\"", links.empty() ? "" : ", ", from, to);
    }
    text += fmt::format("    - {{ name: {}, bandwidth: {}, links: [{}] }}\n", share.name,
                        rate_text(share.bandwidth), links);
  }
  return text;
}

/// A group of equal nodes, its lines two spaces in.
std::string nodes_text(const NodeTemplate& node, std::uint32_t count) {
  return (count > 1 ? fmt::format("  count: {}\n", count) : std::string()) +
         devices_text(node.devices) + links_text(node) + shares_text(node);
}

/// The same lines as an item of a list.
std::string as_item(const std::string& lines) {
  std::string item;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    item += "  " + lines.substr(at, end - at);
    at = end;
  }
  item[2] = '-';
  return item;
}

}  // namespace

std::string topology_text(const ClusterText& cluster) {
  std::string text;
  for (const std::string& comment : cluster.comments) {
    std::string line = "# " + comment;
    std::replace_if(
        line.begin(), line.end(),
        [](char letter) { return std::isprint(static_cast<unsigned char>(letter)) == 0; }, '_');
    text += line + "\n";
  }
  text += fmt::format("collsim: topology/1\nname: {}\n", quoted_text(cluster.name));
  if (!cluster.calibration.empty()) text += fmt::format("calibration: {}\n", cluster.calibration);
  text += "nodes:\n";
  const std::string nodes = nodes_text(cluster.node, cluster.count);
  if (cluster.beside_count == 0) {
    text += nodes;
  } else {
    text += as_item(nodes) + as_item(nodes_text(cluster.beside, cluster.beside_count));
  }
  if (!cluster.fabric.empty()) text += fmt::format("fabric: {}\n", cluster.fabric);
  return text;
}

std::string flow_text(const YamlValue& value) {
  if (value.is_scalar()) {
    const std::string text = value.string();
    const bool plain = std::all_of(text.begin(), text.end(), [](char letter) {
      return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
             letter == '.' || letter == ' ' || letter == '/';
    });
    return plain && !text.empty() ? text : fmt::format("\"{}\"", text);
  }
  std::string text;
  const auto append = [&](const std::string& item) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", item);
  };
  if (value.is_sequence()) {
    for (const YamlValue& each : value.sequence()) append(flow_text(each));
    return fmt::format("[{}]", text);
  }
  const YamlMapping mapping = value.free_mapping();
  for (const auto& [key, each] : mapping.entries()) {
    if (key.string() != "collsim") append(fmt::format("{}: {}", key.string(), flow_text(each)));
  }
  return fmt::format("{{ {} }}", text);
}

}  // namespace collsim
