#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The shipped transports, by name.
std::vector<std::string> transport_names();

/// The transport between a machine's hosts, by the model of their NICs: `efa` (EFA; `efa-host`
/// where it has no GPUDirect), `ofi` (Slingshot, Cassini), `tcpx` (gVNIC), `tcp` (Ethernet, or an
/// interface's name such as eth0), else `ib`. Of RoCE a NIC's model does not tell: a machine names
/// it (`calibration: h100+roce`). Empty where there is one host, or hosts without NICs.
std::string_view transport_of_nics(const Topology& topology);

/// The transport between the GPUs of one host, as NCCL names them: `p2p` over PCIe, `shm` through
/// host memory, there `shm-rtx40` for GeForce RTX 40 on a Xeon. Empty where GPUs have NVLink and
/// use it.
std::string_view transport_inside_host(const Topology& topology, bool through_host_memory);

/// Whether a calibration takes no transport inside hosts by itself: it has one, or its own PCIe was
/// measured.
bool knows_pcie(const Calibration& cost);

/// A transport that is shipped. Throws InputError where there is none of that name.
Calibration shipped_transport(std::string_view name);

/// A calibration's costs with what a transport says. Of messages between hosts these are proxies,
/// the network's efficiency, and for each protocol alpha and, if it is stated, the step. Of
/// messages between GPUs of a host they are the host's memory and, over PCIe and between sockets,
/// efficiency, alpha and what else a thread block does. The name is `<name>+<transport>`, that
/// between hosts before the other. All else is the GPUs'.
Calibration with_transport(Calibration gpus, const Calibration& transport);

/// Whether a calibration takes no transport by itself: it has one, or its own network was measured.
bool knows_network(const Calibration& cost);

/// A calibration with the machine's transport_of_nics(), unless it knows_network(), or the machine
/// has none. Unless it knows_pcie(), it wants the transport inside hosts, which depends on NCCL's
/// variables: a CallCompiler takes it.
Calibration with_transports(const Calibration& cost, const Topology& topology);

/// A calibration that a person names: the name or path of a file, or that of a file and
/// transports, such as `h100+efa` and `pcie+tcp+shm`. Paths are relative to `base`, as in
/// find_data_file(). Throws InputError.
Calibration named_calibration(std::string_view name, const std::filesystem::path& base = {});

/// The costs of the machines when hosts talk TCP: the calibration that was measured for it
/// (`over_tcp`), or the transport `tcp`. One whose proxies serve sockets is of TCP already.
Calibration over_tcp(const Calibration& cost);

/// Whether nodes have no NICs but those that NCCL uses by sockets: their model is `Ethernet`, or an
/// interface's name such as `eth0`.
bool has_sockets_only(const Topology& topology);

/// The calibration of a topology, with the transports of its links.
Calibration calibration_for(const Topology& topology);

}  // namespace collsim
