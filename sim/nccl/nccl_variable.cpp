#include "sim/nccl/nccl_variable.h"

#include <algorithm>
#include <array>

namespace collsim {

namespace {

/// NVIDIA's images set NCCL_VERSION; CMake's find modules, PyTorch's and Horovod's builds read the
/// others.
constexpr std::array<std::string_view, 13> of_images_and_builds{
    "NCCL_VERSION", "NCCL_HOME",    "NCCL_ROOT",         "NCCL_ROOT_DIR", "NCCL_DIR",
    "NCCL_PATH",    "NCCL_PREFIX",  "NCCL_INCLUDE_DIR",  "NCCL_INCLUDE",  "NCCL_LIB_DIR",
    "NCCL_LIB",     "NCCL_LIBRARY", "NCCL_INSTALL_PATH",
};

}  // namespace

bool is_nccl_setting(std::string_view variable) {
  return std::find(of_images_and_builds.begin(), of_images_and_builds.end(), variable) ==
         of_images_and_builds.end();
}

}  // namespace collsim
