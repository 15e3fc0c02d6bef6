#include "models/nccl/socket_threads.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/input_error.h"

namespace collsim {

SocketThreads socket_threads(const NcclEnvironment& environment, std::string_view nic_model) {
  constexpr std::uint32_t max_streams = 64;
  const bool aws = nic_model.starts_with("EFA") || nic_model.starts_with("ENA");
  const bool google = nic_model.starts_with("gVNIC");
  const std::uint32_t usual_threads = aws ? 2 : google ? 4 : 0;
  const std::uint32_t threads = environment.socket_threads.value_or(usual_threads);
  const std::uint32_t each = environment.streams_per_thread.value_or(aws ? 8 : 1);
  if (threads * each > max_streams) {
    throw InputError(fmt::format("NCCL_SOCKET_NTHREADS={}, NCCL_NSOCKS_PERTHREAD={}: {} sockets",
                                 threads, each, threads * each),
                     fmt::format("at most {} sockets of a connection", max_streams));
  }
  return {threads, std::max(1U, threads * each)};
}

}  // namespace collsim
