#include "models/faults/link_classes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "models/machine/resource_load.h"

namespace collsim {

namespace {

/// Equal for equal surroundings; different ones collide once in 2^64.
using Colour = std::uint64_t;

/// The finaliser of Steele, Lea and Flood's SplitMix64, over a pair.
Colour mix(Colour a, Colour b) {
  Colour bits = a + 0x9E3779B97F4A7C15 * (b + 1);
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

Colour colour_of(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

class Refinement {
 public:
  Refinement(const Plan& plan, const DataPartition& partition, const Wiring& wiring,
             const Topology& topology, const ResourceLoad& load)
      : plan_(plan), partition_(partition), wiring_(wiring) {
    colour_programs();
    colour_wires();
    colour_resources(topology, load);
  }

  /// False if it stopped since there would be more than `most` colours of resources.
  bool refine(std::size_t most) {
    std::size_t before = 0;
    std::size_t now = count();
    while (now > before) {
      const std::vector<Colour> coarser = resources_;
      step();
      if (colours_of(resources_) > most) {
        resources_ = coarser;
        return false;
      }
      before = now;
      now = count();
    }
    return true;
  }

  Colour of_resource(ResourceId resource) const { return resources_[resource]; }

 private:
  bool used(std::uint32_t channel) const { return partition_.loops(channel) > 0; }

  void colour_programs() {
    for (const Schedule& schedule : plan_.schedules) {
      ranks_.resize(std::max<std::size_t>(ranks_.size(), schedule.participants()));
    }
    // Of every schedule, those of the last channel that ran it: most are cut alike.
    std::map<std::uint32_t, std::pair<std::uint32_t, std::vector<Colour>>> known;
    for (std::uint32_t channel = 0; channel < partition_.channels(); ++channel) {
      if (!used(channel)) continue;
      auto& [other, colours] = known[plan_.schedule_of_channel[channel]];
      if (colours.empty() || !partition_.alike(channel, other)) {
        other = channel;
        colours = colours_of_programs(channel);
      }
      for (Rank rank = 0; rank < colours.size(); ++rank) ranks_[rank] += colours[rank];
    }
  }

  /// By rank, then by agent.
  std::vector<Colour> colours_of_programs(std::uint32_t channel) const {
    const Schedule& schedule = plan_.schedule(channel);
    std::vector<std::int64_t> bytes;  // by chunk
    for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
      bytes.push_back(partition_.chunk_bytes(channel, 0, {chunk, 1}).count);
    }
    std::vector<Colour> colours;
    for (Rank rank = 0; rank < schedule.participants(); ++rank) {
      Colour colour = mix(partition_.loops(channel), schedule.is_agent(rank) ? 1 : 0);
      for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
        colour = mix(mix(colour, lane), colour_of_program(schedule, rank, lane, bytes));
      }
      colours.push_back(colour);
    }
    return colours;
  }

  /// Runs of equal primitives count at once: a ring's programs are long.
  static Colour colour_of_program(const Schedule& schedule, Rank rank, std::uint32_t lane,
                                  const std::vector<std::int64_t>& bytes) {
    Colour colour = 0;
    std::optional<Primitive> last;
    std::int64_t last_bytes = 0;
    std::uint64_t run = 0;
    for (const Primitive& primitive : schedule.program(rank, lane)) {
      std::int64_t own = 0;
      for (std::uint32_t i = 0; i < primitive.chunk_count; ++i) {
        own += bytes[primitive.first_chunk + i];
      }
      const bool again = last && own == last_bytes && primitive.kind == last->kind &&
                         primitive.receive_group == last->receive_group &&
                         primitive.send_group == last->send_group;
      last = primitive;
      last_bytes = own;
      ++run;
      if (again) continue;
      colour = mix(mix(colour, run), static_cast<Colour>(own));
      colour = mix(colour, static_cast<Colour>(primitive.kind));
      colour = mix(colour, schedule.peers(primitive.receive_group).size());
      colour = mix(colour, schedule.peers(primitive.send_group).size());
      run = 0;
    }
    return mix(colour, run);
  }

  void colour_wires() {
    for (std::uint32_t channel = 0; channel < partition_.channels(); ++channel) {
      std::vector<Colour>& wires = wires_.emplace_back();
      if (!used(channel)) continue;
      for (const Wire& wire : wiring_.wires[channel]) {
        wires.push_back(mix(colour_of(wire.latency.value), static_cast<Colour>(wire.kind)));
      }
    }
  }

  void colour_resources(const Topology& topology, const ResourceLoad& load) {
    for (ResourceId id = 0; id < wiring_.capacities.size(); ++id) {
      Colour colour = mix(colour_of(wiring_.capacities[id].value), colour_of(load.resources[id]));
      const ResourceOrigin& origin = wiring_.origins[id];
      if (!origin.shared) {
        const Link link = topology.link(origin.id);
        colour = mix(colour, static_cast<Colour>(topology.device(link.from).kind));
        colour = mix(colour, static_cast<Colour>(topology.device(link.to).kind));
      }
      resources_.push_back(colour);
    }
  }

  /// Every colour takes in those around it, lists in order and crowds as sums.
  void step() {
    std::vector<Colour> ranks(ranks_.size());
    std::vector<Colour> resources(resources_.size());
    for (std::uint32_t channel = 0; channel < partition_.channels(); ++channel) {
      if (!used(channel)) continue;
      const auto connections = plan_.schedule(channel).connections();
      for (std::size_t i = 0; i < connections.size(); ++i) {
        const Wire& wire = wiring_.wires[channel][i];
        Colour& colour = wires_[channel][i];
        colour = mix(mix(colour, ranks_[connections[i].src]), ranks_[connections[i].dst]);
        for (const auto* list : {&wire.resources, &wire.network}) {
          for (const ResourceId resource : *list) colour = mix(colour, resources_[resource]);
          colour = mix(colour, list->size());
        }
        ranks[connections[i].src] += mix(colour, 1);
        ranks[connections[i].dst] += mix(colour, 2);
        std::uint64_t place = 0;
        for (const auto* list : {&wire.resources, &wire.network}) {
          for (const ResourceId resource : *list) resources[resource] += mix(colour, 3 + place++);
        }
      }
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks_[i] = mix(ranks_[i], ranks[i]);
    for (std::size_t i = 0; i < resources.size(); ++i) {
      resources_[i] = mix(resources_[i], resources[i]);
    }
  }

  static std::size_t colours_of(std::vector<Colour> colours) {
    std::sort(colours.begin(), colours.end());
    const auto last = std::unique(colours.begin(), colours.end());
    return static_cast<std::size_t>(last - colours.begin());
  }

  /// Different colours there are, of all.
  std::size_t count() const {
    std::vector<Colour> wires;
    for (const auto& of_channel : wires_) {
      wires.insert(wires.end(), of_channel.begin(), of_channel.end());
    }
    return colours_of(ranks_) + colours_of(resources_) + colours_of(std::move(wires));
  }

  const Plan& plan_;
  const DataPartition& partition_;
  const Wiring& wiring_;
  std::vector<Colour> ranks_;               // agents after them
  std::vector<std::vector<Colour>> wires_;  // by channel and connection
  std::vector<Colour> resources_;
};

}  // namespace

std::vector<LinkClass> link_classes(const Plan& plan, const DataPartition& partition,
                                    const Wiring& wiring, const Topology& topology,
                                    const ResourceLoad& load, std::size_t most) {
  Refinement refinement(plan, partition, wiring, topology, load);
  const bool symmetric = refinement.refine(most);
  // Of a cable: the colours of its directions, and what it carries.
  std::map<LinkId, std::pair<std::vector<Colour>, double>> cables;
  for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
    const ResourceOrigin& origin = wiring.origins[id];
    if (origin.shared || load.resources[id] == 0) continue;
    auto& [colours, bytes] = cables[std::min(origin.id, topology.link(origin.id).reverse)];
    colours.push_back(refinement.of_resource(id));
    bytes = std::max(bytes, load.resources[id]);
  }
  std::vector<LinkClass> classes;
  std::map<std::vector<Colour>, std::size_t> known;
  for (auto& [cable, entry] : cables) {
    auto& [colours, bytes] = entry;
    std::sort(colours.begin(), colours.end());
    const auto [found, added] = known.emplace(colours, classes.size());
    if (added) {
      classes.push_back({{cable}, bytes, symmetric});
    } else {
      LinkClass& links = classes[found->second];
      links.cables.push_back(cable);
      links.load = std::max(links.load, bytes);
    }
  }
  return classes;
}

}  // namespace collsim
