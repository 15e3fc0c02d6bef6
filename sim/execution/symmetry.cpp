#include "sim/execution/symmetry.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "sim/base/scramble.h"
#include "sim/execution/colour_refinement.h"

namespace collsim {

namespace {

/// How large the chunks of a loop are. What a program moves in turn is the polynomial of which
/// those sizes are the coefficients: equal for equal sizes, whichever chunks have them.
class ChunkSizes {
 public:
  explicit ChunkSizes(Colours of_chunk) : of_chunk_(std::move(of_chunk)) {
    forward_ = polynomials(of_chunk_);
    backward_ = polynomials({of_chunk_.rbegin(), of_chunk_.rend()});
    while (powers_.size() < forward_.size()) powers_.push_back(powers_.back() * base);
  }

  Colour of_program(const Program& program) const {
    Colour colour = 0;
    for (const Run& run : program.runs()) colour = followed_by(colour, run);
    return colour;
  }

 private:
  static constexpr Colour base = 0x9e3779b97f4a7c15;  // odd, so that no power of it is zero

  /// Of the first 0, 1, 2, ... chunks, twice around.
  static Colours polynomials(const Colours& sizes) {
    Colours found{0};
    for (std::size_t i = 0; i < 2 * sizes.size(); ++i) {
      found.push_back(found.back() * base + scramble(sizes[i % sizes.size()]));
    }
    return found;
  }

  Colour followed_by(Colour before, const Run& run) const;

  Colours of_chunk_;
  Colours powers_{1};
  Colours forward_;
  Colours backward_;  // from the last chunk to the first
};

Colour ChunkSizes::followed_by(Colour before, const Run& run) const {
  const auto chunks = static_cast<std::uint32_t>(of_chunk_.size());
  if (const auto window = window_of(run, chunks)) {
    const std::uint32_t first = run.first.first_chunk;
    const std::size_t begin = window->is_backward ? chunks - 1 - first : first;
    const Colours& of = window->is_backward ? backward_ : forward_;
    return (before - of[begin]) * powers_[run.repeats] + of[begin + run.repeats];
  }
  for (std::uint32_t i = 0; i < run.repeats; ++i) {
    const auto taken = of_chunk_.begin() + run.at(i, chunks).first_chunk;
    const Colour size = std::accumulate(taken, taken + run.first.chunk_count, Colour{0});
    before = before * base + scramble(size);
  }
  return before;
}

/// How a channel cuts its data.
struct ChannelChunking {
  std::uint32_t alike = 0;           ///< the first channel that is cut so, which has the sizes
  std::vector<ChunkSizes> uneven{};  ///< of each loop in which chunks are not all as large
};

std::vector<ChunkSizes> uneven_loops(const Schedule& schedule, const DataPartition& partition,
                                     std::uint32_t channel) {
  std::vector<ChunkSizes> uneven;
  for (std::uint32_t loop = 0; loop < partition.loops(channel); ++loop) {
    Colours sizes;
    for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
      const Bytes bytes = partition.chunk_bytes(channel, loop, {chunk, 1});
      sizes.push_back(static_cast<Colour>(bytes.count));
    }
    const bool are_equal =
        std::all_of(sizes.begin(), sizes.end(), [&](Colour size) { return size == sizes.front(); });
    if (!are_equal) uneven.emplace_back(std::move(sizes));
  }
  return uneven;
}

std::vector<ChannelChunking> cuts_of(const Plan& plan, const DataPartition& partition) {
  std::vector<ChannelChunking> cuts;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    const std::uint32_t chunks = plan.schedule(channel).chunks();
    const auto same = std::find_if(cuts.begin(), cuts.end(), [&](const ChannelChunking& other) {
      return plan.schedule(other.alike).chunks() == chunks && partition.alike(channel, other.alike);
    });
    cuts.push_back(
        same != cuts.end()
            ? ChannelChunking{same->alike}
            : ChannelChunking{channel, uneven_loops(plan.schedule(channel), partition, channel)});
  }
  return cuts;
}

