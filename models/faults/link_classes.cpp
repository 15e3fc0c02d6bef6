#include "models/faults/link_classes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "models/machine/resource_load.h"
#include "sim/execution/colour_refinement.h"

namespace collsim {

namespace {

/// Ranks by their programs, wires by their costs, resources by what they carry.
class PlanColours {
 public:
  PlanColours(const Plan& plan, const DataPartition& partition, const Wiring& wiring,
              const Topology& topology, const ResourceLoad& load)
      : plan_(plan), partition_(partition), wiring_(wiring) {
    colour_programs();
    colour_wires();
    colour_resources(topology, load);
  }

  /// The colours of resources; `exact` is false if it stopped since there would be more than `most`
  /// of them.
  Colours refined(std::size_t most, bool& exact) const {
    Colours all = ranks_;
    all.insert(all.end(), wires_.begin(), wires_.end());
    all.insert(all.end(), resources_.begin(), resources_.end());
    ColourRefinement refinement(std::move(all));
    const auto resources = refinement.colours().last(resources_.size());
    const auto count = [&] { return count_distinct(refinement.colours()); };
    std::size_t before = 0;
    for (std::size_t now = count(); now > before; now = count()) {
      Colours coarser(resources.begin(), resources.end());
      before = now;
      // What a rank does reaches resources by its wires, two rounds away.
      for (int round = 0; round < 2; ++round) {
        refinement.refine([this](const auto& tie) { for_each_tie(tie); });
      }
      exact = count_distinct(resources) <= most;
      if (!exact) return coarser;
    }
    return {resources.begin(), resources.end()};
  }

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
      if (!used(channel)) continue;
      for (const Wire& wire : wiring_.wires[channel]) {
        wires_.push_back(mix(mix(colour_of(wire.latency.value), static_cast<Colour>(wire.kind)),
                             wire.resources.size()));
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

  template <typename Tie>
  void for_each_tie(const Tie& tie) const {
    constexpr Colour from = 2;
    constexpr Colour to = 4;
    constexpr Colour first_place = 6;
    std::size_t item = ranks_.size();
    const std::size_t first_resource = item + wires_.size();
    for (std::uint32_t channel = 0; channel < partition_.channels(); ++channel) {
      if (!used(channel)) continue;
      const auto connections = plan_.schedule(channel).connections();
      for (std::size_t i = 0; i < connections.size(); ++i, ++item) {
        tie(item, connections[i].src, from);
        tie(item, connections[i].dst, to);
        const Wire& wire = wiring_.wires[channel][i];
        Colour place = first_place;
        for (const auto* list : {&wire.resources, &wire.network}) {
          for (const ResourceId resource : *list) {
            tie(item, first_resource + resource, place);
            place += 2;
          }
        }
      }
    }
  }

  const Plan& plan_;
  const DataPartition& partition_;
  const Wiring& wiring_;
  Colours ranks_;  // agents after them
  Colours wires_;  // channel by channel
  Colours resources_;
};

}  // namespace

std::vector<LinkClass> link_classes(const Plan& plan, const DataPartition& partition,
                                    const Wiring& wiring, const Topology& topology,
                                    const ResourceLoad& load, std::size_t most) {
  bool exact = true;
  const Colours colours_of_resources =
      PlanColours(plan, partition, wiring, topology, load).refined(most, exact);
  // Of a cable: the colours of its directions, and what it carries.
  std::map<LinkId, std::pair<std::vector<Colour>, double>> cables;
  for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
    const ResourceOrigin& origin = wiring.origins[id];
    if (origin.shared || load.resources[id] == 0) continue;
    auto& [colours, bytes] = cables[std::min(origin.id, topology.link(origin.id).reverse)];
    colours.push_back(colours_of_resources[id]);
    bytes = std::max(bytes, load.resources[id]);
  }
  std::vector<LinkClass> classes;
  std::map<std::vector<Colour>, std::size_t> known;
  for (auto& [cable, entry] : cables) {
    auto& [colours, bytes] = entry;
    std::sort(colours.begin(), colours.end());
    const auto [found, added] = known.emplace(colours, classes.size());
    if (added) {
      classes.push_back({{cable}, bytes, exact});
    } else {
      LinkClass& links = classes[found->second];
      links.cables.push_back(cable);
      links.load = std::max(links.load, bytes);
    }
  }
  return classes;
}

}  // namespace collsim
