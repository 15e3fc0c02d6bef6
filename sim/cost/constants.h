#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "sim/cost/calibration.h"

namespace collsim {

/// What a constant's number means: seconds, bytes per second, a share from 0, or a factor.
enum class Quantity : std::uint8_t { time, rate, share, factor };

struct ConstantRange {
  double min = 0;
  double max = std::numeric_limits<double>::infinity();
};

/// A constant of a cost model: its key in a calibration file, dots between the keys that lead to
/// it, and all that the reader, the fit, `calibrate --list` and with_time_scale() need to know of
/// it.
template <typename Owner>
struct Constant {
  std::string_view key;
  Quantity quantity = Quantity::time;
  ConstantRange accepted;   ///< by a calibration file
  ConstantRange plausible;  ///< of a healthy machine
  std::string_view meaning;
  bool scales_with_clock = false;  ///< of thread blocks
  /// Where it stands. A constant that is optional begins there as what counts in its place.
  double& (*in)(Owner&) = nullptr;
  /// Of a ProtocolConstant: the protocols that have it, as Protocol counts them.
  std::array<bool, protocol_count> protocols{true, true, true};
  bool of(Protocol protocol) const { return protocols[static_cast<std::size_t>(protocol)]; }
};
using MachineConstant = Constant<Calibration>;
using ProtocolConstant = Constant<ProtocolConstants>;

constexpr ConstantRange any_value{};
constexpr ConstantRange any_share{0, 1};
constexpr ConstantRange up_to(double microseconds) {
  return {0, 1e-6 * microseconds};
}
constexpr ConstantRange at_least(double gigabytes_per_second) {
  return {1e9 * gigabytes_per_second, std::numeric_limits<double>::infinity()};
}

constexpr std::array<bool, protocol_count> of_ll{true, false, false};
constexpr std::array<bool, protocol_count> of_ll128{false, true, false};
constexpr std::array<bool, protocol_count> of_simple{false, false, true};
constexpr std::array<bool, protocol_count> of_ll128_and_simple{false, true, true};

/// A link that carries less than half of its bandwidth is broken.
constexpr ConstantRange plausible_efficiency{0.5, 1.5};
/// What PCIe devices get of the links between sockets is little, on every machine: each of their
/// requests waits for the other socket.
constexpr ConstantRange plausible_between_sockets{0.05, 1};

// Times and rates are plausible up to about four times worse than the worst shipped calibration has
// them, V100 to B200, NVLink to TCP.

/// Constants of a whole machine.
inline constexpr std::array machine_constants{
    MachineConstant{"launch", Quantity::time, any_value, up_to(30), "once per call", false,
                    [](Calibration& of) -> double& { return of.launch.value; }},
    MachineConstant{"launch_per_doubling", Quantity::time, any_value, up_to(2),
                    "and for each doubling of the channels", false,
                    [](Calibration& of) -> double& { return of.launch_per_doubling.value; }},
    MachineConstant{"graph_launch", Quantity::time, any_value, up_to(15),
                    "in place of launch in a CUDA graph", false,
                    [](Calibration& of) -> double& {
                      if (!of.graph_launch) of.graph_launch = of.launch;
                      return of.graph_launch->value;
                    }},
    MachineConstant{"issue", Quantity::time, any_value, up_to(40),
                    "least time of a call: the CPU issues the next", false,
                    [](Calibration& of) -> double& { return of.issue.value; }},
    MachineConstant{"issue_per_channel", Quantity::time, any_value, up_to(1),
                    "and for each further channel of a collective", false,
                    [](Calibration& of) -> double& { return of.issue_per_channel.value; }},
    MachineConstant{"issue_per_operation", Quantity::time, any_value, up_to(4),
                    "and for each further send or receive of its group", false,
                    [](Calibration& of) -> double& { return of.issue_per_operation.value; }},
    MachineConstant{"message_setup", Quantity::time, any_value, up_to(14),
                    "in place of setup in sends and receives", true,
                    [](Calibration& of) -> double& {
                      if (!of.message_setup)
                        of.message_setup =
                            of.protocols[static_cast<std::size_t>(Protocol::simple)].setup;
                      return of.message_setup->value;
                    }},
    MachineConstant{"efficiency.nvlink", Quantity::factor, any_share, plausible_efficiency,
                    "what a link carries of its bandwidth", false,
                    [](Calibration& of) -> double& { return of.efficiency[0]; }},
    MachineConstant{"efficiency.pcie", Quantity::factor, ConstantRange{0, 1.5},
                    plausible_efficiency, "what a link carries of its bandwidth", false,
                    [](Calibration& of) -> double& { return of.efficiency[1]; }},
    MachineConstant{"efficiency.cpu", Quantity::factor, any_share, plausible_between_sockets,
                    "what a link carries of its bandwidth", false,
                    [](Calibration& of) -> double& { return of.efficiency[2]; }},
    MachineConstant{"efficiency.network", Quantity::factor, any_share, plausible_efficiency,
                    "what a link carries of its bandwidth", false,
                    [](Calibration& of) -> double& { return of.efficiency[3]; }},
    MachineConstant{"jitter", Quantity::share, ConstantRange{0, max_jitter}, any_share,
                    "how unevenly links serve slices and channels", false,
                    [](Calibration& of) -> double& { return of.jitter; }},
};

/// Constants of calls in which NVSwitches add up.
inline constexpr std::array nvls_constants{
    MachineConstant{"nvls.efficiency", Quantity::factor, any_share, plausible_efficiency,
                    "what a link carries of its bandwidth where NVSwitches add up", false,
                    [](Calibration& of) -> double& {
                      if (!of.nvls.efficiency) of.nvls.efficiency = of.efficiency[0];
                      return *of.nvls.efficiency;
                    }},
    MachineConstant{"nvls.step", Quantity::time, any_value, up_to(25),
                    "in place of Simple's step where NVSwitches add up", true,
                    [](Calibration& of) -> double& {
                      if (!of.nvls.step)
                        of.nvls.step =
                            of.protocols[static_cast<std::size_t>(Protocol::simple)].step;
                      return of.nvls.step->value;
                    }},
};

/// Corrections to the core, measured over NVLink.
inline constexpr std::array correction_constants{
    MachineConstant{"corrections.direct_setup", Quantity::time, any_value, up_to(8),
                    "more setup where primitives may reach into peers' buffers", true,
                    [](Calibration& of) -> double& { return of.corrections.direct_setup.value; }},
    MachineConstant{"corrections.copy_step", Quantity::time, any_value, up_to(4),
                    "more of a step that sends a slice on as it came", true,
                    [](Calibration& of) -> double& { return of.corrections.copy_step.value; }},
    MachineConstant{"corrections.half_block", Quantity::time, any_value, up_to(4),
                    "more of a step in thread blocks of half the warps", true,
                    [](Calibration& of) -> double& { return of.corrections.half_block.value; }},
    MachineConstant{"corrections.multi_peer", Quantity::time, any_value, up_to(5),
                    "more of a hop, or a round, of code for several peers", true,
                    [](Calibration& of) -> double& { return of.corrections.multi_peer.value; }},
    MachineConstant{"corrections.overlap", Quantity::share, any_share, any_share,
                    "what a tree's lanes do more at once than one by one", false,
                    [](Calibration& of) -> double& { return of.corrections.overlap; }},
    MachineConstant{"corrections.link_contention", Quantity::share,
                    ConstantRange{0, max_link_contention}, any_share,
                    "share of a link lost where thread blocks just fill it", false,
                    [](Calibration& of) -> double& { return of.corrections.link_contention; }},
    MachineConstant{"corrections.hol_blocking", Quantity::share,
                    ConstantRange{0, max_link_contention}, any_share,
                    "share of NVLinks lost where all GPUs send to several", false,
                    [](Calibration& of) -> double& { return of.corrections.hol_blocking; }},
};

/// Constants of the CPU threads that serve a network, and of host memory. A calibration states each
/// group whole, or none of it.
inline constexpr std::array host_constants{
    MachineConstant{"proxy.send", Quantity::time, any_value, up_to(40),
                    "CPU time of the sender's network thread per slice", false,
                    [](Calibration& of) -> double& { return of.proxy.send.value; }},
    MachineConstant{"proxy.receive", Quantity::time, any_value, up_to(40),
                    "CPU time of the receiver's network thread per slice", false,
                    [](Calibration& of) -> double& { return of.proxy.receive.value; }},
    MachineConstant{"proxy.rendezvous", Quantity::time, any_value, up_to(40),
                    "more at either end for a slice beyond `eager` bytes", false,
                    [](Calibration& of) -> double& { return of.proxy.rendezvous.value; }},
    MachineConstant{"proxy.copy", Quantity::rate, any_value, at_least(2),
                    "rate at which network threads copy", false,
                    [](Calibration& of) -> double& { return of.proxy.copy.value; }},
    MachineConstant{"proxy.rate", Quantity::rate, any_value, at_least(0.1),
                    "rate of one connection of the network", false,
                    [](Calibration& of) -> double& { return of.proxy.rate.value; }},
    MachineConstant{"memory.cached", Quantity::rate, any_value, at_least(20),
                    "rate of a node's host memory out of the cache", false,
                    [](Calibration& of) -> double& { return of.memory.cached.value; }},
    MachineConstant{"memory.rate", Quantity::rate, any_value, at_least(15),
                    "the same with buffers beyond the cache", false,
                    [](Calibration& of) -> double& { return of.memory.rate.value; }},
    MachineConstant{"memory.both_ways.at_once", Quantity::share, any_share, any_share,
                    "of a link both ways, to and from host memory at once", false,
                    [](Calibration& of) -> double& { return of.memory.at_once; }},
    MachineConstant{"memory.both_ways.in_turn", Quantity::share, any_share, any_share,
                    "the same while a GPU sends and receives in turn", false,
                    [](Calibration& of) -> double& { return of.memory.in_turn; }},
};

/// Constants of a protocol, whatever the links.
inline constexpr std::array protocol_constants{
    ProtocolConstant{"setup", Quantity::time, any_value, up_to(20),
                     "once per call of this protocol", true,
                     [](ProtocolConstants& of) -> double& { return of.setup.value; }},
    ProtocolConstant{"setup_per_warp", Quantity::time, any_value, up_to(2),
                     "and for each warp of the thread block", true,
                     [](ProtocolConstants& of) -> double& { return of.setup_per_warp.value; },
                     of_ll128_and_simple},
    ProtocolConstant{"alpha.nvlink", Quantity::time, any_value, up_to(60),
                     "from the wire until the peer sees it", true,
                     [](ProtocolConstants& of) -> double& { return of.alpha[0].value; }},
    ProtocolConstant{"alpha.pcie", Quantity::time, any_value, up_to(60),
                     "from the wire until the peer sees it", true,
                     [](ProtocolConstants& of) -> double& { return of.alpha[1].value; }},
    ProtocolConstant{"alpha.cpu", Quantity::time, any_value, up_to(60),
                     "from the wire until the peer sees it", true,
                     [](ProtocolConstants& of) -> double& { return of.alpha[2].value; }},
    ProtocolConstant{"alpha.network", Quantity::time, any_value, up_to(150),
                     "from the wire until the peer sees it", false,
                     [](ProtocolConstants& of) -> double& { return of.alpha[3].value; }},
};

/// Constants of a protocol's thread blocks; may differ by the kind of their slowest link.
inline constexpr std::array thread_block_constants{
    ProtocolConstant{"step", Quantity::time, any_value, up_to(25), "serial time per slice", true,
                     [](ProtocolConstants& of) -> double& { return of.step.value; }},
    ProtocolConstant{"read", Quantity::rate, any_value, at_least(25),
                     "rate at which a thread block loads and receives", true,
                     [](ProtocolConstants& of) -> double& { return of.read.value; }, of_simple},
    ProtocolConstant{"write", Quantity::rate, any_value, at_least(4),
                     "rate at which it stores and sends", true,
                     [](ProtocolConstants& of) -> double& { return of.write.value; }, of_simple},
    ProtocolConstant{"wait", Quantity::time, any_value, up_to(5),
                     "what a round waits for each receive and store", true,
                     [](ProtocolConstants& of) -> double& { return of.wait.value; }, of_ll},
    ProtocolConstant{"work", Quantity::time, any_value, up_to(5),
                     "a full round's work: LL for a send, LL128 for each operation", true,
                     [](ProtocolConstants& of) -> double& { return of.work.value; },
                     std::array<bool, protocol_count>{true, true, false}},
    ProtocolConstant{"first", Quantity::time, any_value, up_to(4),
                     "more of a slice's first round for each load, receive, send", true,
                     [](ProtocolConstants& of) -> double& { return of.first.value; }, of_ll128},
};

}  // namespace collsim
