#include "tools/collsim/diagnose/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "models/recordings/readers.h"
#include "sim/base/median.h"
#include "tools/collsim/diagnose/like_runs.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

namespace {

/// How many NICs a value of NCCL_IB_HCA names; 0 where it excludes some, or gives what several
/// names begin with.
std::size_t nics_named(const std::string& value) {
  const std::set<std::string> names = named_ports(value);
  const bool are_nics = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    const bool is_driver = name == "mlx4" || name == "mlx5";  // all of its NICs
    return !is_driver && std::isdigit(static_cast<unsigned char>(name.back())) != 0;
  });
  return are_nics ? names.size() : 0;
}

/// How many NICs with RDMA a host has.
std::size_t nics_of_host(const Topology& topology) {
  const std::vector<GraphDevice>& devices = topology.node(0).graph->graph().devices;
  return static_cast<std::size_t>(
      std::count_if(devices.begin(), devices.end(), [](const GraphDevice& device) {
        return device.kind == DeviceKind::nic && device.gpudirect;
      }));
}

/// NCCL_IB_HCA where a run chose some NICs of a host by their names, as our machine takes it: of
/// its own NICs as many, evenly chosen. Empty where it did not.
std::string chosen_of_ours(const std::string& value, const Topology& topology) {
  const std::size_t named = nics_named(value);
  const std::size_t all = nics_of_host(topology);
  if (named == 0 || named >= all) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < named; ++i) {
    names.push_back(fmt::format("mlx5_{}", i * all / named));
  }
  return fmt::format("={}", fmt::join(names, ","));
}

/// Says once what stands for NICs that a host may name otherwise.
void add_note_of_nics(const std::string& chosen, const std::string& ours, Evidence& evidence) {
  std::string note =
      fmt::format("NCCL_IB_HCA={} was set; what is expected has as many NICs of this machine, {}",
                  chosen, ours);
  const auto found = std::find(evidence.notes.begin(), evidence.notes.end(), note);
  if (found == evidence.notes.end()) evidence.notes.push_back(std::move(note));
}

/// The variables of a row that are heeded, and those that are not, which go to `evidence`. A choice
/// of NICs is the asker's, and no fault: what is expected has as few.
std::map<std::string, std::string> heeded(const Recording& recording, const RecordedRow& row,
                                          const LogFacts& facts, const Topology& topology,
                                          Evidence& evidence) {
  std::map<std::string, std::string> variables = row.variables;
  for (const auto& [name, value] : facts.variables) {
    if (changes_what_nccl_does(name)) variables.emplace(name, value);
  }
  for (auto each = variables.begin(); each != variables.end();) {
    auto& [name, value] = *each;
    bool is_heeded = !takes_transport_away(name);
    if (name == "NCCL_IB_HCA") {
      // What the machine of a recording has, where ours has more, the run itself did not set.
      const std::string ours =
          recording.simulated_variables.contains(name) ? value : chosen_of_ours(value, topology);
      is_heeded = !ours.empty();
      if (is_heeded && ours != value) add_note_of_nics(std::exchange(value, ours), ours, evidence);
    }
    if (!is_heeded) evidence.taken_away.insert(*each);
    each = is_heeded ? std::next(each) : variables.erase(each);
  }
  return variables;
}

void leave_out(const RecordedRow& row, const std::string& reason, Evidence& evidence) {
  LeftOut& left_out = evidence.left_out[reason];
  if (left_out.rows++ == 0) left_out.first_id = row.id;
}

/// The rows of one size and place; `measured` is the sum of their logarithms.
void add(const RecordedRow& row, EvidencePoint& point) {
  if (point.rows == 0) point = {row.size, {}, row.longest(), 0, row.line};
  ++point.rows;
  point.fastest = std::min(point.fastest, row.longest());
  point.measured.value += std::log(row.time.value);
}

Seconds mean_of(const EvidencePoint& point) {
  return {std::exp(point.measured.value / static_cast<double>(point.rows))};
}

/// What was measured out of place and in place at one size.
using PlacesOfSize = std::array<EvidencePoint, 2>;

/// What was measured of one call in one table, or in several that are alike.
using Table = std::map<Bytes, PlacesOfSize>;

