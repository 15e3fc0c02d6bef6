// What a slow port costs, wherever it is: never less than the bytes that the plan sends through it
// at its rate, never less than nothing, and nothing where no bytes pass. Drawn machines, calls and
// places. COLLSIM_SLOW_PORTS=1000 draws so many calls, COLLSIM_SEED others.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "models/imports/machine.h"
#include "models/machine/resource_load.h"
#include "models/predict/predictor.h"
#include "models/simulate/likely_seconds.h"

namespace collsim {
namespace {

/// Of formulas, and of which nodes stand for all; a slow port may reorder events.
constexpr double noise = 1e-2;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::stoull(text) : otherwise;
}

/// A cable by the kinds of what it joins, and whether it is inside a node.
using PlaceClass = std::tuple<DeviceKind, DeviceKind, bool>;

/// Draws machines, calls and places.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }
  template <typename Container>
  const auto& of(const Container& all) {
    return all[below(std::size(all))];
  }

  std::string machine() {
    static constexpr std::array boards{"dgx-h100", "dgx-h100", "dgx-a100",   "dgx-b200",
                                       "aws-p5",   "aws-p3dn", "dgx-1-v100", "gcp-a3-high"};
    static constexpr std::array others{"hgx-h200",
                                       "gb200-nvl72",
                                       "gb200-nvl72-x4",
                                       "dgx-h100-x16-sharp",
                                       "dgx-h100-x32-2-1",
                                       "dgx-h100-x8-rails",
                                       "dgx-h100-x64-oversubscribed",
                                       "pcie-8",
                                       "l40s-8-x4",
                                       "rtx4090-8-x4",
                                       "gh200-x16",
                                       "a100-mesh-4-x256"};
    static constexpr std::array nodes{2, 3, 5, 8, 16, 64, 65, 66, 72, 96, 128, 256, 512};
    if (below(4) == 0) return of(others);
    return fmt::format("{}-x{}", of(boards), of(nodes));
  }

  /// Of all nodes the ends, the middle, and any.
  std::uint32_t node(std::uint32_t nodes) {
    const std::array<std::uint32_t, 6> places{0, 1, nodes / 2, nodes - 1, 63, 64};
    const std::uint32_t place = below(2) == 0 ? of(places) : static_cast<std::uint32_t>(random_());
    return place % nodes;
  }

 private:
  std::mt19937_64 random_;
};

/// The links of a node and of the switches that its NICs lead to, one direction, by class.
std::map<PlaceClass, std::vector<LinkId>> places_at(const Topology& topology, std::uint32_t node) {
  std::map<PlaceClass, std::vector<LinkId>> places;
  std::vector<DeviceId> switches;
  const auto add = [&](LinkId id) {
    const Link link = topology.link(id);
    const bool inside = topology.node_of(link.from) == topology.node_of(link.to);
    places[{topology.device(link.from).kind, topology.device(link.to).kind, inside}].push_back(id);
    if (topology.node_of(link.to) < 0) switches.push_back(link.to);
  };
  const NodePart part = topology.node(node);
  const auto devices = static_cast<DeviceId>(part.graph->graph().devices.size());
  for (DeviceId device = part.first_device; device < part.first_device + devices; ++device) {
    for (const LinkId id : topology.links_from(device)) add(id);
  }
  const std::vector<DeviceId> leaves = switches;
  for (const DeviceId leaf : leaves) {
    for (const LinkId id : topology.fabric_links_from(leaf)) {
      if (topology.node_of(topology.link(id).to) < 0) add(id);
    }
  }
  return places;
}

/// One call and what it puts on each link.
struct Call {
  Call(const Topology& topology, Collective collective)
      : compiler({&topology,
                  calibration_for(topology),
                  collective,
                  {},
                  first_gpus(topology, static_cast<Rank>(topology.gpus().size()))}) {}