/// The most at which the worker moves bytes in such a primitive, however large its slices are.
double max_of(const Worker& worker, const Primitive& primitive) {
  if (worker.is_agent) return unlimited.value;
  const LaneSetting& setting = worker.setting;
  const MemoryOps operations = operations_of(*worker.schedule, primitive);
  if (setting.round == 0) return setting.speed * block_rate(*setting.cost, operations).value;
  const Seconds time = time_of_rounds(setting, operations, setting.round);
  const double bytes = setting.cost->wire_factor * static_cast<double>(setting.round);
  return time.value > 0 ? setting.speed * bytes / time.value : unlimited.value;
}

/// Colours of all members, workers before FIFOs before resources, and the steps that make them
/// finer.
class CallColours {
 public:
  CallColours(const Execution& execution, const CallLayout& layout, const FabricDraft& draft,
              std::span<const ChannelChunking> cuts)
      : execution_(execution), layout_(layout), draft_(draft), cuts_(cuts) {
    leave_out_resources();
    colour_resources();
    colour_fifos();
    colour_workers();
  }

  /// Whether no class splits any more, and workers have at most this share of classes.
  bool refine(double max_share);
  Symmetry symmetry() const;

 private:
  void leave_out_resources();
  void load_by_proxies(std::vector<double>& load) const;
  std::vector<double> min_capacities() const;
  std::vector<double> max_of_fifos() const;
  void colour_resources();
  void colour_fifos();
  void colour_workers();
  Colour colour_of_program(WorkerId id);
  Colour colour_of_sizes(const Worker& worker) const;
  template <typename Tie>
  void for_each_tie(const Tie& tie) const;
  std::uint64_t effort() const;

  const Execution& execution_;
  const CallLayout& layout_;
  const FabricDraft& draft_;
  std::span<const ChannelChunking> cuts_;  // by channel
  Colours workers_;
  Colours fifos_;
  Colours resources_;
  std::vector<bool> left_out_;  // by resource
};

/// What all flows together could not fill slows nobody down. A link on which senders contend counts
/// all the same: theirs get less long before it is full.
void CallColours::leave_out_resources() {
  const auto capacities = draft_.capacities();
  const std::vector<double> least = min_capacities();
  const std::vector<double> most = max_of_fifos();
  std::vector<double> load(capacities.size());
  for (std::size_t i = 0; i < most.size(); ++i) {
    for (const ResourceId resource : draft_.route(layout_.fifos[i].route)) {
      load[resource] += most[i];
    }
  }
  for (const Worker& worker : layout_.workers) {
    for (const ResourceId resource : draft_.route(worker.store_route)) {
      load[resource] = unlimited.value;
    }
  }
  load_by_proxies(load);
  constexpr double rounding = 1e-9;
  for (std::size_t i = 0; i < load.size(); ++i) {
    left_out_.push_back(!(capacities[i] < unlimited) || load[i] * (1 + rounding) < least[i]);
  }
}

/// Each connection has a message on the network at once, and keeps both threads busy with it.
void CallColours::load_by_proxies(std::vector<double>& load) const {
  for (const ProxyRoutes& proxy : layout_.proxies) {
    for (const ResourceId resource : draft_.route(proxy.network)) load[resource] = unlimited.value;
    for (const RouteId thread : {proxy.sender, proxy.receiver}) {
      for (const ResourceId resource : draft_.route(thread)) {
        load[resource] += network_thread_capacity.value;
      }
    }
  }
}

/// Of each resource, whatever the events do to it.
std::vector<double> CallColours::min_capacities() const {
  std::vector<double> least;
  for (const BytesPerSecond capacity : draft_.capacities()) least.push_back(capacity.value);
  if (execution_.events == nullptr) return least;
  for (const MachineChange& change : execution_.events->changes) {
    for (const CapacityChange& each : change.capacities) {
      least[each.resource] = std::min(least[each.resource], each.capacity.value);
    }
  }
  return least;
}

