#include "tools/collsim/train/gpu_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr double tera = 1e12;
constexpr double element_bytes = 2;
constexpr double flops_per_multiply = 2;
/// A part of a sum in fp32: written and read.
constexpr double sum_bytes = 8;

/// A tile of a product, and whether it is one of the small ones.
struct TileShape {
  double rows;
  double columns;
  bool small;
};
constexpr std::array tile_shapes{TileShape{128, 256, false}, TileShape{256, 128, false},
                                 TileShape{128, 128, true}};

/// No GPU has more, nor a call more of them.
constexpr std::int64_t max_multiprocessors = 10'000;
constexpr std::int64_t max_teraflops = 1'000'000;

/// The shares that a GPU's kernels reach, or those of one before it that it is like.
GpuKernels read_shares(const YamlMapping& keys, const std::vector<GpuKernels>& before) {
  if (const auto like = keys.find("like")) {
    const auto found = std::find_if(before.begin(), before.end(), [&](const GpuKernels& each) {
      return each.gpu == like->string();
    });
    if (found == before.end()) like->fail("no such GPU", "one that stands before it");
    return *found;
  }
  GpuKernels gpu;
  gpu.product = keys.at("product").fraction();
  gpu.moved = keys.at("moved").fraction();
  gpu.weights = keys.fraction_or("weights", gpu.moved);
  gpu.cache = keys.fraction_or("cache", gpu.moved);
  gpu.attention = keys.at("attention").fraction();
  gpu.attention_backward = keys.at("attention_backward").fraction();
  return gpu;
}

GpuKernels read_gpu(const YamlValue& value, const std::vector<GpuKernels>& before) {
  const YamlMapping keys = value.mapping({"gpu", "measured", "like", "multiprocessors", "teraflops",
                                          "fp8_teraflops", "memory", "holds", "product", "moved",
                                          "attention", "attention_backward", "weights", "cache"});
  GpuKernels gpu = read_shares(keys, before);
  gpu.gpu = keys.at("gpu").string();
  const auto measured = keys.find("measured");
  gpu.measured = measured && measured->boolean();
  gpu.multiprocessors =
      static_cast<std::uint32_t>(keys.at("multiprocessors").integer(1, max_multiprocessors));
  gpu.flops = tera * static_cast<double>(keys.at("teraflops").integer(1, max_teraflops));
  const auto fp8 = keys.find("fp8_teraflops");
  gpu.fp8_flops = fp8 ? tera * static_cast<double>(fp8->integer(1, max_teraflops)) : 0;
  gpu.memory = keys.at("memory").rate();
  gpu.holds = keys.at("holds").bytes();
  return gpu;
}

}  // namespace

KernelTable load_kernel_table() {
  const YamlMapping keys =
      load_yaml(shipped_file("kernels", "models/data"), "kernels")
          .mapping({"gpus", "tile_time", "kernel_gap", "fp8_share", "backward_product",
                    "small_tile_share", "batched_product", "first_flash_attention", "optimizer",
                    "optimizer_fp32", "host_forward", "host_backward", "calls_beside_kernels",
                    "kernels_beside_calls", "small_kernel", "weights_fill", "ordering_copy"});
  KernelTable table;
  for (const YamlValue& gpu : keys.at("gpus").sequence()) {
    table.gpus.push_back(read_gpu(gpu, table.gpus));
  }
  constexpr double max_slowdown = 100;
  table.constants = {.tile_time = keys.at("tile_time").time(),
                     .kernel_gap = keys.at("kernel_gap").time(),
                     .fp8_share = keys.at("fp8_share").fraction(),
                     .backward_product = keys.at("backward_product").fraction(),
                     .small_tile_share = keys.at("small_tile_share").fraction(),
                     .batched_product = keys.at("batched_product").fraction(),
                     .first_flash_attention = keys.at("first_flash_attention").fraction(),
                     .optimizer = keys.at("optimizer").fraction(),
                     .optimizer_fp32 = keys.at("optimizer_fp32").fraction(),
                     .host_forward = keys.at("host_forward").time(),
                     .host_backward = keys.at("host_backward").time(),
                     .calls_beside_kernels = keys.at("calls_beside_kernels").fraction(max_slowdown),
                     .small_kernel = keys.at("small_kernel").time()};
  if (const auto least = keys.find("kernels_beside_calls")) {
    table.constants.kernels_beside_calls = least->fraction(max_slowdown);
  }
  table.constants.ordering_copy = keys.fraction_or("ordering_copy", 1);
  if (const auto fill = keys.find("weights_fill")) table.constants.weights_fill = fill->time();
  return table;
}

