#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/recordings/log_facts.h"
#include "models/recordings/recording.h"
#include "models/validation/recorded_call.h"
#include "tools/collsim/diagnose/slow_hosts.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

/// What a log measured, where and with what, to be held against others of the same calls. No
/// machine is needed.
struct LikeRun {
  std::string gpu;   ///< as the driver names it; may be empty
  std::string nccl;  ///< the release; may be empty
  std::set<std::string> hosts;
  std::set<std::string> ports;  ///< NICs that NCCL_IB_HCA names, else those of NCCL's log
  std::map<RecordedCall, std::map<Bytes, Seconds>> times;  ///< means of out of place and in place
};

/// The NICs that a value of NCCL_IB_HCA names, as in "mlx5_0:1,=mlx5_1"; none in "^mlx5_2", which
/// takes away.
std::set<std::string> named_ports(std::string_view list);

/// The run of the rows whose call is known. NICs and interfaces make no other call of it.
LikeRun like_run(const Recording& recording, const LogFacts& facts);

/// Whether two logs are of the same calls on the same GPUs under the same release.
bool are_alike(const LikeRun& a, const LikeRun& b);

/// The busbw of runs that are alike as a share of the fastest one's, over the sizes that all have,
/// from 1 MiB on where there are any; with what each run was made of: hosts and, where runs used
/// different NICs, ports of hosts ("n1/mlx5_3") and rails ("rail mlx5_3").
std::vector<HostRun> runs_beside_each_other(const std::vector<const LikeRun*>& runs);

/// The share of the fastest run below which one is slow next to its like: what noise makes of two
/// healthy runs, what the faster half of them differ by, and a tenth at least, by which equal hosts
/// may differ.
double like_limit(const std::vector<HostRun>& runs, const Spread& spread);

}  // namespace collsim
