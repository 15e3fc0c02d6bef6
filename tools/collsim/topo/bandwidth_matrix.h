#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/topologies/topology.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

/// The bandwidth of a single transfer between GPUs: the minimum of the links on its route.
struct BandwidthMatrix {
  std::vector<std::string> gpus;               ///< names, without the node if there is only one
  std::vector<std::vector<double>> gigabytes;  ///< GB/s, [from][to]; 0 from a GPU to itself
};

/// The matrix of these GPUs.
BandwidthMatrix bandwidth_matrix(const Topology& topology, const std::vector<DeviceId>& gpus);

/// The matrix as indented text:
///
///              gpu0   gpu1
///     gpu0        -  478.1
///     gpu1    478.1      -
std::string matrix_text(const BandwidthMatrix& matrix);

// The matrix of all GPUs. Throw InputError for more than 1024.
void print_matrix_table(const Topology& topology, std::ostream& out);
/// A row for every GPU: `from`, and GB/s to each GPU.
std::vector<Record> matrix_rows(const Topology& topology);
/// {"machine": "...", "gpus": [...], "bandwidth_GBps": [[...], ...]}
Record matrix_record(const Topology& topology);

}  // namespace collsim::command
