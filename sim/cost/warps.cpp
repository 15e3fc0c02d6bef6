#include "sim/cost/warps.h"

#include <algorithm>

#include "sim/base/division.h"

namespace collsim {

namespace {

constexpr std::uint32_t max_at_once = 8;

std::uint32_t warps_up(Protocol protocol, std::uint32_t warps) {
  if (protocol != Protocol::simple) return warps * 7 / 10;
  const std::uint32_t half = warps / 2;
  return half >= 8 ? half + 2 : half;
}

}  // namespace

std::uint32_t full_warps(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return 16;
    case Protocol::ll128:
      return 20;
    case Protocol::simple:
      return 17;
  }
  return 0;
}

bool is_half_block(Protocol protocol, std::uint32_t warps) {
  return warps == (full_warps(protocol) + 1) / 2;
}

std::uint32_t warps_of_lane(Protocol protocol, std::uint32_t warps, std::uint32_t lanes,
                            std::uint32_t lane) {
  if (lanes < 2 || warps < 2) return warps;
  if (lanes == 2) {
    const std::uint32_t up = warps_up(protocol, warps);
    return lane == 0 ? up : warps - up;
  }
  return std::max(1U, warps / std::min(lanes, max_at_once));
}

double share_of_head(const HeadBlock& block, bool is_way_up) {
  constexpr std::uint32_t all = 20;
  constexpr std::uint32_t few_ranks = 6;
  const std::uint32_t up = block.is_root && block.ranks <= few_ranks ? 7 : 5;
  const std::uint32_t down = block.is_root ? 0 : 4;
  const double of_stripe = 0.5 * (all - up - down) / block.stripes;
  return (is_way_up ? up : down) / of_stripe;
}

std::uint32_t warps_of_message(std::uint32_t warps, std::uint32_t peers) {
  const std::uint32_t at_once = std::clamp(peers, 1U, max_at_once);
  const std::uint32_t share = divide_up(warps, at_once);
  return std::max(1U, (share <= 4 ? share : share - 1) / 2);
}

}  // namespace collsim
