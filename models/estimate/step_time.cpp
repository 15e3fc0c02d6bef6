#include "models/estimate/step_time.h"

#include <algorithm>
#include <cmath>

namespace collsim {

StepTime::StepTime(const Ring& ring, const ThreadBlockCosts& costs, const StepSetting& setting)
    : ring_(ring), costs_(costs), setting_(setting) {
  for (const RingPlace& place : ring) hops_ += place.weight;
}

/// Of a chunk.
double StepTime::slice_bytes(double chunk, std::uint32_t slice) const {
  const Chunking& cut = setting_.chunking;
  if (cut.slices == 1) return chunk;
  const auto unit = static_cast<double>(cut.slice_unit.count);
  const double even = std::ceil(chunk / (cut.slices * unit)) * unit;
  const double whole = std::max(even, static_cast<double>(cut.smallest_slice.count));
  return std::clamp(chunk - whole * slice, 0.0, whole);
}

Slices StepTime::slices(const RingPlace& place, const Primitives& primitives,
                        const StepChunk& chunk, double period) const {
  const Slices crowded = slices_shared(place, primitives, chunk, place.hop.share(1));
  if (period == 0 || place.hop.other_users == 0) return crowded;
  const double busy = std::min(1.0, crowded.moving / period);
  const Slices once = slices_shared(place, primitives, chunk, place.hop.share(busy));
  return slices_shared(place, primitives, chunk,
                       place.hop.share(std::min(1.0, once.moving / period)));
}

Slices StepTime::slices_shared(const RingPlace& place, const Primitives& primitives,
                               const StepChunk& chunk, double share) const {
  const ProtocolConstants& cost = costs_[static_cast<std::size_t>(place.slowest)];
  LaneSetting lane = lane_setting(cost, setting_.protocol, setting_.warps, setting_.warps);
  lane.speed = place.speed;
  Slices all;
  for (std::uint32_t slice = 0; slice < setting_.chunking.slices; ++slice) {
    SliceWork work{.operations = primitives.operations,
                   .passes_on = primitives.passes_on,
                   .bytes = slice_bytes(chunk.bytes, slice),
                   .share = share,
                   .waits = primitives.waits};
    work.load = load(lane, work, chunk.steps);
    const SliceTime time = slice_time(lane, work);
    // Busy all the time, it asks for its own data only when they are needed.
    work.waits = false;
    const double occupancy = slice_time(lane, work).occupancy();
    double head = time.head();
    double to_peer = head;
    if (place.hop.has_proxy()) {
      const double wire = cost.wire_factor * work.bytes;
      // Of the receiver's buffer a slice takes a slot when it leaves the sender's.
      to_peer = proxy_delay(place.hop, setting_.cost->proxy, wire);
      head = time.sent() + to_peer;
      all.proxy += proxy_cycle(place.hop, setting_.cost->proxy, wire);
      // A receive waits for the sends of other slices.
      if (slice > 0 && place.hop.receives > 0) all.proxy += time.before;
    }
    all.occupancy += occupancy;
    all.moving += time.moving;
    all.wire += work.load * cost.wire_factor * work.bytes;
    all.sent = all.occupancy - time.after;
    all.head = std::max(all.head, head);
    all.round_trip = std::max(all.round_trip, to_peer + occupancy);
    all.last_head = time.head();
    all.after = time.after;
  }
  return all;
}

/// What its links carry for a byte, since thread blocks that share them wait for each other.
double StepTime::load(const LaneSetting& lane, const SliceWork& work, double steps) const {
  const bool contends = contends_for_links(*lane.cost) && work.operations.send > 0;
  if (!contends || work.bytes == 0 || !std::isfinite(work.share)) return 1;
  SliceWork alone = work;
  alone.share = INFINITY;
  const double rate = lane.cost->wire_factor * work.bytes / slice_time(lane, alone).moving;
  return 1 / contended_share(*lane.cost, rate / work.share, steps);
}

StepCost StepTime::step(const Primitives& primitives, const StepChunk& chunk, double period) const {
  const double share = chunk.filled;
  StepChunk without = chunk;
  without.bytes = 0;
  StepCost step;
  double heads = 0;
  step.min_head = INFINITY;
  for (const RingPlace& place : ring_) {
    const Slices full = slices(place, primitives, chunk, period);
    const Slices empty = share < 1 ? slices(place, primitives, without, period) : full;
    const auto mean = [share](double one, double other) {
      return share * one + (1 - share) * other;
    };
    step.busiest = std::max({step.busiest, mean(full.occupancy, empty.occupancy),
                             mean(credit_cycle(full, place), credit_cycle(empty, place)),
                             share * link_cycle(full, place), mean(full.proxy, empty.proxy)});
    const double head = full.head + alpha(place);
    heads += place.weight * head;
    step.min_head = std::min(step.min_head, head);
    const double behind = place.hop.has_proxy() ? full.head : full.sent;
    step.arrival = std::max(step.arrival, behind + alpha(place));
    step.network_busy = std::max(step.network_busy, full.proxy);
    step.occupancy = std::max(step.occupancy, full.occupancy);
  }
  step.mean_head = heads / hops_;
  return step;
}

StepCost StepTime::settled_step(const Primitives& primitives, const StepChunk& chunk) const {
  const StepCost crowded = step(primitives, chunk, 0);
  const bool beside = std::any_of(ring_.begin(), ring_.end(),
                                  [](const RingPlace& place) { return place.hop.other_users > 0; });
  if (!beside) return crowded;
  const StepCost once = step(primitives, chunk, crowded.period());
  return step(primitives, chunk, once.period());
}

double StepTime::loop(const StepProgram& program, const StepChunk& chunk, bool last) const {
  double time = 0;
  StepCost final;
  for (const Primitives& each : program.sends) {
    if (each.count <= 0) continue;
    final = settled_step(each, chunk);
    time += each.count * final.period();
  }
  const double sent_after = final.arrival - final.period();
  double end = 0;
  for (const RingPlace& place : ring_) {
    if (!program.end) break;
    const Slices stored = slices(place, *program.end, chunk, 0);
    end = std::max({end, stored.occupancy, sent_after + stored.last_head + stored.after});
  }
  if (last && final.mean_head > final.busiest) {
    // The longest way leaves out the shortest hops.
    const double left_out = program.sends.size() > 2 ? 2 : 1;
    time -= std::min(left_out, hops_ - 1) * (final.mean_head - final.min_head);
  }
  return time + end;
}

}  // namespace collsim
