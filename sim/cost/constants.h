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
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
};

/// A constant of a cost model: its key in a calibration file, dots between the keys that lead to
/// it, and all that the reader, the fit, `calibrate --list` and at_pace() need to know of it.
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
  bool more_is_faster = false;  ///< as of rates, though it is a share
};
using MachineConstant = Constant<Calibration>;
using ProtocolConstant = Constant<ProtocolCost>;

constexpr ConstantRange any_value{};
constexpr ConstantRange any_share{0, 1};
constexpr ConstantRange up_to(double microseconds) {
  return {0, 1e-6 * microseconds};
}
constexpr ConstantRange at_least(double gigabytes_per_second) {
  return {1e9 * gigabytes_per_second, std::numeric_limits<double>::infinity()};
}

/// A PCIe link may exceed its nominal bandwidth: topologies say of PCIe what NCCL takes for usable,
/// and good hosts exceed that. A link that carries less than half of its bandwidth is broken.
constexpr ConstantRange plausible_efficiency{0.5, 1.5};

// Times and rates are plausible up to about four times worse than the worst shipped calibration has
// them, V100 to B200, NVLink to TCP.

/// Of a whole machine.
inline constexpr std::array machine_constants{
    MachineConstant{"launch", Quantity::time, any_value, up_to(30), "once per call", false,
                    [](Calibration& of) -> double& { return of.launch.value; }},
    MachineConstant{"launch_per_doubling", Quantity::time, any_value, up_to(2),
                    "and for each doubling of its thread blocks", false,
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
    MachineConstant{"issue_per_operation", Quantity::time, any_value, up_to(4),
                    "and for each further send or receive of its group", false,
                    [](Calibration& of) -> double& { return of.issue_per_operation.value; }},
    MachineConstant{"efficiency.nvlink", Quantity::factor, any_share, plausible_efficiency,
                    "what a link carries of its bandwidth", false,
                    [](Calibration& of) -> double& { return of.efficiency[0]; }},
    MachineConstant{"efficiency.pcie", Quantity::factor, ConstantRange{0, 1.5},
                    plausible_efficiency, "what a link carries of its bandwidth", false,
                    [](Calibration& of) -> double& { return of.efficiency[1]; }},
    MachineConstant{"efficiency.cpu", Quantity::factor, any_share, plausible_efficiency,
                    "what a link carries of its bandwidth", false,
                    [](Calibration& of) -> double& { return of.efficiency[2]; }},
    MachineConstant{"efficiency.network", Quantity::factor, any_share, plausible_efficiency,
                    "what a link carries of its bandwidth", false,
                    [](Calibration& of) -> double& { return of.efficiency[3]; }},
    MachineConstant{"unevenness.slice", Quantity::share, ConstantRange{0, max_unevenness},
                    any_share, "how unevenly links serve slices, by chance", false,
                    [](Calibration& of) -> double& { return of.unevenness.slice; }},
    MachineConstant{"unevenness.channel", Quantity::share, ConstantRange{0, max_unevenness},
                    any_share, "how unevenly links serve channels", false,
                    [](Calibration& of) -> double& { return of.unevenness.channel; }},
};

/// Of the CPU threads that serve a network, and of host memory. A calibration states each group
/// whole, or none of it.
inline constexpr std::array host_constants{
    MachineConstant{"proxy.send", Quantity::time, any_value, up_to(40),
                    "CPU time of the sender's network thread per slice", false,
                    [](Calibration& of) -> double& { return of.proxy.send.value; }},
    MachineConstant{"proxy.receive", Quantity::time, any_value, up_to(40),
                    "CPU time of the receiver's network thread per slice", false,
                    [](Calibration& of) -> double& { return of.proxy.receive.value; }},
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
    MachineConstant{"memory.both_ways.at_once", Quantity::rate, any_value, at_least(5),
                    "a GPU to and from host memory while it receives and sends at once", false,
                    [](Calibration& of) -> double& { return of.memory.at_once.value; }},
    MachineConstant{"memory.both_ways.in_turn", Quantity::rate, any_value, at_least(5),
                    "the same while it sends and receives in turn", false,
                    [](Calibration& of) -> double& { return of.memory.in_turn.value; }},
};

/// Of a protocol, whatever the links.
inline constexpr std::array protocol_constants{
    ProtocolConstant{"setup", Quantity::time, any_value, up_to(20),
                     "once per call of this protocol", true,
                     [](ProtocolCost& of) -> double& { return of.setup.value; }},
    ProtocolConstant{"setup_per_warp", Quantity::time, any_value, up_to(2),
                     "and for each warp of the thread block", true,
                     [](ProtocolCost& of) -> double& { return of.setup_per_warp.value; }},
    ProtocolConstant{"direct_setup", Quantity::time, any_value, up_to(8),
                     "and where primitives may reach into peers' buffers", true,
                     [](ProtocolCost& of) -> double& { return of.direct_setup.value; }},
    ProtocolConstant{"message_setup", Quantity::time, any_value, up_to(14),
                     "once per call of sends and receives", true,
                     [](ProtocolCost& of) -> double& {
                       if (!of.message_setup) of.message_setup = of.setup;
                       return of.message_setup->value;
                     }},
    ProtocolConstant{"wire_factor", Quantity::factor, ConstantRange{1, 4}, ConstantRange{1, 4},
                     "bytes on the wire per byte of data", false,
                     [](ProtocolCost& of) -> double& { return of.wire_factor; }},
    ProtocolConstant{"alpha.nvlink", Quantity::time, any_value, up_to(60),
                     "from the wire until the peer sees it", true,
                     [](ProtocolCost& of) -> double& { return of.alpha[0].value; }},
    ProtocolConstant{"alpha.pcie", Quantity::time, any_value, up_to(60),
                     "from the wire until the peer sees it", true,
                     [](ProtocolCost& of) -> double& { return of.alpha[1].value; }},
    ProtocolConstant{"alpha.cpu", Quantity::time, any_value, up_to(60),
                     "from the wire until the peer sees it", true,
                     [](ProtocolCost& of) -> double& { return of.alpha[2].value; }},
    ProtocolConstant{"alpha.network", Quantity::time, any_value, up_to(60),
                     "from the wire until the peer sees it", false,
                     [](ProtocolCost& of) -> double& { return of.alpha[3].value; }},
};

/// Of a protocol's thread blocks; may differ by the kind of the slowest link that they work with.
inline constexpr std::array thread_block_constants{
    ProtocolConstant{"slice", Quantity::time, any_value, up_to(15), "serial time per slice", true,
                     [](ProtocolCost& of) -> double& { return of.slice.value; }},
    ProtocolConstant{"fence", Quantity::time, any_value, up_to(6),
                     "more of it for a slice that has data", true,
                     [](ProtocolCost& of) -> double& { return of.fence.value; }},
    ProtocolConstant{"copy_slice", Quantity::time, any_value, up_to(4),
                     "more of it where it is sent on as it came", true,
                     [](ProtocolCost& of) -> double& { return of.copy_slice.value; }},
    ProtocolConstant{"slice_per_warp", Quantity::time, any_value, up_to(0.5),
                     "more of it for each warp", true,
                     [](ProtocolCost& of) -> double& { return of.slice_per_warp.value; }},
    ProtocolConstant{"half_block", Quantity::time, any_value, up_to(4),
                     "more of it in thread blocks of half the warps", true,
                     [](ProtocolCost& of) -> double& { return of.half_block.value; }},
    ProtocolConstant{"fan", Quantity::time, any_value, up_to(5), "on top of alpha in trees", true,
                     [](ProtocolCost& of) -> double& { return of.fan.value; }},
    ProtocolConstant{"crowding", Quantity::share, ConstantRange{0, max_crowding}, any_share,
                     "how much thread blocks slow each other down on a link", false,
                     [](ProtocolCost& of) -> double& { return of.crowding; }},
    ProtocolConstant{"mixing", Quantity::share, ConstantRange{0, max_mixing}, any_share,
                     "what is lost behind data for other GPUs", false,
                     [](ProtocolCost& of) -> double& { return of.mixing; }},
    ProtocolConstant{"overlap", Quantity::share, any_share, any_share,
                     "what a tree's lanes do more at once than one by one", false,
                     [](ProtocolCost& of) -> double& { return of.overlap; }, true},
    ProtocolConstant{"rate.load", Quantity::rate, any_value, at_least(35),
                     "rate of a thread block that reads own data", true,
                     [](ProtocolCost& of) -> double& { return of.rate.load.value; }},
    ProtocolConstant{"rate.receive", Quantity::rate, any_value, at_least(25),
                     "the same of what a peer sent", true,
                     [](ProtocolCost& of) -> double& { return of.rate.receive.value; }},
    ProtocolConstant{"rate.store", Quantity::rate, any_value, at_least(10),
                     "rate at which it writes into the own buffer", true,
                     [](ProtocolCost& of) -> double& { return of.rate.store.value; }},
    ProtocolConstant{"rate.send", Quantity::rate, any_value, at_least(4),
                     "rate at which it writes to a peer", true,
                     [](ProtocolCost& of) -> double& { return of.rate.send.value; }},
    ProtocolConstant{"rate.fan", Quantity::rate, any_value, at_least(40),
                     "a tree's way up or down, as if once more at this rate", true,
                     [](ProtocolCost& of) -> double& { return of.rate.fan.value; }},
    ProtocolConstant{"rate.other", Quantity::rate, any_value, at_least(100),
                     "and as if once more at this rate for each other one of its GPU", true,
                     [](ProtocolCost& of) -> double& { return of.rate.other.value; }},
    ProtocolConstant{"fetch", Quantity::rate, any_value, at_least(30),
                     "rate of reading what has left the cache", true,
                     [](ProtocolCost& of) -> double& { return of.fetch.value; }},
    ProtocolConstant{"cold.load", Quantity::time, any_value, up_to(9),
                     "more of a full round to read own data that has left the cache", true,
                     [](ProtocolCost& of) -> double& { return of.cold_load.value; }},
    ProtocolConstant{"cold.receive", Quantity::time, any_value, up_to(9),
                     "more of one to read what a peer sent, if it has", true,
                     [](ProtocolCost& of) -> double& { return of.cold_receive.value; }},
    ProtocolConstant{"cold.fan", Quantity::time, any_value, up_to(9), "and more of that in a tree",
                     true, [](ProtocolCost& of) -> double& { return of.cold_fan.value; }},
    ProtocolConstant{"round.load", Quantity::time, any_value, up_to(5),
                     "what a round waits for own data", true,
                     [](ProtocolCost& of) -> double& { return of.round.load.value; }},
    ProtocolConstant{"round.receive", Quantity::time, any_value, up_to(5), "for what a peer sent",
                     true, [](ProtocolCost& of) -> double& { return of.round.receive.value; }},
    ProtocolConstant{"round.store", Quantity::time, any_value, up_to(5),
                     "to write into the own buffer", true,
                     [](ProtocolCost& of) -> double& { return of.round.store.value; }},
    ProtocolConstant{"round.send", Quantity::time, any_value, up_to(5), "to write to a peer", true,
                     [](ProtocolCost& of) -> double& { return of.round.send.value; }},
    ProtocolConstant{"work.load", Quantity::time, any_value, up_to(5),
                     "a full round's work to read own data", true,
                     [](ProtocolCost& of) -> double& { return of.work.load.value; }},
    ProtocolConstant{"work.receive", Quantity::time, any_value, up_to(5),
                     "its work to read what a peer sent", true,
                     [](ProtocolCost& of) -> double& { return of.work.receive.value; }},
    ProtocolConstant{"work.store", Quantity::time, any_value, up_to(5),
                     "its work to write into the own buffer", true,
                     [](ProtocolCost& of) -> double& { return of.work.store.value; }},
    ProtocolConstant{"work.send", Quantity::time, any_value, up_to(5),
                     "its work to write to a peer", true,
                     [](ProtocolCost& of) -> double& { return of.work.send.value; }},
    ProtocolConstant{"work.fan", Quantity::time, any_value, up_to(5),
                     "more of it on a tree's way up or down", true,
                     [](ProtocolCost& of) -> double& { return of.work.fan.value; }},
    ProtocolConstant{"work.other", Quantity::time, any_value, up_to(5),
                     "and for each other thread block of its GPU", true,
                     [](ProtocolCost& of) -> double& { return of.work.other.value; }},
    ProtocolConstant{"first.load", Quantity::time, any_value, up_to(4),
                     "more of a slice's first round, to read own data", true,
                     [](ProtocolCost& of) -> double& { return of.first.load.value; }},
    ProtocolConstant{"first.receive", Quantity::time, any_value, up_to(4),
                     "more of it to read what a peer sent", true,
                     [](ProtocolCost& of) -> double& { return of.first.receive.value; }},
    ProtocolConstant{"first.store", Quantity::time, any_value, up_to(4),
                     "more of it to write into the own buffer", true,
                     [](ProtocolCost& of) -> double& { return of.first.store.value; }},
    ProtocolConstant{"first.send", Quantity::time, any_value, up_to(4),
                     "more of it to write to a peer", true,
                     [](ProtocolCost& of) -> double& { return of.first.send.value; }},
    ProtocolConstant{"last_store", Quantity::share, any_share, any_share,
                     "what the stores of a slice's last round take", false,
                     [](ProtocolCost& of) -> double& { return of.last_store; }},
    ProtocolConstant{"misaligned", Quantity::share, any_share, any_share,
                     "how much longer stores to parts of ranks take that begin off lines", false,
                     [](ProtocolCost& of) -> double& { return of.misaligned; }},
};

}  // namespace collsim
