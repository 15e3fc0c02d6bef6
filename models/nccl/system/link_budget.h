#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/system/paths.h"
#include "models/nccl/system/system.h"

namespace collsim {

/// What is left of every link and NIC while channels are laid over them (NCCL src/graph/search.cc).
class LinkBudget {
 public:
  explicit LinkBudget(const NcclSystem& system);

  /// Takes `bandwidth` from every link of the path that leads away from `start`; takes nothing and
  /// says false where a link has less.
  bool take(const NcclPath& path, std::uint32_t start, float bandwidth);
  /// Undoes take().
  void give_back(const NcclPath& path, std::uint32_t start, float bandwidth);

  /// What a NIC has left for channels; `net` is an index among nets.
  float net(std::uint32_t net) const { return nets_[net]; }
  /// Takes from all ports of the NIC's chip that are the same port. Negative gives back.
  void take_net(std::uint32_t net, float bandwidth);

 private:
  /// Moves along the path until a link has too little; says how far it came.
  std::size_t follow(const NcclPath& path, std::uint32_t start, std::size_t steps, float bandwidth);
  float on_pci(const NcclPath& path, std::uint32_t start, float bandwidth) const;
  std::uint32_t reverse_of(std::uint32_t link) const;

  const NcclSystem* system_;
  std::vector<float> links_;
  std::vector<float> nets_;
};

}  // namespace collsim
