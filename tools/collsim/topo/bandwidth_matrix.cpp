#include "tools/collsim/topo/bandwidth_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ostream>

#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "sim/routing/routing.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

namespace {

constexpr std::size_t gpu_limit_of_matrix = 1'024;

BandwidthMatrix whole_matrix(const Topology& topology) {
  if (topology.gpus().size() > gpu_limit_of_matrix) {
    throw InputError(fmt::format("--pairs: the machine has {} GPUs", topology.gpus().size()),
                     "at most 1024 GPUs; without --pairs any number");
  }
  return bandwidth_matrix(topology, {topology.gpus().begin(), topology.gpus().end()});
}

}  // namespace

BandwidthMatrix bandwidth_matrix(const Topology& topology, const std::vector<DeviceId>& gpus) {
  const bool one_node = std::all_of(gpus.begin(), gpus.end(), [&](DeviceId id) {
    return topology.node_of(id) == topology.node_of(gpus.front());
  });
  BandwidthMatrix matrix;
  Router router(topology);
  for (const DeviceId from : gpus) {
    const std::string name = topology.device_name(from);
    matrix.gpus.push_back(one_node ? name.substr(name.find('/') + 1) : name);
    matrix.gigabytes.emplace_back();
    for (const DeviceId to : gpus) {
      const double rate =
          from == to ? 0 : in_gigabytes_per_second(router.route(from, to).bandwidth);
      matrix.gigabytes.back().push_back(rate);
    }
  }
  return matrix;
}

std::string matrix_text(const BandwidthMatrix& matrix) {
  std::size_t width = 6;
  for (const std::string& name : matrix.gpus) width = std::max(width, name.size());
  std::string text = fmt::format("  {:<{}}", "", width);
  for (const std::string& name : matrix.gpus) text += fmt::format(" {:>{}}", name, width);
  text += "\n";
  for (std::size_t from = 0; from < matrix.gpus.size(); ++from) {
    text += fmt::format("  {:<{}}", matrix.gpus[from], width);
    for (std::size_t to = 0; to < matrix.gpus.size(); ++to) {
      const std::string rate = from == to ? "-" : fmt::format("{:.4g}", matrix.gigabytes[from][to]);
      text += fmt::format(" {:>{}}", rate, width);
    }
    text += "\n";
  }
  return text;
}

void print_matrix_table(const Topology& topology, std::ostream& out) {
  out << "bandwidth between GPUs, GB/s\n" << matrix_text(whole_matrix(topology));
}

std::vector<Record> matrix_rows(const Topology& topology) {
  const BandwidthMatrix matrix = whole_matrix(topology);
  std::vector<Record> rows;
  for (std::size_t from = 0; from < matrix.gpus.size(); ++from) {
    rows.push_back({{"from", matrix.gpus[from]}});
    for (std::size_t to = 0; to < matrix.gpus.size(); ++to) {
      rows.back()[matrix.gpus[to]] = matrix.gigabytes[from][to];
    }
  }
  return rows;
}

Record matrix_record(const Topology& topology) {
  const BandwidthMatrix matrix = whole_matrix(topology);
  return {{"machine", topology.name()},
          {"gpus", matrix.gpus},
          {"bandwidth_GBps", matrix.gigabytes},
          {"collsim_version", COLLSIM_VERSION}};
}

}  // namespace collsim::command
