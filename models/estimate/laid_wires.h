#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/machine/hop_wires.h"
#include "models/machine/link_state.h"
#include "sim/execution/wiring.h"

namespace collsim {

/// Hops of one algorithm, each of which is laid once, as on the healthy machine, and kept for
/// questions that differ by faults alone. Not for several threads at once.
class LaidWires {
 public:
  using Id = std::uint32_t;

  /// A hop.
  struct Hop {
    std::uint32_t channel = 0;
    Rank from = 0;
    Rank to = 0;  ///< the sender itself: to a switch
    LinkKind kind = LinkKind::nvlink;
    double latency = 0;
  };

  /// What faults make of a wire that loads a link that they change.
  struct Changed {
    Id id = 0;
    bool is_slow = true;  ///< no: it takes a detour that no fault has changed
    double latency = 0;
  };

  /// What faults make of all.
  struct Changes {
    std::vector<Changed> wires;      ///< by id
    std::map<Id, Wire> detours;      ///< those of them that cannot go where they always went
    std::vector<double> capacities;  ///< by ResourceId, in bytes per second
  };

  /// Marks no wire.
  static constexpr Id none = ~Id{0};

  /// The compiler must outlive it, and so must `known`, as of HopWires. Its faults do not count,
  /// but links always are as `states` says when a wire is laid.
  LaidWires(const CallCompiler& compiler, NcclAlgorithm algorithm, LinkStates states = {},
            KnownWays::OfAlgorithm* known = nullptr);

  /// Throws InputError as HopWires::lay() does.
  Id lay(std::uint32_t channel, Rank from, Rank to);
  /// Both ways between a rank and a switch that takes part.
  void lay_there_and_back(std::uint32_t channel, Rank rank, DeviceId site);

  std::size_t size() const { return hops_.size(); }
  const Hop& hop(Id id) const { return hops_[id]; }
  std::span<const ResourceId> resources(Id id) const {
    return std::span(resources_).subspan(first_[id], first_[id + 1] - first_[id]);
  }
  /// Of them, what a wire loads up to a proxy's buffer: all where there is no proxy.
  std::span<const ResourceId> to_proxy(Id id) const {
    return std::span(resources_).subspan(first_[id], network_[id] - first_[id]);
  }
  /// And what it loads from there on.
  std::span<const ResourceId> network(Id id) const {
    return std::span(resources_).subspan(network_[id], first_[id + 1] - network_[id]);
  }
  std::size_t resource_count() const { return wires_.resources(); }
  std::optional<ResourceId> resource_of(LinkId link) const { return wires_.resource_of(link); }

  /// `counts`: whether a wire is asked for.
  Changes changes(const LinkStates& states, const std::function<bool(Id)>& counts);
  /// By wire, whether it loads a link that faults change.
  std::vector<bool> loads_changed(const LinkStates& states);
  /// What links carry, by ResourceId, in bytes per second.
  std::vector<double> capacities(const LinkStates& states);

 private:
  using StateOf = std::vector<const LinkState*>;  // by resource; null: as it should be

  Id add(const Hop& hop, const Wire& wire);
  void index();
  bool is_cut(Id id, const StateOf& state_of) const;
  void add_changed(Id id, const StateOf& state_of, Changes& changes);

  LinkStates states_;  // as they were laid in
  HopWires wires_;
  std::vector<Hop> hops_;
  std::vector<std::size_t> first_{0};       // of a hop's resources
  std::vector<std::size_t> network_;        // of a hop's resources, those of the network
  std::vector<ResourceId> resources_;       // of all hops
  std::vector<std::vector<Id>> of_;         // wires by resource, once faults ask
  Id indexed_ = 0;                          // so many wires are in it
  std::vector<double> healthy_capacities_;  // by resource
};

/// Who uses the links of laid wires, and how late messages come over those that no fault has
/// changed. Every wire of it has the same weight. Refers to the wires.
class WireUsage {
 public:
  WireUsage(const LaidWires& wires, double weight) : wires_(&wires), weight_(weight) {}

  /// Wires that follow each other, on the healthy machine.
  void add(LaidWires::Id first, LaidWires::Id end);
  /// What faults make of wires that were added.
  void change(const LaidWires::Changes& changes);

  double longest_latency() const;
  /// The longest that a byte of every user takes on one of the links, in seconds.
  double busiest(const LaidWires::Changes& changes) const;
  /// The same of links that no slow wire loads.
  double busiest_beside_slow(const LaidWires::Changes& changes) const;

 private:
  void load(std::span<const ResourceId> resources, double weight);
  double busiest_beside(const LaidWires::Changes& changes, const std::vector<bool>& left_out) const;

  const LaidWires* wires_;
  double weight_;
  std::vector<double> users_;               // by ResourceId
  std::map<double, std::int64_t> of_late_;  // how many wires have a latency
};

}  // namespace collsim