  CallCompiler compiler;
  std::optional<Candidate> pair;
  Bytes size;
  std::map<LinkId, double> seconds;  ///< that its bytes take on a link
  bool is_short = true;              ///< to simulate
};

/// Bytes on each resource. A long ring has millions of messages, as many bytes on every connection.
std::vector<double> loads_of(const CompiledCall& call) {
  const Wiring& wiring = call.wiring();
  const bool is_ring = call.nccl_choice && call.nccl_choice->algorithm == NcclAlgorithm::ring;
  const double ranks = call.compiler->ranks();
  const Collective collective = call.compiler->spec().collective;
  const ProtocolConstants cost = call.cost().fastest(call.protocol);
  if (!is_ring || has_root(collective) || ranks < 256)
    return resource_load(call.plan(), call.partition, wiring, cost).resources;
  const double turns = collective == Collective::all_reduce ? 2 : 1;
  const double bytes = 0.99 * turns * (ranks - 1) / ranks * cost.wire_factor *
                       static_cast<double>(call.size.count) / call.partition.channels();
  std::vector<double> loads(wiring.capacities.size());
  for (const std::vector<Wire>& wires : wiring.wires) {
    for (const Wire& wire : wires) {
      for (const ResourceId id : wire.resources) loads[id] += bytes;
      for (const ResourceId id : wire.network) loads[id] += bytes;
    }
  }
  return loads;
}

void lay(Call& call) {
  const CompiledCall plan =
      call.pair ? call.compiler.plan(call.size, *call.pair) : call.compiler.plan(call.size);
  const Wiring& wiring = plan.wiring();
  const std::vector<double> load = loads_of(plan);
  call.is_short = !takes_longer(plan, 0.3);
  for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
    if (wiring.origins[id].shared) continue;
    const double burst =
        id < wiring.bursts.size() ? static_cast<double>(wiring.bursts[id].size.count) : 0;
    call.seconds[wiring.origins[id].id] =
        std::max(0.0, load[id] - burst) / wiring.capacities[id].value;
  }
}

/// What NCCL may run for a call.
std::vector<Candidate> pairs_of(const CallCompiler& compiler) {
  std::vector<Candidate> pairs;
  const auto function = compiler.nccl_function();
  if (!function || compiler.nccl() == nullptr) return pairs;
  for (const NcclAlgorithm each :
       {NcclAlgorithm::tree, NcclAlgorithm::ring, NcclAlgorithm::collnet_direct,
        NcclAlgorithm::collnet_chain, NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree,
        NcclAlgorithm::pat}) {
    for (const Protocol protocol : {Protocol::simple, Protocol::ll128}) {
      if (!compiler.nccl()->why_not(*function, each, protocol)) pairs.push_back({each, protocol});
    }
  }
  return pairs;
}

using Time = std::function<std::optional<Seconds>(const CallCompiler&, const Call&)>;

/// Nothing where all of many ranks would be simulated.
std::optional<Seconds> simulated(const CallCompiler& compiler, const Call& call,
                                 SimulationBudget budget) {
  Predictor predictor(compiler, by_simulation(budget));
  if (compiler.ranks() > budget.max_ranks && !predictor.scales(call.size)) return std::nullopt;
  return predictor.predict(call.size, call.pair).time;
}

std::optional<Seconds> estimated(const CallCompiler& compiler, const Call& call) {
  Estimator estimator(compiler);
  return (call.pair ? estimator.estimate(call.size, *call.pair) : estimator.estimate(call.size))
      .time;
}

/// Whether formulas count what is not there: the hop of a ring that would lead on to its root.
bool counts_idle_hop(const Call& call) {
  return has_root(call.compiler.spec().collective) && call.pair &&
         call.pair->algorithm == NcclAlgorithm::ring;
}

