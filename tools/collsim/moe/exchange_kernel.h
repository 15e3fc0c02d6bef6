#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/error_table.h"
#include "sim/base/units.h"

namespace collsim {

/// Which kernels move the tokens of a mixture of experts.
enum class KernelFamily : std::uint8_t {
  deepep,              ///< by RDMA to the GPU of the same place, then by NVLink inside its host
  deepep_low_latency,  ///< straight to the expert's GPU, once for each expert
  nvlink_one_sided,    ///< TensorRT-LLM in an NVLink domain: senders write where receivers read
  nvlink_two_sided,    ///< TensorRT-LLM in an NVLink domain: through FIFOs, after a prepare
};

/// What they do: hand out tokens to experts, bring back results, or exchange counts first.
enum class ExpertOperation : std::uint8_t { prepare, dispatch, combine, combine_low_precision };

/// How many thread blocks divide the work.
enum class BlockRule : std::uint8_t {
  given,  ///< as many as the caller gives SMs
  /// One for each expert, or for each two, three, ... where the GPU has fewer SMs; of a combine at
  /// least as many as share the tokens equally.
  experts,
  gpu,  ///< all; the constants are the whole GPU's
};

std::string_view to_string(KernelFamily family);
std::string_view to_string(ExpertOperation operation);
std::vector<std::string> kernel_family_names();
/// The family of that name. Throws InputError.
KernelFamily read_kernel_family(std::string_view name);

/// The runs that constants were fitted to.
struct KernelRuns {
  std::string gpu;      ///< "H100"
  std::string network;  ///< the transport between hosts, "ib"; empty: they were one host's
  std::vector<std::uint32_t> ranks;
  double error = 0;  ///< of the fit: the median, as a share
  ErrorRange range;  ///< where eight of ten recorded times lie beside those of the fit
};

/// What an operation of a kernel costs. models/data/exchange-kernels.yaml says how each was fitted.
struct ExchangeKernel {
  KernelFamily family = KernelFamily::deepep;
  ExpertOperation operation = ExpertOperation::dispatch;
  BlockRule blocks = BlockRule::given;
  Seconds launch;                ///< before the first and after the last token, on one rank
  Seconds doubling_ranks;        ///< on top for each doubling of the ranks of a host
  Seconds doubling_hosts;        ///< on top for each doubling of the hosts
  Seconds expert;                ///< on top for each expert, which is waited for by itself
  Seconds first_byte;            ///< on top for each byte of a token: one token's way
  Seconds token;                 ///< a block's time for each token of the rank
  Seconds token_byte;            ///< and for each byte of it
  Seconds message;               ///< a block's time for each rank that a token goes to
  Seconds message_byte;          ///< and for each byte sent there
  Seconds network_message;       ///< a block's time for each copy between hosts
  Seconds network_byte;          ///< and for each byte of it
  double nvlink_share = 1;       ///< share of an NVLink's bandwidth that is reached
  double network_share = 1;      ///< the same of a NIC's and a cable's
  std::uint32_t many_hosts = 0;  ///< from this number of hosts on (0: never)
  double many_hosts_share = 1;   ///< this share counts in place of network_share
  double fill = 0;               ///< tokens of a block that pass before sends overlap with work
  KernelRuns measured;
  std::string source;
};

/// The shipped constants, models/data/exchange-kernels.yaml: those of the GPU, else of its
/// generation, else the family's first. Throws InputError where the family has no such operation.
ExchangeKernel exchange_kernel(KernelFamily family, ExpertOperation operation,
                               std::string_view gpu = {});

/// Whether both GPUs are of one generation, as B200 and GB300 are.
bool is_kin(std::string_view gpu, std::string_view other);

/// The range of eight of ten times that rest on another generation's constants, as shares of the
/// predicted one: as those of B200 beside what H100's said.
ErrorRange range_of_other_generations();

}  // namespace collsim