void join(const Table& table, Table& all) {
  for (const auto& [size, places] : table) {
    for (std::size_t place = 0; place < places.size(); ++place) {
      const EvidencePoint& more = places[place];
      EvidencePoint& point = all[size][place];
      if (more.rows == 0) continue;
      if (point.rows == 0) {
        point = more;
        continue;
      }
      point.rows += more.rows;
      point.fastest = std::min(point.fastest, more.fastest);
      point.measured.value += more.measured.value;
    }
  }
}

/// The middle one of how far two tables are apart at the sizes that both have and bandwidth bounds,
/// or at all where there are none, as a logarithm.
double distance(const Table& one, const Table& other) {
  std::vector<double> small;
  std::vector<double> large;
  for (const auto& [size, places] : one) {
    const auto found = other.find(size);
    if (found == other.end()) continue;
    for (std::size_t place = 0; place < places.size(); ++place) {
      const EvidencePoint& a = places[place];
      const EvidencePoint& b = found->second[place];
      if (a.rows == 0 || b.rows == 0) continue;
      const double apart = std::abs(std::log(mean_of(a).value / mean_of(b).value));
      (size < bandwidth_bound ? small : large).push_back(apart);
    }
  }
  return median(large.empty() ? std::move(small) : std::move(large));
}

/// The tables of one call, those that are alike as one.
std::vector<Table> joined_alike(const std::map<std::string, Table>& tables) {
  std::vector<Table> unlike;
  for (const auto& one : tables) {
    const Table& table = one.second;
    const auto found = std::find_if(unlike.begin(), unlike.end(), [&](const Table& each) {
      return distance(each, table) <= std::log(tables_apart);
    });
    join(table, found == unlike.end() ? unlike.emplace_back() : *found);
  }
  return unlike;
}

/// One point, or two where both were measured and are far apart.
void append_points(const PlacesOfSize& of_size, std::vector<EvidencePoint>& points) {
  std::array<std::optional<Seconds>, 2> means;
  EvidencePoint both;
  for (std::size_t place = 0; place < of_size.size(); ++place) {
    const EvidencePoint& each = of_size[place];
    if (each.rows == 0) continue;
    means[place] = mean_of(each);
    if (both.rows == 0) both = {each.size, {}, each.fastest, 0, each.line};
    both.rows += each.rows;
    both.fastest = std::min(both.fastest, each.fastest);
    both.measured.value += each.measured.value;
  }
  both.measured = mean_of(both);
  both.places = means;
  const bool are_apart =
      means[0] && means[1] &&
      std::abs(std::log(means[0]->value / means[1]->value)) > std::log(places_apart);
  if (!are_apart) {
    points.push_back(both);
    return;
  }
  for (std::size_t place = 0; place < of_size.size(); ++place) {
    EvidencePoint& point = points.emplace_back(of_size[place]);
    point.measured = *means[place];
    point.places = means;
    point.in_place = place == 1;
  }
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
  std::map<RecordedCall, std::map<std::string, Table>> tables;  // by the row's id
  for (const RecordedRow& recorded : recording.rows) {
    RecordedRow row = hosts.with_defaults(recorded);
    row.variables = heeded(recording, row, facts, topology, evidence);
    const std::string reason = why_left_out(row, hosts, any);
    if (!reason.empty()) {
      leave_out(row, reason, evidence);
      continue;
    }
    add(row, tables[call_of(row)][row.id][row.size][row.in_place ? 1 : 0]);
  }
  for (const auto& [call, of_call] : tables) {
    const std::vector<Table> unlike = joined_alike(of_call);
    for (const Table& table : unlike) {
      EvidenceSeries& series = evidence.series.emplace_back();
      series.call = call;
      for (const auto& [size, places] : table) append_points(places, series.points);
    }
    if (unlike.size() == 1) continue;
    evidence.notes.push_back(fmt::format(
        "{} tables of {} are more than {:.0f} % apart, so that each is held against the machine by "
        "itself: something differs that the log does not show",
        unlike.size(), to_string(call.collective), 100 * (tables_apart - 1)));
  }
  return evidence;
}

}  // namespace collsim
