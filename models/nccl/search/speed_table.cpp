#include "models/nccl/search/speed_table.h"

#include <array>

namespace collsim {

namespace {

// NCCL 2.31 src/graph/search.cc.
constexpr std::array ampere_intra{40.0F, 30.0F, 20.0F, 18.0F, 15.0F, 12.0F, 10.0F,
                                  9.0F,  7.0F,  6.0F,  5.0F,  4.0F,  3.0F};
constexpr std::array ampere_inter{48.0F, 30.0F, 28.0F, 24.0F, 20.0F, 18.0F, 15.0F,
                                  12.0F, 10.0F, 9.0F,  7.0F,  6.0F,  5.0F,  4.0F,
                                  3.0F,  2.4F,  1.2F,  0.24F, 0.12F};
constexpr std::array hopper_intra{60.0F, 50.0F, 40.0F, 30.0F, 24.0F, 20.0F,
                                  15.0F, 12.0F, 11.0F, 6.0F,  3.0F};
constexpr std::array hopper_inter{48.0F, 45.0F, 42.0F, 40.0F, 30.0F, 24.0F, 22.0F, 20.0F, 17.5F,
                                  15.0F, 12.0F, 6.0F,  3.0F,  2.4F,  1.2F,  0.24F, 0.12F};
constexpr std::array blackwell_intra{90.0F, 80.0F, 70.0F, 60.0F, 50.0F, 45.0F,
                                     40.0F, 30.0F, 24.0F, 20.0F, 19.0F, 18.0F};
constexpr std::array blackwell_intra_before_2_29_2{90.0F, 80.0F, 70.0F, 60.0F, 50.0F, 40.0F,
                                                   30.0F, 24.0F, 20.0F, 19.0F, 18.0F};
constexpr std::array blackwell_inter{96.0F, 90.2F, 86.0F, 80.0F, 48.0F, 45.1F, 42.0F,
                                     40.0F, 30.0F, 24.0F, 22.0F, 20.0F, 17.5F, 15.0F,
                                     12.0F, 6.0F,  3.0F,  2.4F,  1.2F,  0.24F, 0.12F};
constexpr std::array blackwell_inter_before_2_31{96.0F, 86.0F, 80.0F, 48.0F, 45.1F, 42.0F, 40.0F,
                                                 30.0F, 24.0F, 22.0F, 20.0F, 17.5F, 15.0F, 12.0F,
                                                 6.0F,  3.0F,  2.4F,  1.2F,  0.24F, 0.12F};
constexpr std::array blackwell_inter_before_2_30{96.0F, 48.0F, 45.1F, 42.0F, 40.0F, 30.0F,
                                                 24.0F, 22.0F, 20.0F, 17.5F, 15.0F, 12.0F,
                                                 6.0F,  3.0F,  2.4F,  1.2F,  0.24F, 0.12F};

std::span<const float> blackwell(bool inter, NcclVersion version) {
  if (inter) {
    if (version < NcclVersion{2, 30}) return blackwell_inter_before_2_30;
    if (version < NcclVersion{2, 31}) return blackwell_inter_before_2_31;
    return blackwell_inter;
  }
  if (version < NcclVersion{2, 29, 2}) return blackwell_intra_before_2_29_2;
  return blackwell_intra;
}

}  // namespace

std::span<const float> speed_table(int min_compute_capability, bool inter, NcclVersion version) {
  if (min_compute_capability >= 100) return blackwell(inter, version);
  if (min_compute_capability >= 90) {
    return inter ? std::span<const float>(hopper_inter) : hopper_intra;
  }
  return inter ? std::span<const float>(ampere_inter) : ampere_intra;
}

}  // namespace collsim
