#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace collsim {

/// AWS machines with EFA that aws-ofi-nccl tells apart.
enum class EfaPlatform : std::uint8_t { p3dn, p4d, p5, p5en, p6 };

/// Tells it by the models of NICs (`EFA`; `EFAv3` on p5en) and GPUs; nothing without EFA.
std::optional<EfaPlatform> efa_platform(std::string_view nic, std::string_view gpu);

/// What the plug-in reports as the NICs' latency, us. NCCL adds it to every step between nodes, and
/// again for the flush of Simple (aws-ofi-nccl src/platform-aws.cpp, platform_data_map; NCCL
/// src/graph/tuning.cc).
double efa_latency(EfaPlatform platform);

}  // namespace collsim
