#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/program/program_schedule.h"
#include "sim/base/units.h"

namespace collsim {

/// The rates of one kind of GPU, and the shares of them that kernels reach
/// (models/data/kernels.yaml).
struct GpuKernels {
  std::string gpu{};
  bool measured =
      false;  ///< whether steps on it were held against this; else all is by data sheets
  std::uint32_t multiprocessors = 0;
  double flops = 0;         ///< per second, of dense products in 16 bits, nominal
  double fp8_flops = 0;     ///< per second, of dense products in 8 bits; 0: it has none
  BytesPerSecond memory{};  ///< nominal
  Bytes holds{};
  double product = 1;  ///< the share of `flops` that a large product reaches; so on below
  double moved = 1;
  double attention = 1;
  double attention_backward = 1;
  double weights = 1;  ///< of `memory`, that inference reaches where it reads weights; `moved` if
                       ///< nothing else is known; so is the next
  double cache = 1;    ///< the same where it reads keys and values of earlier tokens
};

/// The constants that all GPUs have in common (models/data/kernels.yaml).
struct KernelConstants {
  Seconds tile_time{};
  Seconds kernel_gap{};
  double fp8_share = 1;
  double backward_product = 1;  ///< what products of the backward pass reach, of those forward
  double small_tile_share = 1;
  double batched_product = 1;
  double first_flash_attention = 1;
  double optimizer = 1;
  double optimizer_fp32 = 1;
  double ordering_copy = 1;
  Seconds host_forward{};
  Seconds host_backward{};
  double calls_beside_kernels = 1;
  double kernels_beside_calls = 1;
  Seconds small_kernel{};  ///< the least that inference takes for what stands between products
  Seconds weights_fill{};  ///< of a product that memory limits: before its bytes flow, and after
};

/// All that models/data/kernels.yaml says.
struct KernelTable {
  std::vector<GpuKernels> gpus;
  KernelConstants constants;
};

/// Reads the shipped models/data/kernels.yaml. Throws InputError at the place of a mistake.
KernelTable load_kernel_table();
/// The table of GPUs whose kernels take `kernels` times as long, of a host that takes `host` times
/// as long to issue them.
KernelTable slowed(KernelTable table, double kernels, double host);

/// Says how long kernels take on one GPU.
class KernelTimes {
 public:
  KernelTimes(GpuKernels gpu, KernelConstants constants)
      : gpu_(std::move(gpu)), constants_(constants) {}

  /// A product of an m x k with a k x n matrix of 16 bits, or 8. Tiles of 128 x 256, 256 x 128 or
  /// 128 x 128, whichever is quickest, go in waves, one for each multiprocessor:
  ///
  ///   T = waves (tile_time + 2 tile k multiprocessors / (product flops))
  ///
  /// or the time to read and write the matrices once, if that is longer.
  Seconds product(double m, double n, double k, bool fp8 = false) const;
  /// The same product, where the libraries' kernels for few rows count, too: of a product whose
  /// tiles leave multiprocessors idle, they divide k among so many that all have a part of a tile,
  /// and add the parts up. The weights, a k x n matrix, have a byte an element in fp8. For programs
  /// and inference: training has rows for all multiprocessors. What reads weights alone takes has
  /// its own share of memory's rate, and begins and ends when no bytes come (`weights_fill`).
  Seconds best_product(double m, double n, double k, bool fp8 = false) const;
  /// Both products of the backward pass of that one: by each of its matrices.
  Seconds backward_products(double m, double n, double k, bool fp8 = false) const;
  /// The time of a kernel that does little but read and write `bytes`.
  Seconds moved(double bytes) const;
  /// The time of a copy that puts parts of `bytes` in all in another order.
  Seconds put_in_order(double bytes) const;
  /// The time of such a kernel between the products of inference: at least the least time of a
  /// kernel.
  Seconds between_products(double bytes) const;
  /// The time of attention of new tokens to `bytes` of keys and values of earlier ones; at least
  /// the least time of a kernel.
  Seconds cached_attention(double bytes) const;
  /// The time of fused attention of `flops` in all.
  Seconds attention(double flops, bool backward, bool first_generation) const;
  /// The products of attention that is not fused, of `flops`, without what they read and write.
  Seconds batched_products(double flops) const;
  /// The time of an optimizer's step that reads and writes `bytes`.
  Seconds optimizer(double bytes, bool fp32) const;

  const GpuKernels& gpu() const { return gpu_; }
  const KernelConstants& constants() const { return constants_; }
  /// How calls and kernels share the GPU.
  GpuSharing sharing() const;

 private:
  Seconds tiled_product(double m, double n, double k, double rate, double memory_share,
                        Seconds fill = {}) const;
  Seconds split_product(double m, double n, double k, bool fp8) const;
  double product_rate(bool fp8) const;

  GpuKernels gpu_;
  KernelConstants constants_;
};

/// The kernels of a GPU whose name contains one of the table's ("NVIDIA H100 80GB HBM3"). Throws
/// InputError that names the known ones.
KernelTimes find_kernels(const KernelTable& table, std::string_view gpu);

/// Gives ops of a program that are products, or move bytes, their time.
void time_kernels(CallProgram& program, const KernelTimes& kernels);

}  // namespace collsim