/// The most that moves over each FIFO at once. A group may list one several times.
std::vector<double> CallColours::max_of_fifos() const {
  std::vector<double> most(layout_.fifos.size());
  std::vector<double> at_once(layout_.fifos.size());
  for (const Worker& worker : layout_.workers) {
    for_each_uniform_run(worker.program, [&](const Primitive& primitive, std::uint32_t) {
      const double rate = worker.contends ? unlimited.value : max_of(worker, primitive);
      const auto fifos = layout_.fifos_of(worker, primitive.send_group);
      for (const FifoId fifo : fifos) at_once[fifo] = 0;
      for (const FifoId fifo : fifos) at_once[fifo] += rate;
      for (const FifoId fifo : fifos) most[fifo] = std::max(most[fifo], at_once[fifo]);
    });
  }
  return most;
}

void CallColours::colour_resources() {
  for (const BytesPerSecond capacity : draft_.capacities()) {
    resources_.push_back(mix(Colour{1}, colour_of(capacity.value)));
  }
  if (execution_.events == nullptr) return;
  for (const MachineChange& change : execution_.events->changes) {
    for (const CapacityChange& each : change.capacities) {
      Colour& colour = resources_[each.resource];
      colour = mix(mix(colour, colour_of(change.at.value)), colour_of(each.capacity.value));
    }
  }
}

void CallColours::colour_fifos() {
  for (const Fifo& fifo : layout_.fifos) {
    const Colour latency = mix(mix(Colour{2}, colour_of(fifo.alpha.value)), Colour{fifo.credits});
    fifos_.push_back(mix(latency, Colour{fifo.route_is_free} + 2 * Colour{fifo.proxy.has_value()}));
  }
}

void CallColours::colour_workers() {
  for (WorkerId id = 0; id < layout_.workers.size(); ++id) {
    const Worker& worker = layout_.workers[id];
    Colour colour = mix(Colour{3}, Colour{cuts_[worker.channel].alike});
    // Who comes first at an instant gets more of a link: channels differ there, but for those of
    // which none comes first.
    const bool by_channel =
        (worker.contends && !execution_.plan.channels_divide_chunks) || execution_.cost.jitter > 0;
    if (by_channel) colour = mix(colour, Colour{worker.channel});
    colour = mix(colour, std::bit_cast<std::uintptr_t>(worker.setting.cost));
    colour = mix(colour, Colour{worker.is_agent} + 2 * Colour{worker.contends});
    colour = mix(colour, static_cast<Colour>(worker.setting.round));
    for (const double each : {worker.shared.value, worker.part.value, worker.setting.warps,
                              worker.setting.speed, worker.setting.half_block ? 1.0 : 0.0}) {
      colour = mix(colour, colour_of(each));
    }
    if (execution_.events != nullptr && !worker.is_agent) {
      colour = mix(colour, colour_of(execution_.events->late_by(worker.rank).value));
    }
    workers_.push_back(mix(mix(colour, colour_of_program(id)), colour_of_sizes(worker)));
  }
}

/// What it does, chunk numbers aside: how large they are, colour_of_sizes() says. FIFOs take in at
/// which places they are used.
Colour CallColours::colour_of_program(WorkerId id) {
  const Worker& worker = layout_.workers[id];
  const auto runs = worker.program.runs();
  Colour colour = 0;
  Colour place = 0;
  for (std::size_t i = 0; i < runs.size(); ++place) {
    const Primitive& first = runs[i].first;
    std::uint64_t length = 0;
    for (; i < runs.size() && alike(runs[i].first, first) &&
           runs[i].first.chunk_count == first.chunk_count;
         ++i) {
      length += runs[i].repeats;
    }
    const auto sent = layout_.fifos_of(worker, first.send_group);
    const auto received = layout_.fifos_of(worker, first.receive_group);
    colour = mix(mix(colour, length), Colour{first.chunk_count});
    colour = mix(colour, static_cast<Colour>(first.kind));
    colour = mix(mix(colour, Colour{sent.size()}), Colour{received.size()});
    for (const FifoId fifo : sent) fifos_[fifo] += scramble(2 * place);
    for (const FifoId fifo : received) fifos_[fifo] += scramble(2 * place + 1);
  }
  return colour;
}

/// What it moves in each primitive of the loops in which chunks are not all as large. In a ring all
/// chunks pass every rank, each time in another order; in a stripe, only its own does.
Colour CallColours::colour_of_sizes(const Worker& worker) const {
  Colour colour = 0;
  for (const ChunkSizes& sizes : cuts_[cuts_[worker.channel].alike].uneven) {
    colour = mix(colour, sizes.of_program(worker.program));
  }
  return colour;
}

