#include "models/nccl/system/efa.h"

#include "models/machine/gpu_model.h"

namespace collsim {

std::optional<EfaPlatform> efa_platform(std::string_view nic, std::string_view gpu) {
  if (!nic.starts_with("EFA")) return std::nullopt;
  const int capability = known_compute_capability(gpu).value_or(90);
  if (capability >= 100) return EfaPlatform::p6;
  if (capability >= 90) return nic.starts_with("EFAv3") ? EfaPlatform::p5en : EfaPlatform::p5;
  return capability >= 80 ? EfaPlatform::p4d : EfaPlatform::p3dn;
}

double efa_latency(EfaPlatform platform) {
  switch (platform) {
    case EfaPlatform::p3dn:
      return 150;
    case EfaPlatform::p4d:
    case EfaPlatform::p5:
      break;
    case EfaPlatform::p5en:
    case EfaPlatform::p6:
      return 35;
  }
  return 75;
}

}  // namespace collsim
