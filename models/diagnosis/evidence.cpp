#include "models/diagnosis/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "models/recordings/readers.h"

namespace collsim {

namespace {

/// The variables of a row that are heeded, and those that are not, which go to `evidence`.
std::map<std::string, std::string> heeded(std::map<std::string, std::string> variables,
                                          const LogFacts& facts, Evidence& evidence) {
  for (const auto& [name, value] : facts.variables) {
    if (changes_what_nccl_does(name)) variables.emplace(name, value);
  }
  for (auto each = variables.begin(); each != variables.end();) {
    if (takes_transport_away(each->first)) {
      evidence.taken_away.insert(*each);
      each = variables.erase(each);
    } else {
      ++each;
    }
  }
  return variables;
}

void leave_out(const RecordedRow& row, const std::string& reason, Evidence& evidence) {
  LeftOut& left_out = evidence.left_out[reason];
  if (left_out.rows++ == 0) left_out.first_id = row.id;
}

void add(const RecordedRow& row, EvidencePoint& point) {
  if (point.rows == 0) point = {row.size, {}, row.time, 0, 0, row.line};
  ++point.rows;
  point.wrong += row.wrong ? 1U : 0U;
  point.fastest = std::min(point.fastest, row.time);
  point.measured.value += std::log(row.time.value);  // a sum until all rows are there
}

}  // namespace

bool takes_transport_away(const std::string& variable) {
  constexpr std::array<std::string_view, 13> names{
      "NCCL_P2P_DISABLE",   "NCCL_P2P_LEVEL",    "NCCL_SHM_DISABLE", "NCCL_NET_GDR_LEVEL",
      "NCCL_NET_GDR_READ",  "NCCL_IB_DISABLE",   "NCCL_NET",         "NCCL_IB_HCA",
      "NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_NET_PLUGIN",  "NCCL_TOPO_FILE",
      "NCCL_GRAPH_FILE"};
  return std::find(names.begin(), names.end(), variable) != names.end();
}

Evidence gather_evidence(const Recording& recording, const LogFacts& facts,
                         const Topology& topology) {
  Evidence evidence;
  const Hosts hosts(topology);
  ValidationOptions any;
  any.mode.reset();
  std::map<RecordedCall, std::map<Bytes, EvidencePoint>> points;
  for (const RecordedRow& recorded : recording.rows) {
    RecordedRow row = hosts.settled(recorded);
    row.variables = heeded(row.variables, facts, evidence);
    const bool wrong = row.wrong;
    evidence.wrong += wrong ? 1U : 0U;
    row.wrong = false;  // why_left_out() would leave it out
    const std::string reason = why_left_out(row, hosts, any);
    if (!reason.empty()) {
      leave_out(row, reason, evidence);
      continue;
    }
    row.wrong = wrong;
    add(row, points[call_of(row)][row.size]);
  }
  for (auto& [call, by_size] : points) {
    EvidenceSeries& series = evidence.series.emplace_back();
    series.call = call;
    for (auto& [size, point] : by_size) {
      point.measured.value = std::exp(point.measured.value / static_cast<double>(point.rows));
      series.points.push_back(point);
    }
  }
  return evidence;
}

}  // namespace collsim