template <typename Tie>
void CallColours::for_each_tie(const Tie& tie) const {
  constexpr Colour loads = 2;
  constexpr Colour sent_by = 4;
  constexpr Colour received_by = 6;
  constexpr Colour stores = 8;
  constexpr Colour beside = 10;
  constexpr Colour carries = 12;
  constexpr Colour sent_by_thread = 14;
  constexpr Colour received_by_thread = 16;
  const std::size_t first_fifo = layout_.workers.size();
  const std::size_t first_resource = first_fifo + layout_.fifos.size();
  for (std::size_t i = 0; i < layout_.fifos.size(); ++i) {
    const Fifo& fifo = layout_.fifos[i];
    for (const ResourceId resource : draft_.route(fifo.route)) {
      if (!left_out_[resource]) tie(first_fifo + i, first_resource + resource, loads);
    }
    if (fifo.sender != no_worker) tie(first_fifo + i, fifo.sender, sent_by);
    if (fifo.receiver != no_worker) tie(first_fifo + i, fifo.receiver, received_by);
  }
  for (const ProxyRoutes& proxy : layout_.proxies) {
    for (const auto& [route, colour] :
         {std::pair{proxy.network, carries}, std::pair{proxy.sender, sent_by_thread},
          std::pair{proxy.receiver, received_by_thread}}) {
      for (const ResourceId resource : draft_.route(route)) {
        if (!left_out_[resource]) tie(first_fifo + proxy.fifo, first_resource + resource, colour);
      }
    }
  }
  for (std::size_t i = 0; i < layout_.workers.size(); ++i) {
    const Worker& worker = layout_.workers[i];
    for (const ResourceId resource : draft_.route(worker.store_route)) {
      tie(i, first_resource + resource, stores);
    }
    if (worker.other_lane != no_worker) tie(i, worker.other_lane, beside);
  }
}

/// Rounds that cost a small part of what the call's messages cost.
std::uint64_t CallColours::effort() const {
  std::uint64_t primitives = 0;
  for (const Worker& worker : layout_.workers) {
    primitives += std::uint64_t{worker.loops} * worker.program.size();
  }
  const std::uint64_t once = workers_.size() + fifos_.size() + resources_.size();
  constexpr std::uint64_t least = 16;
  constexpr std::uint64_t part = 2;
  return std::max(least, primitives * execution_.partition.chunking().slices / (part * once));
}

/// Classes are counted after 1, 2, 3, 4, 5, 7, 9, 12... rounds: to count them costs more than a
/// round. They only ever split, so that equal numbers mean that none has.
bool CallColours::refine(double max_share) {
  const std::uint64_t rounds = effort();
  Colours all = workers_;
  all.insert(all.end(), fifos_.begin(), fifos_.end());
  all.insert(all.end(), resources_.begin(), resources_.end());
  ColourRefinement refinement(std::move(all));
  const auto workers = refinement.colours().first(workers_.size());
  const auto fifos = refinement.colours().subspan(workers_.size(), fifos_.size());
  const auto resources = refinement.colours().last(resources_.size());
  std::size_t before = 0;
  std::uint64_t next_count = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (i == next_count) {
      const std::size_t of_workers = count_distinct(workers);
      const double share = static_cast<double>(of_workers) / static_cast<double>(workers.size());
      if (share > max_share) return false;
      const std::size_t classes = of_workers + count_distinct(fifos) + count_distinct(resources);
      if (classes == before) {
        workers_.assign(workers.begin(), workers.end());
        fifos_.assign(fifos.begin(), fifos.end());
        resources_.assign(resources.begin(), resources.end());
        return true;
      }
      before = classes;
      next_count += 1 + i / 4;
    }
    refinement.refine([this](const auto& tie) { for_each_tie(tie); });
  }
  return false;
}

