#include "sim/execution/machine_changes.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "sim/execution/machine_events.h"
#include "sim/execution/symmetry.h"

namespace collsim {

Seconds Lateness::delay_of_next(FifoId id, Seconds alpha, Seconds now) {
  OfFifo& fifo = fifos_[id];
  Seconds delay = alpha;
  if (fifo.jitter.value > 0) delay += jitter_of(seed_, id, fifo.messages) * fifo.jitter;
  ++fifo.messages;
  delay = std::max(delay, fifo.last_arrival - now);
  fifo.last_arrival = now + delay;
  return delay;
}

namespace {

std::span<const MachineChange> changes_of(const Execution& execution) {
  if (execution.events == nullptr) return {};
  return execution.events->changes;
}

}  // namespace

MachineChanges::MachineChanges(const Execution& execution, const ThreadBlockCosts& costs,
                               CallLayout& layout, Fabric& fabric, Proxies& proxies)
    : execution_(execution), costs_(costs), layout_(layout), fabric_(fabric), proxies_(proxies) {
  for (const MachineChange& change : changes_of(execution)) {
    std::vector<Routes>& routes = routes_.emplace_back();
    for (const WireChange& wire : change.wires) routes.push_back(add_routes(wire));
  }
}

MachineChanges::Routes MachineChanges::add_routes(const WireChange& change) {
  Routes added;
  if (is_idle(change) || !change.moves) return added;
  const Schedule& schedule = execution_.plan.schedule(change.channel);
  const Rank sender = schedule.connections()[change.connection].src;
  std::vector<ResourceId> route = change.wire.resources;
  add_thread_block(route, layout_, change.channel, sender);
  added.route = fabric_.add_route(route);
  added.route_is_free = route.empty();
  if (!change.wire.network.empty()) added.network = fabric_.add_route(change.wire.network);
  return added;
}

void MachineChanges::begin() {
  const auto changes = changes_of(execution_);
  if (changes.empty()) return;
  lateness_ = Lateness(execution_.events->seed, layout_.fifos.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Seconds delay = changes[i].at - execution_.startup();
    if (delay.value <= 0) {
      apply(i);
    } else {
      fabric_.start_timer(delay, timer_tag(static_cast<std::uint32_t>(i), TimerKind::change));
    }
  }
}

void MachineChanges::apply(std::size_t number) {
  const MachineChange& change = changes_of(execution_)[number];
  for (const CapacityChange& capacity : change.capacities) {
    const ResourceId resource =
        layout_.resource_of.empty() ? capacity.resource : layout_.resource_of[capacity.resource];
    if (resource != ClassesOf::none) fabric_.set_capacity(resource, capacity.capacity);
  }
  for (std::size_t i = 0; i < change.wires.size(); ++i) {
    if (!is_idle(change.wires[i])) change_wire(change.wires[i], routes_[number][i]);
  }
}

void MachineChanges::change_wire(const WireChange& change, const Routes& routes) {
  const FifoId id = layout_.first_fifos[change.channel] + change.connection;
  Fifo& fifo = layout_.fifos[id];
  lateness_.set_jitter(id, change.jitter);
  const Schedule& schedule = execution_.plan.schedule(change.channel);
  const Connection& connection = schedule.connections()[change.connection];
  fifo.alpha = alpha_of(execution_, costs_, schedule, connection, change.wire);
  if (!change.moves) return;
  if (!fifo.route_is_free && !routes.route_is_free) fabric_.redirect(fifo.route, routes.route);
  fifo.route = routes.route;
  fifo.route_is_free = routes.route_is_free;
  if (fifo.proxy) proxies_.redirect(*fifo.proxy, routes.network);
}

}  // namespace collsim
