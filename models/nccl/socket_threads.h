#pragma once

#include <cstdint>
#include <string_view>

#include "models/nccl/settings/environment.h"

namespace collsim {

/// How a connection over sockets moves its messages.
struct SocketThreads {
  std::uint32_t helpers = 0;  ///< threads of its own; none: the thread that serves the rank
  std::uint32_t streams = 1;  ///< TCP streams in all, over which a message is cut
};

/// What NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD ask for, else NCCL's default for the NIC's
/// vendor: 2 threads of 8 streams on AWS (models EFA and ENA), 4 of 1 on Google (gVNIC), elsewhere
/// none (NCCL 2.30 src/transport/net_socket.cc, ncclNetSocketGetNsockNthread). Throws InputError
/// for more than 64 streams.
SocketThreads socket_threads(const NcclEnvironment& environment, std::string_view nic_model);

}  // namespace collsim