/// Classes in order of their first member.
ClassesOf classes_of(const Colours& colours, const std::vector<bool>& left_out) {
  ClassesOf classes;
  std::unordered_map<Colour, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < colours.size(); ++i) {
    if (!left_out.empty() && left_out[i]) {
      classes.of.push_back(ClassesOf::none);
      continue;
    }
    const auto next = static_cast<std::uint32_t>(classes.size.size());
    const auto [entry, added] = numbers.try_emplace(colours[i], next);
    if (added) {
      classes.first_member.push_back(i);
      classes.size.push_back(0);
    }
    ++classes.size[entry->second];
    classes.of.push_back(entry->second);
  }
  return classes;
}

Symmetry CallColours::symmetry() const {
  Symmetry found{classes_of(workers_, {}), classes_of(fifos_, {}),
                 classes_of(resources_, left_out_)};
  Colours ranks(execution_.plan.ranks());
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Rank rank = layout_.workers[i].rank;
    if (!layout_.workers[i].is_agent) ranks[rank] += scramble(workers_[i]);
  }
  found.rank_classes = static_cast<std::uint32_t>(count_distinct(ranks));
  return found;
}

/// What flows of one class load, each resource's class once: with as many of them as one resource
/// of the class carries. `members`: of the class of flows.
std::vector<Load> folded_route(std::span<const ResourceId> route, std::uint32_t members,
                               const ClassesOf& resources) {
  std::vector<Load> loads;
  for (const ResourceId resource : route) {
    const std::uint32_t of = resources.of[resource];
    if (of == ClassesOf::none) continue;
    const auto known = std::find_if(loads.begin(), loads.end(),
                                    [&](const Load& load) { return load.resource == of; });
    if (known == loads.end()) {
      loads.push_back({of, members});
    } else {
      known->times += members;
    }
  }
  for (Load& load : loads) {
    assert(load.times % resources.size[load.resource] == 0);
    load.times /= resources.size[load.resource];
  }
  return loads;
}

