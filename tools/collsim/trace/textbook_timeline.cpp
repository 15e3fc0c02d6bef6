#include "tools/collsim/trace/textbook_timeline.h"

#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"

namespace collsim {

namespace {

/// Every rank has a port out and a port in. A switch has one for each rank: what it adds up or
/// copies passes at the rate of the ranks' ports, so that only their ends of a message limit it.
Wiring wiring_by_ports(const Plan& plan, const TwoNumberMachine& machine) {
  const Schedule& schedule = plan.schedule(0);
  Wiring wiring;
  wiring.capacities.assign(std::size_t{2} * schedule.ranks(), machine.bandwidth);
  wiring.nominal = wiring.capacities;
  wiring.kinds.assign(wiring.capacities.size(), LinkKind::network);
  std::vector<Wire> wires;
  for (const Connection& connection : schedule.connections()) {
    Wire& wire = wires.emplace_back();
    wire.latency = machine.alpha;
    wire.kind = LinkKind::network;
    if (!schedule.is_agent(connection.src)) wire.resources.push_back(2 * connection.src);
    if (!schedule.is_agent(connection.dst)) wire.resources.push_back(2 * connection.dst + 1);
  }
  wiring.wires.push_back(std::move(wires));
  return wiring;
}

}  // namespace

TimedCall textbook_timeline(const Plan& plan, const TwoNumberMachine& machine, Bytes size) {
  const Calibration ideal;
  const Wiring wiring = wiring_by_ports(plan, machine);
  const DataPartition partition(plan, size, Bytes{1}, Chunking{});
  const auto fabric = make_fabric(Engine::native);
  TimedCall call;
  call.time = execute({plan, partition, wiring, ideal}, *fabric, &call.timeline).time;
  return call;
}

}  // namespace collsim
