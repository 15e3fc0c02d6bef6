#include "models/estimate/textbook_shapes.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "models/call/machine_view.h"
#include "models/estimate/ring_shapes.h"
#include "models/faults/machine_faults.h"

namespace collsim {

namespace {

bool are_alike(const Ring& one, const Ring& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const RingPlace& a, const RingPlace& b) { return a.weight == b.weight && alike(a, b); });
}

}  // namespace

TextbookShapes::TextbookShapes(const CallCompiler& compiler, Seconds at, std::set<LinkKind>& kinds)
    : compiler_(compiler),
      kinds_(kinds),
      states_(states_at(compiler.spec().faults, compiler.topology(), at)),
      speeds_(speeds_of(compiler)) {
  if (!compiler.is_nccl()) orders_ = compiler.textbook_orders();
}

/// Who uses the links and proxies of the hops of a phase, or of phases that run together.
class TextbookShapes::Usage {
 public:
  explicit Usage(const HopWires& wires) : users_(wires) {}

  void add(const Laid& each) {
    const double weight = each.hop.weight;
    users_.add(each.wire, weight);
    for (const auto* resources : {&each.wire.resources, &each.wire.network}) {
      for (const ResourceId resource : *resources) {
        together_[key(resource, each.hop.position)] += weight;
      }
    }
    if (each.wire.network.empty()) return;
    sends_[each.from] += weight;
    receives_[each.to] += weight;
  }

  RingPlace place_of(const Laid& each) const {
    RingPlace place;
    place.weight = 1;
    place.hop = hop_class(each.wire, users_, [&](ResourceId narrowest) {
      return together_.at(key(narrowest, each.hop.position));
    });
    if (each.wire.network.empty()) return place;
    const auto of = [&each](const std::unordered_map<Rank, double>& tasks) {
      const auto found = tasks.find(each.from);
      return found == tasks.end() ? 0 : found->second;
    };
    place.hop.sends = of(sends_);
    place.hop.receives = of(receives_);
    return place;
  }

 private:
  static std::uint64_t key(ResourceId resource, std::uint32_t position) {
    return (std::uint64_t{resource} << 32U) | position;
  }
  LinkUsers users_;
  std::unordered_map<std::uint64_t, double> together_;
  std::unordered_map<Rank, double> sends_;
  std::unordered_map<Rank, double> receives_;
};

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

const std::vector<TextbookPattern>& TextbookShapes::patterns() {
  if (!patterns_) patterns_ = made_patterns();
  return *patterns_;
}

std::vector<TextbookPattern> TextbookShapes::made_patterns() const {
  const CallSpec& spec = compiler_.spec();
  const std::vector<bool> touched = touched_ranks(compiler_);
  std::vector<TextbookPattern> patterns;
  for (const std::vector<Rank>& order : orders_) {
    const auto root = std::find(order.begin(), order.end(), spec.root) - order.begin();
    ShownPlaces shown{window_of_nodes};
    for (const Rank rank : order) shown.touched.push_back(touched[rank]);
    auto pattern = textbook_pattern(spec.collective, spec.run.algorithm, compiler_.placement(),
                                    static_cast<Rank>(root), shown);
    if (!pattern) return {};
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

std::optional<Estimate> TextbookShapes::closed(const DataPartition& partition,
                                               const ProtocolConstants& cost) {
  if (compiler_.spec().collective != Collective::all_reduce) return std::nullopt;
  HopWires wires = this->wires();
  auto all = laid(patterns(), partition.channels(), wires);
  std::vector<Laid> hops;
  for (auto& phase : all) hops.insert(hops.end(), phase.begin(), phase.end());
  const auto key = [](const Laid& hop) {
    return std::tie(hop.channel, hop.from, hop.to, hop.lane);
  };
  std::sort(hops.begin(), hops.end(),
            [&](const Laid& one, const Laid& other) { return key(one) < key(other); });
  ClosedCall call;
  call.algorithm = compiler_.spec().run.algorithm;
  call.placement = &compiler_.placement();
  call.channels = partition.channels();
  call.loops = partition.loops(0);
  call.bytes = static_cast<double>(partition.bytes_of(0).count);
  call.chunks = chunk_sizes(partition, compiler_.textbook_chunks());
  call.chunking = partition.chunking();
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

/// The unlike circuits of a phase.
std::vector<Ring> TextbookShapes::circuits(const PhasePattern& pattern,
                                           const std::vector<Laid>& hops, const Usage& usage,
                                           const SlowestLinks& slowest) const {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Ring> all;
  for (const Laid& each : hops) {
    RingPlace place = usage.place_of(each);
    place.slowest = slowest.at({each.channel, each.from});
    place.speed = speed(each);
    if (pattern.one_by_one) {
      place.hop.other_users = 0;
      place.hop.network_users -= place.hop.network_others;
      place.hop.network_others = 0;
      const double messages = pattern.program.sends.front().count;
      place.hop.sends /= messages;
      place.hop.receives /= messages;
    }
    add_place(all[{each.channel, each.hop.circuit}], place);
  }
  std::vector<Ring> unlike;
  for (auto& [key, ring] : all) {
    const auto same = [&ring = ring](const Ring& other) { return are_alike(ring, other); };
    if (std::none_of(unlike.begin(), unlike.end(), same)) unlike.push_back(std::move(ring));
  }
  return unlike;
}

/// Phases of a pipeline run at the same time, others one after the other.
TextbookShape TextbookShapes::made(std::uint32_t channels) {
  HopWires wires = this->wires();
  const std::vector<TextbookPattern>& patterns = this->patterns();
  const auto all = laid(patterns, channels, wires);
  TextbookShape shape;
  shape.pipelined = patterns.front().pipelined;
  shape.blocks = patterns.front().blocks;
  std::vector<Usage> usages(shape.pipelined ? 1 : all.size(), Usage(wires));
  SlowestLinks slowest;
  for (std::size_t phase = 0; phase < all.size(); ++phase) {
    for (const Laid& each : all[phase]) {
      usages[phase % usages.size()].add(each);
      for (const Rank rank : {each.from, each.to}) {
        LinkKind& kind = slowest[{each.channel, rank}];
        kind = std::max(kind, each.wire.kind);
      }
      shape.slowest = std::max(shape.slowest, each.wire.kind);
      shape.speed = std::min(shape.speed, speed(each));
    }
  }
  for (std::size_t phase = 0; phase < all.size(); ++phase) {
    const PhasePattern& pattern = patterns.front().phases[phase];
    shape.phases.push_back({circuits(pattern, all[phase], usages[phase % usages.size()], slowest),
                            pattern.program, pattern.chunks, pattern.lane, pattern.one_by_one,
                            pattern.streams});
  }
  return shape;
}

const TextbookShape& TextbookShapes::shape(std::uint32_t channels) {
  const auto [found, added] = shapes_.try_emplace(channels);
  if (added) found->second = made(channels);
  return found->second;
}

}  // namespace collsim
