#include "models/prediction/textbook_shapes.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "models/prediction/ring_shapes.h"

namespace collsim {

namespace {

bool alike(const Ring& one, const Ring& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const RingPlace& a, const RingPlace& b) {
                      return a.weight == b.weight && a.slowest == b.slowest &&
                             collsim::alike(a.hop, b.hop);
                    });
}

/// Who uses the links of hops that begin at the same time, or of all.
class Usage {
 public:
  explicit Usage(const HopWires& wires) : users_(wires) {}

  void add(const Wire& wire, std::uint32_t position, double weight) {
    users_.add(wire, weight);
    for (const ResourceId resource : wire.resources) together_[key(resource, position)] += weight;
  }
  HopClass class_of(const Wire& wire, std::uint32_t position) const {
    return hop_class(wire, users_,
                     [&](ResourceId narrowest) { return together_.at(key(narrowest, position)); });
  }

 private:
  static std::uint64_t key(ResourceId resource, std::uint32_t position) {
    return (std::uint64_t{resource} << 32U) | position;
  }
  LinkUsers users_;
  std::unordered_map<std::uint64_t, double> together_;
};

/// What the threads of proxies carry.
class Tasks {
 public:
  void add(Rank from, Rank to, double weight) {
    sends_[from] += weight;
    receives_[to] += weight;
  }
  void count(Rank rank, HopClass& hop) const {
    const auto of = [rank](const std::unordered_map<Rank, double>& tasks) {
      const auto found = tasks.find(rank);
      return found == tasks.end() ? 0 : found->second;
    };
    hop.sends = of(sends_);
    hop.receives = of(receives_);
  }

 private:
  std::unordered_map<Rank, double> sends_;
  std::unordered_map<Rank, double> receives_;
};

}  // namespace

/// The hops of each phase on all channels.
std::vector<std::vector<TextbookShapes::Laid>> TextbookShapes::laid(
    const std::vector<TextbookPattern>& patterns, std::uint32_t channels, HopWires& wires) {
  std::vector<std::vector<Laid>> all(patterns.front().phases.size());
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const std::size_t number = channel % patterns.size();
    const std::vector<Rank>& order = orders_[number];
    for (std::size_t phase = 0; phase < all.size(); ++phase) {
      for (const PlaceHop& hop : patterns[number].phases[phase].hops) {
        const Rank from = order[hop.from];
        const Rank to = order[hop.to];
        all[phase].push_back({channel, hop, from, to, hop.lane, wires.lay(channel, from, to)});
        kinds_.insert(all[phase].back().wire.kind);
      }
    }
  }
  return all;
}

std::vector<TextbookPattern> TextbookShapes::patterns() const {
  const CallSpec& spec = planner_.spec();
  std::vector<TextbookPattern> patterns;
  for (const std::vector<Rank>& order : orders_) {
    const auto root = std::find(order.begin(), order.end(), spec.root) - order.begin();
    patterns.push_back(textbook_pattern(spec.collective, spec.run.algorithm, planner_.placement(),
                                        static_cast<Rank>(root), window_of_nodes));
  }
  return patterns;
}

std::optional<Estimate> TextbookShapes::closed(const Binding& binding, const ProtocolCost& cost) {
  if (planner_.spec().collective != Collective::all_reduce) return std::nullopt;
  HopWires wires(planner_.topology(), planner_.spec().gpus, planner_.cost(), {});
  auto all = laid(patterns(), binding.channels(), wires);
  std::vector<Laid> hops;
  for (auto& phase : all) hops.insert(hops.end(), phase.begin(), phase.end());
  const auto key = [](const Laid& hop) {
    return std::tie(hop.channel, hop.from, hop.to, hop.lane);
  };
  std::sort(hops.begin(), hops.end(),
            [&](const Laid& one, const Laid& other) { return key(one) < key(other); });
  ClosedCall call;
  call.algorithm = planner_.spec().run.algorithm;
  call.placement = &planner_.placement();
  call.channels = binding.channels();
  call.loops = binding.loops(0);
  call.bytes = static_cast<double>(binding.bytes_of(0).count);
  call.chunking = binding.chunking();
  for (ResourceId resource = 0; resource < wires.resources(); ++resource) {
    call.capacities.push_back(wires.capacity(resource));
  }
  for (std::size_t i = 0; i < hops.size(); ++i) {
    if (i > 0 && key(hops[i - 1]) == key(hops[i])) continue;
    call.connections.push_back(
        {hops[i].channel, {hops[i].from, hops[i].to, hops[i].lane}, &hops[i].wire});
  }
  return closed_estimate(call, cost);
}

TextbookShape TextbookShapes::made(std::uint32_t channels) {
  HopWires wires(planner_.topology(), planner_.spec().gpus, planner_.cost(), {});
  const std::vector<TextbookPattern> patterns = this->patterns();
  const auto all = laid(patterns, channels, wires);
  TextbookShape shape;
  shape.pipelined = patterns.front().pipelined;
  shape.blocks = patterns.front().blocks;
  // Phases of a pipeline run at the same time, others one after the other.
  const std::size_t usages = shape.pipelined ? 1 : all.size();
  std::vector<Usage> usage(usages, Usage(wires));
  std::vector<Tasks> tasks(usages);
  std::map<std::pair<std::uint32_t, Rank>, LinkKind> slowest;
  for (std::size_t phase = 0; phase < all.size(); ++phase) {
    for (const Laid& each : all[phase]) {
      usage[phase % usages].add(each.wire, each.hop.position, each.hop.weight);
      if (!each.wire.network.empty()) {
        tasks[phase % usages].add(each.from, each.to, each.hop.weight);
      }
      for (const Rank rank : {each.from, each.to}) {
        LinkKind& kind = slowest[{each.channel, rank}];
        kind = std::max(kind, each.wire.kind);
      }
      shape.slowest = std::max(shape.slowest, each.wire.kind);
    }
  }
  for (std::size_t number = 0; number < all.size(); ++number) {
    const PhasePattern& pattern = patterns.front().phases[number];
    TextbookPhase phase{{},           pattern.program,    pattern.chunks,
                        pattern.lane, pattern.one_by_one, pattern.streams};
    std::map<std::pair<std::uint32_t, std::uint32_t>, Ring> circuits;
    for (const Laid& each : all[number]) {
      RingPlace place;
      place.weight = 1;
      place.slowest = slowest.at({each.channel, each.from});
      place.hop = usage[number % usages].class_of(each.wire, each.hop.position);
      if (!each.wire.network.empty()) tasks[number % usages].count(each.from, place.hop);
      if (pattern.one_by_one) {
        place.hop.beside = 0;
        place.hop.sends /= static_cast<double>(pattern.hops.size());
      }
      add_place(circuits[{each.channel, each.hop.circuit}], place);
    }
    for (auto& [key, ring] : circuits) {
      const auto same = [&ring = ring](const Ring& other) { return alike(ring, other); };
      if (std::none_of(phase.circuits.begin(), phase.circuits.end(), same)) {
        phase.circuits.push_back(std::move(ring));
      }
    }
    shape.phases.push_back(std::move(phase));
  }
  return shape;
}

const TextbookShape& TextbookShapes::shape(std::uint32_t channels) {
  const auto [found, added] = shapes_.try_emplace(channels);
  if (added) found->second = made(channels);
  return found->second;
}

}  // namespace collsim
