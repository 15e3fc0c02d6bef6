#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/recordings/recording.h"
#include "models/validation/recorded_call.h"
#include "models/validation/validation.h"
#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/calibrate/parameter.h"
#include "tools/collsim/calibrate/row_pattern.h"

namespace collsim {

/// A recorded time, and the simulation that predicts it.
struct FitRow {
  RecordedRow recorded;
  std::size_t recording = 0;  ///< in the order of add()
  std::size_t point = 0;
  bool held_out = false;  ///< scored, but not fitted to
  double weight = 1;      ///< in the loss
  const Topology* machine = nullptr;
};

/// A constant that overrides the calibration for some rows, for example because their machine has
/// another CPU.
struct PinnedConstant {
  Parameter parameter;
  double value = 0;  ///< in the units of Parameter::in
};

/// One size of one call.
struct FitPoint {
  std::size_t compiler = 0;
  Bytes size;
  std::string algorithm;
  Protocol protocol = Protocol::simple;
  double work = 0;  ///< about how long it takes to simulate; no unit
};

/// Which rows of a recording are used, and how.
struct FitSelection {
  ValidationOptions rows;             ///< as validate() takes them
  std::optional<RowPattern> sizes{};  ///< others are not used
  /// Rows that match none of them are not used. If empty, all rows are used.
  std::vector<RowPattern> used{};
  /// Rows that match none of them are held out. If not given, none is held out here.
  std::optional<std::vector<RowPattern>> fitted{};
  std::vector<RowPattern> held_out{};  ///< rows that are always held out
  double weight = 1;
  std::vector<PinnedConstant> pinned{};
};

/// Whether the selection includes a row, even if it cannot be predicted.
bool is_used(const RecordedRow& row, const FitSelection& selection);

/// What a fit's constants are about: a machine, the transport between hosts of several, or the
/// NVSwitches of several.
enum class FitSubject : std::uint8_t { machine, transport, nvls };

/// The machine that a row was made on.
using MachineOf = std::function<const Topology&(const RecordedRow&)>;

/// Recorded rows of one or several machines, laid out once to simulate them with changing costs.
class FitRows {
 public:
  /// Costs of a transport (with_transport()) or of NVSwitches (Calibration::nvls) stand beside
  /// those of each machine's GPUs.
  explicit FitRows(const Calibration& cost, FitSubject subject = FitSubject::machine)
      : cost_(cost), subject_(subject) {}

  /// Adds the selected rows that can be predicted. What NCCL ran in a row must be what collsim
  /// expects it to choose. `machine_of` returns a row's machine, which must outlive this.
  void add(const Recording& recording, const MachineOf& machine_of, const FitSelection& selection);

  /// Holds out one of `one_of` sizes of each call, the next to the largest among them. A call of
  /// fewer than three sizes is fitted to whole.
  void hold_sizes_out(std::size_t one_of);

  /// Divides each row's weight by the root of its machine's rows, so that a machine with many rows
  /// counts little more than one with few.
  void weigh_machines();

  const std::vector<FitRow>& rows() const { return rows_; }
  const std::vector<FitPoint>& points() const { return points_; }
  const std::map<std::string, LeftOut>& left_out() const { return left_out_; }
  const std::set<std::string>& warnings() const { return warnings_; }

  /// Simulated times of some points with these costs. The longest begin first. Calls `stop` before
  /// each of them and throws FitStopped if it returns true.
  std::vector<Seconds> times(const Calibration& cost, const std::vector<std::size_t>& points,
                             std::uint32_t threads, const std::function<bool()>& stop = {}) const;
  /// The rows that are held out, or the others, with predictions from the times of all points.
  std::vector<ValidatedRow> validated(const std::vector<Seconds>& times, bool held_out) const;

 private:
  /// A call's planner, or why there is none.
  struct Laid {
    std::optional<std::size_t> compiler;
    std::string refusal;
  };
  /// The key of a compiler: the call, the machine, NCCL's version, and the set of pinned
  /// constants.
  using CallKey = std::tuple<RecordedCall, const Topology*, NcclVersion, std::size_t>;
  /// A machine's costs where the constants are these.
  Calibration cost_on(const Topology& topology, const Calibration& cost) const;
  std::string add_row(const RecordedRow& row, const Topology& topology,
                      const FitSelection& selection);
  std::optional<std::size_t> compiler_of(const RecordedCall& call, const Topology& topology,
                                         NcclVersion version, std::string& refusal);

  Calibration cost_;
  FitSubject subject_;
  std::map<const Topology*, Calibration> gpus_;  // but for a machine: its own costs
  std::map<const Topology*, Hosts> hosts_;
  std::vector<std::vector<PinnedConstant>> pinned_;  // by recording
  std::vector<std::unique_ptr<CallCompiler>> compilers_;
  std::vector<LayoutCache> caches_;  // by planner
  std::vector<CompiledCall> plans_;  // by point
  std::map<CallKey, Laid> calls_;
  std::map<std::pair<std::size_t, Bytes>, std::size_t> point_of_;
  std::vector<FitPoint> points_;
  std::vector<FitRow> rows_;
  std::map<std::string, LeftOut> left_out_;
  std::set<std::string> warnings_;
};

/// Thrown when the caller asks to stop.
class FitStopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

}  // namespace collsim