/// What is wrong with an answer, or nothing.
std::string complaint(Seconds faulty, Seconds healthy, double needed, double share) {
  if (faulty.value < needed * (1 - noise))
    return fmt::format("takes {:.1f} us, its bytes {:.1f}, healthy {:.1f}", 1e6 * faulty.value,
                       1e6 * needed, 1e6 * healthy.value);
  if (faulty.value < healthy.value * (1 - 1e-3))
    return fmt::format("takes {:.2f} us, healthy {:.2f}", 1e6 * faulty.value, 1e6 * healthy.value);
  if (needed == 0 && faulty.value > healthy.value * (1 + noise))
    return fmt::format("takes {:.2f} us, healthy {:.2f}, though no bytes pass", 1e6 * faulty.value,
                       1e6 * healthy.value);
  if (faulty.value > healthy.value / share * 1.1)
    return fmt::format("takes {:.2f} us, healthy {:.2f}, more than 1/{} of it", 1e6 * faulty.value,
                       1e6 * healthy.value, share);
  return {};
}

/// A slow cable, one way or both.
struct SlowCable {
  LinkFault fault;
  std::string text;
};

/// Of some classes of places of a node.
std::vector<SlowCable> drawn_cables(const Topology& topology, Draw& draw) {
  constexpr std::array shares{0.1, 0.25, 0.5};
  std::vector<SlowCable> cables;
  const auto all = places_at(topology, draw.node(topology.node_count()));
  for (const auto& [place, links] : all) {
    const auto& [from, to, inside] = place;
    if (inside && from > to) continue;  // the way back of another
    if (all.size() > 3 && draw.below(all.size()) >= 3) continue;
    const LinkId link = draw.of(links);
    SlowCable& cable = cables.emplace_back();
    const std::size_t way = draw.below(4);
    if (way != 1) cable.fault.links.push_back(link);
    if (way != 2) cable.fault.links.push_back(topology.link(link).reverse);
    cable.fault.share = draw.of(shares);
    cable.text = fmt::format("{} at {}{}", topology.link_name(cable.fault.links.front()),
                             cable.fault.share, cable.fault.links.size() > 1 ? ", both ways" : "");
  }
  return cables;
}

/// How long the busiest of its links is busy with the call.
double seconds_needed(const Call& call, const LinkFault& fault) {
  double most = 0;
  for (const LinkId link : fault.links) {
    const auto of = call.seconds.find(link);
    if (of != call.seconds.end()) most = std::max(most, of->second);
  }
  return most / fault.share;
}

struct Count {
  int all = 0;
  int wrong = 0;
};

void try_cables(const Call& call, const std::vector<SlowCable>& cables, const std::string& label,
                const Time& time, Count& count) {
  const auto healthy = time(call.compiler, call);
  if (!healthy) return;
  for (const SlowCable& cable : cables) {
    MachineFaults faults;
    faults.links = {cable.fault};
    std::string wrong;
    try {
      const auto faulty = time(call.compiler.with_faults(faults), call);
      if (!faulty) continue;
      const double needed = seconds_needed(call, cable.fault);
      if (needed == 0 && counts_idle_hop(call)) continue;
      wrong = complaint(*faulty, *healthy, needed, cable.fault.share);
    } catch (const std::logic_error& error) {
      wrong = error.what();
    }
    ++count.all;
    if (wrong.empty()) continue;
    ++count.wrong;
    ADD_FAILURE() << label << ", " << cable.text << ": " << wrong;
  }
}