KernelTable slowed(KernelTable table, double kernels, double host) {
  for (GpuKernels& gpu : table.gpus) {
    gpu.memory = (1 / kernels) * gpu.memory;
    for (double* const share : {&gpu.product, &gpu.attention, &gpu.attention_backward}) {
      *share /= kernels;
    }
  }
  KernelConstants& all = table.constants;
  for (Seconds* const time :
       {&all.tile_time, &all.kernel_gap, &all.small_kernel, &all.weights_fill}) {
    *time = kernels * *time;
  }
  all.host_forward = host * all.host_forward;
  all.host_backward = host * all.host_backward;
  return table;
}

double KernelTimes::product_rate(bool fp8) const {
  if (fp8 && gpu_.fp8_flops > 0) return gpu_.product * constants_.fp8_share * gpu_.fp8_flops;
  return gpu_.product * gpu_.flops;
}

Seconds KernelTimes::product(double m, double n, double k, bool fp8) const {
  return tiled_product(m, n, k, product_rate(fp8), gpu_.moved);
}

Seconds KernelTimes::backward_products(double m, double n, double k, bool fp8) const {
  const double rate = constants_.backward_product * product_rate(fp8);
  return tiled_product(m, k, n, rate, gpu_.moved) + tiled_product(k, n, m, rate, gpu_.moved);
}

namespace {

/// Rows of a tile: products of few rows, as in decoding, have tiles of fewer (CUTLASS's are of 16
/// rows and more).
double rows_of(const TileShape& tile, double m) {
  constexpr double least = 16;
  return std::min(tile.rows, std::max(least, std::exp2(std::ceil(std::log2(m)))));
}

}  // namespace

Seconds KernelTimes::tiled_product(double m, double n, double k, double rate, double memory_share,
                                   Seconds fill) const {
  double best = 0;
  for (const TileShape& tile : tile_shapes) {
    const double rows = rows_of(tile, m);
    const double tiles = std::ceil(m / rows) * std::ceil(n / tile.columns);
    const double waves = std::ceil(tiles / gpu_.multiprocessors);
    const double share = tile.small ? constants_.small_tile_share : 1;
    const double of_wave =
        flops_per_multiply * rows * tile.columns * k * gpu_.multiprocessors / (rate * share);
    const double time = waves * (constants_.tile_time.value + of_wave);
    if (best <= 0 || time < best) best = time;
  }
  const double bytes = element_bytes * (m * k + k * n + m * n);
  return Seconds{std::max(best, bytes / (memory_share * gpu_.memory.value) + fill.value)} +
         constants_.kernel_gap;
}

Seconds KernelTimes::split_product(double m, double n, double k, bool fp8) const {
  double best = 0;
  for (const TileShape& tile : tile_shapes) {
    const double rows = rows_of(tile, m);
    const double tiles = std::ceil(m / rows) * std::ceil(n / tile.columns);
    const double parts = std::max(1.0, std::floor(gpu_.multiprocessors / tiles));
    const double waves = std::ceil(tiles / gpu_.multiprocessors);
    const double share = tile.small ? constants_.small_tile_share : 1;
    const double of_wave = flops_per_multiply * rows * tile.columns * k / parts *
                           gpu_.multiprocessors / (product_rate(fp8) * share);
    const double sums =
        parts > 1 ? sum_bytes * parts * m * n / (gpu_.moved * gpu_.memory.value) : 0;
    const double time = waves * (constants_.tile_time.value + of_wave) + sums;
    if (best <= 0 || time < best) best = time;
  }
  const double weight_bytes = fp8 && gpu_.fp8_flops > 0 ? 1 : element_bytes;
  const double bytes = element_bytes * (m * k + m * n) + weight_bytes * k * n;
  const double time = bytes / (gpu_.weights * gpu_.memory.value) + constants_.weights_fill.value;
  return Seconds{std::max(best, time)} + constants_.kernel_gap;
}

