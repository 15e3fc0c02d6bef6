#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

/// collsim as a library: load a machine, say what is called, and get predictions. Wrong input
/// throws std::runtime_error, whose text is "what is wrong; what would be accepted", with
/// `file:line:col: ` before it where a file is wrong. std::logic_error is a bug of collsim's.
/// Threads may call at the same time, but only one of them on the engine `simgrid`.
namespace collsim::api {

/// What stands behind a Machine.
struct LoadedMachine;

/// A machine and the constants that its calls cost. Copies share what was loaded.
struct Machine {
  std::string name;         ///< as its file says
  std::string calibration;  ///< the name of its calibration
  std::uint32_t gpus = 0;
  std::vector<std::string> warnings;  ///< what a person should know of how it was read
  std::shared_ptr<const LoadedMachine> loaded;
};

/// `topology` is a topology file, a topology dump of NCCL's (*.xml), or the name of a shipped
/// topology (machine_names()). `calibration` is a calibration file or the name of a shipped one
/// (calibration_names()); where empty, the one that suits the topology.
Machine load_machine(std::string_view topology, std::string_view calibration = {});

/// What is called, and who decides how it runs. What is left open is decided as by `collsim run`.
struct Call {
  std::string collective = "all_reduce";  ///< one of collective_names()
  std::string schedule{};                 ///< "nccl" or "textbook"
  std::string algorithm{};  ///< one of algorithm_names(), or of NCCL's such as "nvls_tree"
  std::string protocol{};   ///< "LL", "LL128" or "Simple"
  std::map<std::string, std::string> variables{};  ///< of NCCL's environment, NCCL_*
  std::optional<std::uint32_t> ranks{};  ///< the first GPUs of the machine; all where not given
  std::uint32_t root = 0;                ///< counts only where the collective has one
};

/// How long a call of one size takes, and how far that is from what is possible.
struct Prediction {
  std::int64_t bytes = 0;      ///< nccl-tests' size, cut down to whole elements of 4 bytes
  double time_us = 0;          ///< until the last rank is done
  double algbw_gb_s = 0;       ///< bytes over time, in 1e9 bytes per second
  double busbw_gb_s = 0;       ///< algbw by the factor of nccl-tests
  double bound_us = 0;         ///< no run on this machine can be faster, whatever the algorithm
  std::string algorithm;       ///< what ran
  std::string protocol;        ///< "LL", "LL128" or "Simple"
  std::uint32_t channels = 0;  ///< that carried data
  std::string trust;           ///< "exact", "measured", "derived" or "guessed"
  std::optional<double> nccl_estimate_us;  ///< what NCCL itself expects, where it tunes the call
};

/// Predictions for those sizes in bytes, in their order, by simulation on one of engine_names().
std::vector<Prediction> simulate(const Machine& machine, const Call& call,
                                 const std::vector<std::int64_t>& sizes,
                                 std::string_view engine = "native");

/// The same by the analytic model: closed forms, or the critical path and the busiest link.
std::vector<Prediction> estimate(const Machine& machine, const Call& call,
                                 const std::vector<std::int64_t>& sizes);

/// The names that this build and its shipped files have.
std::vector<std::string> collective_names();
/// The textbook's algorithms for a collective.
std::vector<std::string> algorithm_names(std::string_view collective);
std::vector<std::string> engine_names();
std::vector<std::string> machine_names();
std::vector<std::string> calibration_names();

}  // namespace collsim::api

#pragma GCC visibility pop
