#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "models/call/call_compiler.h"
#include "models/call/machine_view.h"
#include "models/estimate/stripe_hops.h"
#include "models/estimate/stripe_time.h"

namespace collsim {

/// NVLS, NVLSTree and CollNetDirect on a machine, for each number of channels found once.
class StripeShapes {
 public:
  /// Adds the kinds of links that they use to `kinds`. Refers to all, and keeps hops that it lays
  /// in `known`; null: in itself.
  StripeShapes(const CallCompiler& compiler, const MachineView& view, std::set<LinkKind>& kinds,
               KnownStripes* known)
      : compiler_(compiler), view_(view), kinds_(kinds), known_(known) {}

  const StripeShape& shape(NcclAlgorithm algorithm, std::uint32_t channels);

 private:
  StripeShape made(NcclAlgorithm algorithm, std::uint32_t channels);
  StripeHops& hops(NcclAlgorithm algorithm, std::uint32_t channels);
  void add_local_hops(StripeShape& shape, StripeHops& hops);
  void add_network_hops(StripeShape& shape, StripeHops& hops, std::uint32_t channels);

  const CallCompiler& compiler_;
  const MachineView& view_;
  std::set<LinkKind>& kinds_;
  KnownStripes* known_;
  KnownStripes own_;
  std::map<std::pair<NcclAlgorithm, std::uint32_t>, StripeShape> shapes_;
};

}  // namespace collsim