/// Whether no two equals send over a link on which senders contend.
bool equals_never_contend(const Symmetry& symmetry, const CallLayout& layout,
                          const FabricDraft& draft) {
  for (std::uint32_t i = 0; i < symmetry.fifos.size.size(); ++i) {
    const Fifo& fifo = layout.fifos[symmetry.fifos.first_member[i]];
    if (fifo.sender == no_worker || !layout.workers[fifo.sender].contends) continue;
    const auto loads =
        folded_route(draft.route(fifo.route), symmetry.fifos.size[i], symmetry.resources);
    if (std::any_of(loads.begin(), loads.end(), [](const Load& load) { return load.times > 1; })) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool may_fold(const Execution& execution) {
  if (!execution.fold || execution.calls > 1) return false;
  if (execution.events == nullptr) return true;
  const auto& changes = execution.events->changes;
  return std::all_of(changes.begin(), changes.end(),
                     [](const MachineChange& change) { return change.wires.empty(); });
}

namespace {

std::optional<Symmetry> find_symmetry(const Execution& execution, const CallLayout& layout,
                                      const FabricDraft& draft, double max_share) {
  // Who comes first at an instant is copied into its socket first.
  const bool has_sockets = execution.cost.proxy.socket.count > 0 && !layout.proxies.empty();
  const bool are_seen = draft.bursts() || has_sockets;
  if (layout.workers.empty() || are_seen || !may_fold(execution)) return std::nullopt;
  const std::vector<ChannelChunking> cuts = cuts_of(execution.plan, execution.partition);
  CallColours colours(execution, layout, draft, cuts);
  if (!colours.refine(max_share)) return std::nullopt;
  Symmetry symmetry = colours.symmetry();
  if (!execution.plan.channels_divide_chunks && !equals_never_contend(symmetry, layout, draft)) {
    return std::nullopt;
  }
  return symmetry;
}

}  // namespace

std::optional<Symmetry> symmetry_of(const Execution& execution, const CallLayout& layout,
                                    const FabricDraft& draft, double max_share) {
  if (!execution.fold) return std::nullopt;
  if (execution.found != nullptr && execution.found->is_known) return execution.found->symmetry;
  std::optional<Symmetry> symmetry = find_symmetry(execution, layout, draft, max_share);
  const bool is_all = symmetry || max_share >= max_share_of_classes;
  if (execution.found != nullptr && is_all) *execution.found = {true, symmetry};
  return symmetry;
}

namespace {

/// Appends the class of each member, but for members that are equal to another one before. One that
/// is listed twice is used twice.
void append_one_of_each_class(std::vector<FifoId>& list, std::span<const FifoId> members,
                              const ClassesOf& classes) {
  std::vector<FifoId> taken;  // one of each class
  for (const FifoId member : members) {
    const std::uint32_t of = classes.of[member];
    const auto known = std::find_if(taken.begin(), taken.end(),
                                    [&](FifoId other) { return classes.of[other] == of; });
    const bool is_new = known == taken.end();
    if (is_new || *known == member) list.push_back(of);
    if (is_new) taken.push_back(member);
  }
}

void fold_fifos(CallLayout& folded, const CallLayout& layout, const Symmetry& symmetry,
                const FabricDraft& draft, Fabric& fabric) {
  const ClassesOf& classes = symmetry.fifos;
  const auto fold_route = [&](RouteId route, std::uint32_t members) {
    return fabric.add_folded_route(folded_route(draft.route(route), members, symmetry.resources));
  };
  for (std::size_t i = 0; i < classes.size.size(); ++i) {
    Fifo fifo = layout.fifos[classes.first_member[i]];
    fifo.route = fold_route(fifo.route, classes.size[i]);
    if (fifo.sender != no_worker) fifo.sender = symmetry.workers.of[fifo.sender];
    if (fifo.receiver != no_worker) fifo.receiver = symmetry.workers.of[fifo.receiver];
    if (fifo.proxy) {
      ProxyRoutes proxy = layout.proxies[*fifo.proxy];
      proxy.fifo = static_cast<FifoId>(i);
      for (RouteId* route : {&proxy.network, &proxy.sender, &proxy.receiver}) {
        *route = fold_route(*route, classes.size[i]);
      }
      fifo.proxy = static_cast<ProxyId>(folded.proxies.size());
      folded.proxies.push_back(proxy);
    }
    folded.fifos.push_back(fifo);
  }
  folded.fifo_of = classes.of;
  for (std::size_t list = 0; list + 1 < layout.list_begins.size(); ++list) {
    const std::uint32_t begin = layout.list_begins[list];
    const auto members =
        std::span(layout.listed).subspan(begin, layout.list_begins[list + 1] - begin);
    append_one_of_each_class(folded.listed, members, classes);
    folded.list_begins.push_back(static_cast<std::uint32_t>(folded.listed.size()));
  }
}

void fold_workers(CallLayout& folded, const CallLayout& layout, const Symmetry& symmetry,
                  const FabricDraft& draft, Fabric& fabric) {
  const ClassesOf& classes = symmetry.workers;
  for (Launch& launch : folded.launches) launch.workers.clear();
  for (std::size_t i = 0; i < classes.size.size(); ++i) {
    Worker worker = layout.workers[classes.first_member[i]];
    worker.copies = classes.size[i];
    worker.store_route = fabric.add_folded_route(
        folded_route(draft.route(worker.store_route), worker.copies, symmetry.resources));
    if (worker.other_lane != no_worker) worker.other_lane = classes.of[worker.other_lane];
    folded.launches[worker.rank].workers.push_back(static_cast<WorkerId>(i));
    folded.workers.push_back(worker);
  }
}

}  // namespace

CallLayout fold(const CallLayout& layout, const Symmetry& symmetry, const FabricDraft& draft,
                Fabric& fabric) {
  CallLayout folded;  // FIFOs may be millions: they are not copied
  folded.launches = layout.launches;
  folded.first_fifos = layout.first_fifos;
  folded.thread_blocks = layout.thread_blocks;
  folded.counts_bytes = layout.counts_bytes;
  folded.min_units = layout.min_units;
  for (const std::uint32_t first : symmetry.resources.first_member) {
    fabric.add_resource(draft.capacities()[first]);
  }
  fold_fifos(folded, layout, symmetry, draft, fabric);
  fold_workers(folded, layout, symmetry, draft, fabric);
  folded.resource_of = symmetry.resources.of;
  folded.resource_copies = symmetry.resources.size;
  folded.rank_classes = symmetry.rank_classes;
  return folded;
}

}  // namespace collsim
