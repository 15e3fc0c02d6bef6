#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace collsim::recorder {

/// What NCCL chose for a call. Names are NCCL's, in lower case: `ring`, `ll128`.
struct NcclChoice {
  std::string algorithm = "none";
  std::string protocol = "none";
  std::optional<int> first_channel{};  ///< NCCL says them since 2.24
  std::optional<int> last_channel{};
  /// The symmetric kernel that ran in their place, by NCCL's name: `AllReduce_AGxLL_R`.
  std::string kernel = "none";
};

/// The last choice that NCCL's log (NCCL_DEBUG=INFO, subsystem TUNING) tells of, or nothing:
/// `AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}` since 2.24 and
/// `64 Bytes -> Algo 1 proto 0 time 8.4` before; of a symmetric kernel (2.27 on),
/// `AllReduce [Symmetric]: 64 Bytes -> Kernel AllReduce_AGxLL_R nchannels 1 nthreads 512 nWorks 1`.
/// Calls made of sends and receives have none.
std::optional<NcclChoice> last_choice(std::string_view log);

/// The last warning in the log, without its prefix; empty if there is none.
std::string last_warning(std::string_view log);

}  // namespace collsim::recorder