void try_call(Draw& draw, bool simulates, Count& count) {
  constexpr SimulationBudget budget{.max_ranks = 64, .max_seconds = 0.05};
  constexpr std::array<std::int64_t, 2> sizes{64 << 20, 1 << 30};
  const std::string name = draw.machine();
  const Topology topology = load_machine(name).topology;
  Collective collective = draw.of(all_collectives());
  if (collective == Collective::barrier) collective = Collective::all_reduce;  // of one element
  const bool has_function = !has_root(collective) && collective != Collective::all_to_all;
  if (!has_function && topology.gpus().size() > 512) return;  // laying them out takes long
  Call call(topology, collective);
  const std::vector<Candidate> pairs = pairs_of(call.compiler);
  if (!pairs.empty()) call.pair = draw.of(pairs);
  call.size = Bytes{has_function ? draw.of(sizes) : sizes.front()};
  lay(call);
  const std::string label =
      fmt::format("{} of {} on {}{}", to_string(collective), to_string(call.size), name,
                  call.pair ? fmt::format(" by {} {}", to_string(call.pair->algorithm),
                                          to_string(call.pair->protocol))
                            : "");
  const std::vector<SlowCable> cables = drawn_cables(topology, draw);
  if (!simulates) {
    try_cables(call, cables, label, estimated, count);
  } else if (call.compiler.ranks() > budget.max_ranks || call.is_short) {
    const auto simulate = [&](const CallCompiler& compiler, const Call& each) {
      return simulated(compiler, each, budget);
    };
    try_cables(call, cables, label, simulate, count);
  }
}

void walk(std::uint64_t calls, bool simulates) {
  Draw draw(number_of("COLLSIM_SEED", 1));
  Count count;
  calls = number_of("COLLSIM_SLOW_PORTS", calls);
  for (std::uint64_t i = 0; i < calls; ++i) try_call(draw, simulates, count);
  std::cout << count.wrong << " of " << count.all << " slow cables cost too little or too much\n";
  EXPECT_GT(count.all, 0);
}

TEST(SlowPorts, cost_what_must_pass_through_them_as_estimated) {
  walk(30, false);
}

TEST(SlowPorts, cost_what_must_pass_through_them_as_simulated) {
  walk(5, true);
}

// A root of one of NVLSTree's trees has a child that is not among the first 64 nodes.
TEST(SlowPorts, of_a_root_cost_as_much_as_those_of_the_second_tree) {
  const Topology topology = load_machine("dgx-h100-x96").topology;
  Call call(topology, Collective::all_reduce);
  call.size = Bytes{1 << 30};
  call.pair = Candidate{NcclAlgorithm::nvls_tree, Protocol::simple};
  const auto time_at = [&](const char* port) {
    MachineFaults faults = find_faults(
        std::vector{parse_fault(fmt::format("link: {}, bandwidth: 25%", port))}, topology, 768);
    return estimated(call.compiler.with_faults(faults), call)->value;
  };
  EXPECT_NEAR(time_at("node0/nic0"), time_at("node95/nic0"), 1e-9);
  EXPECT_GT(time_at("node0/nic0"), 1.7 * estimated(call.compiler, call)->value);
}

// A hash spreads more flows more evenly; a sample of them says no other.
TEST(GrowingClusters, an_exchange_takes_no_less_on_more_nodes) {
  double before = 0;
  for (const int nodes : {128, 512, 1024, 2048, 4096}) {
    const Topology topology = load_machine(fmt::format("dgx-h100-x{}", nodes)).topology;
    Call call(topology, Collective::all_to_all);
    call.size = Bytes{1 << 30};
    const double time = estimated(call.compiler, call)->value;
    EXPECT_GT(time, before) << nodes;
    EXPECT_LT(time, 1.2 * call.compiler.bounds(call.size).largest().value) << nodes;
    before = time;
  }
}

// Its calls in a row are continued from the first two, by a mean.
TEST(ContinuedCalls, are_not_below_what_a_slow_port_needs) {
  const Topology topology = load_machine("aws-p3dn-x4").topology;
  Call call(topology, Collective::broadcast);
  call.size = Bytes{1 << 30};
  const MachineFaults faults =
      find_faults(std::vector{parse_fault("link: node0/nic0, bandwidth: 25%")}, topology, 32);
  const CallCompiler faulty = call.compiler.with_faults(faults);
  const Prediction prediction = Predictor(faulty).predict(call.size);
  EXPECT_GE(prediction.time.value, surely_needed(prediction.floor, 0).value * (1 - 1e-9));
}

}  // namespace
}  // namespace collsim
