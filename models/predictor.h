#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/bounds.h"
#include "models/estimate.h"
#include "models/nccl/choice.h"
#include "models/scenario.h"
#include "sim/algorithms/registry.h"
#include "sim/engine.h"
#include "sim/plan.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"
#include "sim/wiring.h"

namespace collsim {

/// How long one call takes, and how far that is from what is possible.
struct Prediction {
  Bytes size;
  Seconds time;
  std::string algorithm;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;            ///< that carried data
  std::optional<Seconds> nccl_estimate;  ///< what NCCL itself expects, under NCCL's rules
  Bounds bounds;
  EstimateMethod method = EstimateMethod::closed_form;  ///< of an estimate
  std::uint64_t transfers = 0;                          ///< messages simulated; 0 for an estimate
};

/// One way of running a collective on one machine, laid out once and asked at many sizes.
///
/// Every answer is checked against its lower bounds: one that is below them (by more than rounding)
/// is a bug of ours and throws std::logic_error instead of being returned. Keeps the plans that it
/// has laid out; not for use by several threads at once.
class Predictor {
 public:
  /// Uses the first `ranks` GPUs; `root` counts only where the collective has one. Throws
  /// InputError where the machine has fewer, or the algorithm does not run on that placement.
  Predictor(const Topology& topology, const TransferCost& cost, Collective collective,
            const RunSpec& run, Rank ranks, Rank root = 0);

  /// By simulation. `engine` is native or simgrid.
  Prediction simulate(Bytes size, Engine engine) const;
  /// By the analytic model.
  Prediction estimate(Bytes size) const;
  /// Where the time goes if no link were shared.
  CriticalPath critical_path(Bytes size) const;

  Rank ranks() const { return placement_.ranks(); }
  /// What a person should know about the answers, one sentence each: variables that change nothing,
  /// algorithms that nothing was measured for.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// A plan on the machine.
  struct Layout {
    Plan plan;
    Wiring wiring;
  };
  /// One call, settled.
  struct Call {
    const Layout* layout;
    Binding binding;
    Protocol protocol = Protocol::simple;
    std::uint32_t warps = 0;
    std::string algorithm;
    std::optional<Seconds> nccl_estimate;
  };

  void prepare_textbook(Rank root);
  void prepare_nccl(const Topology& topology);
  void warn_of_what_is_uncalibrated();
  Call call(Bytes size) const;
  Call textbook_call(Bytes size) const;
  Call nccl_call(Bytes size) const;
  const Layout& nccl_layout(NcclAlgorithm algorithm, std::uint32_t channels) const;
  Bounds bounds_of(const Call& call) const;
  Prediction answer(const Call& call, Bytes size, Seconds time) const;

  const Topology* topology_;
  TransferCost cost_;
  Collective collective_;
  RunSpec run_;
  Rank root_;
  std::vector<DeviceId> gpus_;
  Placement placement_;
  std::unique_ptr<const Layout> textbook_;
  std::optional<Nccl> nccl_;
  mutable std::map<std::pair<NcclAlgorithm, std::uint32_t>, Layout> nccl_layouts_;
  std::vector<std::string> warnings_;
};

/// What collsim's element type is: nccl-tests' default, float.
inline constexpr Bytes element_size{4};

}  // namespace collsim
