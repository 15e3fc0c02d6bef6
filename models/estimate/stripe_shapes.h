#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/stripe_time.h"

namespace collsim {

/// NVLS, NVLSTree and CollNetDirect on a machine, for each number of channels found once.
class StripeShapes {
 public:
  /// Adds the kinds of links that they use to `kinds`. Refers to all.
  StripeShapes(const CallCompiler& compiler, const MachineView& view, std::set<LinkKind>& kinds)
      : compiler_(compiler), view_(view), kinds_(kinds) {}

  const StripeShape& shape(NcclAlgorithm algorithm, std::uint32_t channels);

 private:
  StripeShape made(NcclAlgorithm algorithm, std::uint32_t channels);
  void add_local_hops(StripeShape& shape, const NcclStripes& stripes, NcclAlgorithm algorithm,
                      std::uint32_t channels);
  void add_network_hops(StripeShape& shape, const NcclStripes& stripes, NcclAlgorithm algorithm,
                        std::uint32_t channels);

  const CallCompiler& compiler_;
  const MachineView& view_;
  std::set<LinkKind>& kinds_;
  std::map<std::pair<NcclAlgorithm, std::uint32_t>, StripeShape> shapes_;
};

}  // namespace collsim