Seconds KernelTimes::best_product(double m, double n, double k, bool fp8) const {
  return std::min(tiled_product(m, n, k, product_rate(fp8), gpu_.weights, constants_.weights_fill),
                  split_product(m, n, k, fp8));
}

Seconds KernelTimes::moved(double bytes) const {
  return Seconds{bytes / (gpu_.moved * gpu_.memory.value)} + constants_.kernel_gap;
}

Seconds KernelTimes::put_in_order(double bytes) const {
  constexpr double read_and_written = 2;
  return Seconds{read_and_written * bytes / (constants_.ordering_copy * gpu_.memory.value)} +
         constants_.kernel_gap;
}

Seconds KernelTimes::between_products(double bytes) const {
  return std::max(Seconds{bytes / (gpu_.moved * gpu_.memory.value)}, constants_.small_kernel) +
         constants_.kernel_gap;
}

Seconds KernelTimes::cached_attention(double bytes) const {
  return std::max(Seconds{bytes / (gpu_.cache * gpu_.memory.value)}, constants_.small_kernel) +
         constants_.kernel_gap;
}

Seconds KernelTimes::attention(double flops, bool backward, bool first_generation) const {
  double rate = gpu_.flops * (backward ? gpu_.attention_backward : gpu_.attention);
  if (first_generation) rate *= constants_.first_flash_attention;
  return Seconds{flops / rate} + constants_.kernel_gap;
}

Seconds KernelTimes::batched_products(double flops) const {
  return Seconds{flops / (gpu_.flops * gpu_.product * constants_.batched_product)};
}

Seconds KernelTimes::optimizer(double bytes, bool fp32) const {
  const double share = fp32 ? constants_.optimizer_fp32 : constants_.optimizer;
  return Seconds{bytes / (share * gpu_.memory.value)} + constants_.kernel_gap;
}

GpuSharing KernelTimes::sharing() const {
  return {.multiprocessors = gpu_.multiprocessors,
          .kernels_beside_calls = constants_.kernels_beside_calls,
          .calls_beside_kernels = constants_.calls_beside_kernels,
          .calls_wait_for_kernels = true};
}

namespace {

/// Whether a GPU's name has the other in it, and no digit follows: "RTX A4000" is no A40.
bool names(std::string_view gpu, std::string_view other) {
  const std::size_t place = gpu.find(other);
  if (place == std::string_view::npos) return false;
  const std::string_view rest = gpu.substr(place + other.size());
  return rest.empty() || rest.front() < '0' || rest.front() > '9';
}

}  // namespace

KernelTimes find_kernels(const KernelTable& table, std::string_view gpu) {
  const GpuKernels* best = nullptr;
  std::string known;
  for (const GpuKernels& each : table.gpus) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each.gpu);
    if (!names(gpu, each.gpu)) continue;
    if (best == nullptr || each.gpu.size() > best->gpu.size()) best = &each;
  }
  if (best != nullptr) return {*best, table.constants};
  throw InputError(fmt::format("no kernels are known of the GPU '{}'", gpu), known);
}

void time_kernels(CallProgram& program, const KernelTimes& kernels) {
  for (RankGroup& group : program.groups) {
    for (ProgramOp& op : group.ops) {
      if (op.product) {
        op.compute = kernels.best_product(static_cast<double>(op.product->m),
                                          static_cast<double>(op.product->n),
                                          static_cast<double>(op.product->k));
      } else if (op.moved.count > 0) {
        op.compute = kernels.moved(static_cast<double>(op.moved.count));
      }
    }
  }
}

}  // namespace collsim
