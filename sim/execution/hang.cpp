#include "sim/execution/hang.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace collsim {

namespace {

/// Whether bytes that the worker sends stand still: then its messages are not what it waits for.
bool stands(const Worker& worker) {
  return worker.flows > 0;
}

bool is_before(const Worker& a, const Worker& b) {
  if (stands(a) != stands(b)) return stands(a);
  return std::pair(a.loop, a.primitive) < std::pair(b.loop, b.primitive);
}

const Fifo& fifo_of(const CallLayout& layout, const Worker& worker, ConnectionId peer) {
  const FifoId id = worker.first_fifo + peer;
  return layout.fifos[layout.fifo_of.empty() ? id : layout.fifo_of[id]];
}

std::string what_is_awaited(const CallLayout& layout, const Worker& worker) {
  const Primitive& primitive = worker.current();
  const Schedule& schedule = *worker.schedule;
  const auto connections = schedule.connections();
  if (stands(worker)) {
    const ConnectionId peer = worker.peers(primitive.send_group).front();
    return fmt::format("its bytes to reach {}", participant_name(schedule, connections[peer].dst));
  }
  const std::int64_t needed = layout.units_awaited(worker);
  for (const ConnectionId peer : worker.peers(primitive.receive_group)) {
    if (fifo_of(layout, worker, peer).pending >= needed) continue;
    return fmt::format("a message from {}", participant_name(schedule, connections[peer].src));
  }
  for (const ConnectionId peer : worker.peers(primitive.send_group)) {
    const Fifo& fifo = fifo_of(layout, worker, peer);
    if (fifo.sent_slices < fifo.freed_slices + fifo.credits && !fifo.proxy) continue;
    return fmt::format("room at {}", participant_name(schedule, connections[peer].dst));
  }
  return "its turn";
}

}  // namespace

HangError hang_of(const CallLayout& layout) {
  const Worker* first = nullptr;
  std::size_t all = 0;
  std::size_t waiting = 0;
  for (const Worker& worker : layout.workers) {
    all += worker.copies;
    if (worker.state == Worker::State::finished) continue;
    waiting += worker.copies;
    if (first == nullptr || is_before(worker, *first)) first = &worker;
  }
  if (first == nullptr) throw std::logic_error("calls never ended whose programs did");
  return {first->channel, first->rank, first->primitive,
          fmt::format("hangs at step {} of {} of {} (channel {}), waiting for {}; {} of {} "
                      "programs never end",
                      first->primitive + 1, first->program.size(),
                      participant_name(*first->schedule, first->rank), first->channel,
                      what_is_awaited(layout, *first), waiting, all)};
}

}  // namespace collsim
