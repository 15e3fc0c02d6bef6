#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "models/call/call_compiler.h"
#include "sim/execution/wiring.h"

namespace collsim {

/// Calls inside nodes, and how they slow each other down there: those that run at once are one
/// execution, in which each has its own channels and thread blocks, and all share links and host
/// memory.
class CallsInNode {
 public:
  /// How a call on some GPUs is predicted.
  using SpecOf = std::function<CallSpec(Collective, const std::vector<DeviceId>&, Rank root)>;
  /// Calls on these GPUs at once, each of the same size: a communicator and those alike beside it.
  struct Call {
    Collective collective = Collective::all_reduce;
    Bytes size;
    Rank root = 0;  ///< its place among the GPUs of each
    std::vector<std::vector<DeviceId>> gpus{};
    auto operator<=>(const Call&) const = default;
  };

  explicit CallsInNode(SpecOf spec_of) : spec_of_(std::move(spec_of)) {}

  /// The number of a call, the same for the same call.
  std::uint32_t number_of(const Call& call);

  /// How fast each call moves while all of them do, as a part of its rate alone: such that calls
  /// that begin together end as one execution of them says. Calls that share nothing do not slow
  /// each other down.
  std::vector<double> rates(std::span<const std::uint32_t> calls);

 private:
  /// A resource of the machine, by what it stands for.
  using Resource = std::tuple<bool, std::uint32_t, std::optional<HostShare>>;
  struct Communicator {
    std::unique_ptr<const CallCompiler> compiler;
    std::unique_ptr<LayoutCache> layouts;
  };
  struct Known {
    Call call;
    std::vector<const Communicator*> communicators{};  ///< none: not laid out yet
    std::set<Resource> loads{};
    bool shares = false;  ///< whether its communicators share any of them
    Seconds alone{};      ///< one communicator's; 0: not known yet
  };
  using Numbers = std::vector<std::uint32_t>;

  void lay_out(Known& known);
  std::vector<std::size_t> sharing_with(std::span<const std::uint32_t> calls,
                                        std::size_t first) const;
  const std::vector<double>& rates_of_sharing(const Numbers& calls);
  std::vector<CompiledCall> compiled(const Known& known) const;
  std::vector<Seconds> times_at_once(const Numbers& calls) const;
  Seconds time_alone(std::uint32_t call);

  SpecOf spec_of_;
  std::vector<Known> known_;
  std::map<Call, std::uint32_t> numbers_;
  std::map<std::tuple<Collective, Rank, std::vector<DeviceId>>, Communicator> communicators_;
  std::map<Numbers, std::vector<double>> rates_;  // of calls that share, in order
};

}  // namespace collsim
