#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tools/collsim/moe/exchange_kernel.h"
#include "tools/collsim/moe/port_exchange.h"
#include "tools/collsim/moe/token_traffic.h"

namespace collsim {

/// What the numbers of a token are sent as.
enum class TokenType : std::uint8_t { nvfp4, fp8, bf16 };

/// The type of that name. Throws InputError.
TokenType read_token_type(std::string_view name);
/// The bytes of a token of `hidden` numbers: fp8 has a scale of 4 bytes for 128 numbers, nvfp4 one
/// of a byte for 16.
double token_bytes(TokenType type, std::uint32_t hidden);

/// One layer's exchange.
struct ExpertLayer {
  double tokens = 4096;  ///< of a rank, on the average
  std::uint32_t hidden = 7168;
  TokenType type = TokenType::fp8;
  std::uint32_t sms = 20;  ///< of kernels that are given theirs
};

/// How long an exchange takes, and why: launch + max(work, ports) + fill.
struct ExpertExchange {
  Seconds launch;
  Seconds work;  ///< of the thread blocks of the busiest rank
  Seconds fill;  ///< until sends overlap with work
  PortExchange ports;
  double sent = 0;   ///< bytes that the busiest sender sends to others
  Rank busiest = 0;  ///< the rank whose thread blocks have most to do
  Seconds time;
};

/// Hosts of ranks, counted from 0.
std::vector<std::uint32_t> hosts_of(const Topology& topology, std::span<const DeviceId> gpus);

/// Throws InputError where the machine is not one for the kernel: no NVLink inside a host, or
/// several hosts for kernels of one NVLink domain.
void require_machine_for(KernelFamily family, const Topology& topology,
                         std::span<const DeviceId> gpus);

/// The bytes from rank to rank. DeepEP's normal kernels send a token once to each host, to the GPU
/// of the sender's place there, which forwards it. A combine goes the other way.
TrafficMatrix bytes_moved(const ExchangeKernel& kernel, const ExpertPlaces& places,
                          const TokenTraffic& traffic, const ExpertLayer& layer);

/// The exchange of a layer. Throws InputError where ranks are not joined.
ExpertExchange expert_exchange(const Topology& topology, std::span<const DeviceId> gpus,
                               const ExchangeKernel& kernel, const ExpertPlaces& places,
                               const TokenTraffic& traffic, const ExpertLayer& layer);

}  // namespace collsim
