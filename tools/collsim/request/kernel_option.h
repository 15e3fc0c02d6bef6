#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/peer_kernels/engine_release.h"
#include "models/peer_kernels/peer_calls.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// Whether --registered is given.
bool asks_for_registered(const boost::program_options::variables_map& values);

/// The names of -a; none without it.
std::vector<std::string> kernels_named(const boost::program_options::variables_map& values);

/// What --kernels asks about, and -a beside it.
struct KernelQuestion {
  EngineRelease engine;
  /// Names of peer kernels, "multimem", "nccl", or "auto", which is what the engine runs.
  std::vector<std::string> kernels;
  std::optional<Seconds> small_call{};  ///< --small-call
};

/// Nothing without --kernels. Throws InputError for an engine's release that is none.
std::optional<KernelQuestion> kernel_question(const boost::program_options::variables_map& values);

/// The question of a command about peer kernels: what -a names is theirs, and all else is asked of
/// NCCL. Throws InputError as read_request() does.
CallRequest read_kernel_request(const boost::program_options::variables_map& values,
                                std::ostream& err);

/// The question of a command about registered buffers, with the errors of peer kernels.
CallRequest read_registered_request(const boost::program_options::variables_map& values,
                                    std::ostream& err);

/// The calls of the request's GPUs, or of others.
PeerCalls peer_calls_of(const CallRequest& request, const KernelQuestion& question, bool simulated,
                        const std::vector<DeviceId>& gpus);

}  // namespace collsim::command
