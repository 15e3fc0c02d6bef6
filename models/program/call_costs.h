#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/predict/predictor.h"
#include "models/program/call_program.h"
#include "models/program/calls_in_node.h"
#include "models/program/shared_network.h"

namespace collsim {

class Nccl;

/// What one call costs by itself, and what it takes from others meanwhile.
struct CallCost {
  Seconds alone{};     ///< from the last rank's start to the end
  Seconds latency{};   ///< the part of `alone` that kernels and the network do not make longer
  double network = 0;  ///< the share of its nodes' NICs that it fills apart from `latency`
  std::uint32_t channels = 0;  ///< multiprocessors that it keeps on each GPU
  /// The number of a call inside a node there (CallCosts::rates_in_node()).
  std::optional<std::uint32_t> in_node{};
};

/// Says what calls cost. Schedules ask it once per call, so it should cache them.
class CallCosts {
 public:
  CallCosts() = default;
  virtual ~CallCosts() = default;
  CallCosts(const CallCosts&) = delete;
  CallCosts& operator=(const CallCosts&) = delete;
  CallCosts(CallCosts&&) = delete;
  CallCosts& operator=(CallCosts&&) = delete;

  virtual CallCost cost_of(const ProgramCommunicator& communicator, const ProgramCall& call) = 0;
  /// How fast calls inside nodes move while all of them do, each as a part of its rate alone.
  virtual std::vector<double> rates_in_node(std::span<const std::uint32_t> calls) {
    return std::vector<double>(calls.size(), 1);
  }
};

/// The costs of a program's calls, each asked for once.
class ProgramCosts {
 public:
  /// Both must outlive it.
  ProgramCosts(const CallProgram& program, CallCosts& costs) : program_(program), costs_(costs) {}

  const CallCost& of(const ProgramCall& call);

 private:
  const CallProgram& program_;
  CallCosts& costs_;
  std::map<std::tuple<std::uint32_t, ProgramCallKind, std::int64_t, Rank, std::uint32_t>, CallCost>
      known_;
};

/// How calls on a machine are predicted.
struct MachineCalls {
  const Topology* topology = nullptr;  ///< must outlive who uses this
  std::vector<DeviceId> gpus{};        ///< rank i of the program sits on gpus[i]
  RunSpec run{};                       ///< as for a single call: NCCL's version, variables
  bool simulate = false;               ///< calls are simulated; else formulas say their time
  /// Faults of links, which hold all the time. A communicator that stands for others like it has
  /// the faults that its own ranks meet.
  MachineFaults faults{};
};

/// The costs of calls on a machine, by what NCCL chooses there. Communicators of the same shape (as
/// many ranks on the same places of as many nodes) share their answers; where nodes are placed at
/// random or by a list, they also need to lie on leaves alike.
class MachineCallCosts : public CallCosts {
 public:
  explicit MachineCallCosts(MachineCalls calls);

  /// Throws InputError where NCCL does not run there.
  CallCost cost_of(const ProgramCommunicator& communicator, const ProgramCall& call) override;
  std::vector<double> rates_in_node(std::span<const std::uint32_t> calls) override {
    return in_node_.rates(calls);
  }

 private:
  using Shape = std::pair<Collective, std::vector<std::uint32_t>>;
  /// Whether there are several nodes, and the places of the GPUs that each of them has.
  using NodePlaces = std::pair<bool, std::vector<std::uint32_t>>;

  Shape shape_of(const ProgramCommunicator& communicator, const ProgramCall& call) const;
  Rank root_among(const std::vector<DeviceId>& gpus, const ProgramCommunicator& communicator,
                  const ProgramCall& call) const;
  Predictor& predictor(const ProgramCommunicator& communicator, const ProgramCall& call);
  CallSpec spec_of(Collective collective, std::vector<DeviceId> gpus);
  const Nccl*& searched_for(const std::vector<DeviceId>& gpus);
  std::optional<std::uint32_t> number_in_node(const ProgramCommunicator& communicator,
                                              const ProgramCall& call, Bytes size);
  CallCost cost_of_shape(const ProgramCommunicator& communicator, const ProgramCall& call,
                         Bytes size);
  void add_traffic(const ProgramCommunicator& communicator, const ProgramCall& call, Bytes bytes,
                   CallCost& cost);
  void add_node_traffic(const std::vector<Rank>& ranks, const ProgramCall& call, double moved,
                        NodeTraffic& traffic) const;
  std::vector<std::vector<Rank>> equal_communicators(const ProgramCommunicator& communicator) const;

  MachineCalls calls_;
  Calibration cost_;
  bool mixed_;      ///< nodes are of several kinds
  bool scattered_;  ///< ranks do not follow the nodes' numbers from the first on
  FabricLeaves leaves_;
  SharedNetwork network_;
  std::map<Shape, std::unique_ptr<Predictor>> predictors_;
  /// NCCL's search, the longest part of a prediction, whose answer all collectives share.
  std::map<NodePlaces, const Nccl*> searched_;
  std::map<std::tuple<Shape, std::int64_t, std::uint32_t, std::size_t>, CallCost> known_;
  CallsInNode in_node_;
};

}  // namespace collsim
