#include "models/nccl/tuning/efa_tuner.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace collsim {

namespace {

/// Size and ranks, as logarithms to base 2.
struct Point {
  double x = 0;
  double y = 0;
};

Point at(double bytes, double ranks) {
  return {std::log2(std::max(1.0, bytes)), std::log2(ranks)};
}

constexpr double max_bytes = 100.0 * (1 << 30);
constexpr double max_ranks = 1 << 20;

/// Where the line through two points leaves the area that the tuner knows.
Point beyond(Point a, Point b) {
  const Point end = at(max_bytes, max_ranks);
  if (a.x == b.x) return {a.x, end.y};
  const double slope = (a.y - b.y) / (a.x - b.x);
  const double y = b.y + slope * (end.x - b.x);
  return y < end.y ? Point{end.x, y} : Point{b.x + (end.y - b.y) / slope, end.y};
}

struct Region {
  AlgorithmProtocol choice;
  std::vector<Point> corners;
};
using Regions = std::vector<Region>;

constexpr AlgorithmProtocol tree_ll{NcclAlgorithm::tree, Protocol::ll};
constexpr AlgorithmProtocol tree_ll128{NcclAlgorithm::tree, Protocol::ll128};
constexpr AlgorithmProtocol tree_simple{NcclAlgorithm::tree, Protocol::simple};
constexpr AlgorithmProtocol ring_ll{NcclAlgorithm::ring, Protocol::ll};
constexpr AlgorithmProtocol ring_ll128{NcclAlgorithm::ring, Protocol::ll128};
constexpr AlgorithmProtocol ring_simple{NcclAlgorithm::ring, Protocol::simple};
constexpr AlgorithmProtocol nvls_tree{NcclAlgorithm::nvls_tree, Protocol::simple};

Regions p5_all_reduce_of_eight() {
  const Point tree = beyond(at(402653184, 2048), at(402653184, 4096));
  const Point nvls = beyond(at(8053063680, 160), at(9663676416, 192));
  return {{tree_ll128,
           {at(0, 16), at(31457280, 16), at(37748736, 32), at(117440512, 64), at(301989888, 128),
            at(301989888, 256), at(335544320, 512), at(536870912, 1024), at(402653184, 2048),
            at(402653184, 4096), tree, Point{0, tree.y}}},
          {ring_ll128,
           {at(31457280, 17), at(1073741824, 17), at(2147483648, 64), at(2147483648, 128),
            at(1342177280, 160), at(2147483648, 256), at(1074790400, 256), at(444596224, 160),
            at(301989888, 128), at(117440512, 64), at(37748736, 32)}},
          {nvls_tree,
           {at(2147483648, 128), at(6442450944, 128), at(8053063680, 160), at(9663676416, 192),
            nvls, tree, at(402653184, 4096), at(402653184, 2048), at(536870912, 1024),
            at(335544320, 512), at(301989888, 256), at(310378496, 160), at(444596224, 160),
            at(1074790400, 256), at(2684354560, 256), at(2147483648, 224), at(1342177280, 160)}},
          {ring_simple,
           {at(1073741824, 17), Point{nvls.x, std::log2(17.0)}, nvls, at(9663676416, 192),
            at(8053063680, 160), at(2684354560, 64), at(1610612736, 32)}}};
}

Regions p5_all_reduce_of_two() {
  const Point tree = beyond(at(88160256, 128), at(178163712, 256));
  const Point far = beyond(at(787480576, 128), at(1073741824, 256));
  const Point near = beyond(at(257114112, 128), at(269484032, 256));
  return {
      {tree_ll128,
       {at(0, 4), at(1314816, 4), at(1051648, 8), at(1051648, 12), at(2367488, 16), at(5525504, 32),
        at(9473024, 64), at(88160256, 128), at(178163712, 256), tree, Point{0, tree.y}}},
      {ring_ll128,
       {at(1314816, 4), at(19736576, 4), at(41842688, 8), at(296747008, 64), at(257114112, 128),
        at(269484032, 256), at(178163712, 256), at(88160256, 128), at(9473024, 64), at(5525504, 32),
        at(2367488, 16), at(1051648, 12), at(1051648, 8)}},
      {nvls_tree,
       {at(19736576, 4), at(81844224, 4), at(275775488, 8), at(275775488, 48), at(296747008, 64),
        at(41842688, 8)}},
      {ring_simple,
       {at(81844224, 5), at(max_bytes, 5), at(max_bytes, 32), at(1073741824, 40),
        at(1073741824, 128), at(787480576, 128), at(296747008, 64), at(275775488, 48),
        at(275775488, 8)}},
      {tree_simple,
       {at(296747008, 64), at(787480576, 128), at(1073741824, 256), far, near, at(269484032, 256),
        at(257114112, 128)}},
      {nvls_tree,
       {far, at(1073741824, 256), at(787480576, 128), at(1073741824, 128), at(1073741824, 40),
        at(max_bytes, 32)}}};
}

Regions p5_all_reduce_of_one() {
  const Point tree = beyond(at(9999360, 64), at(119477248, 128));
  const Point ring = beyond(at(4736000, 2), at(269484032, 128));
  return {
      {tree_ll128,
       {at(0, 16), at(2367488, 16), at(9999360, 64), at(119477248, 128), tree, at(0, max_ranks)}},
      {ring_ll128,
       {at(0, 2), at(4736000, 2), at(269484032, 128), ring, tree, at(119477248, 128),
        at(9999360, 64), at(2367488, 16), at(0, 16)}},
      {ring_simple, {at(4736000, 2), at(max_bytes, 2), ring, at(269484032, 128)}}};
}

/// A triangle with the largest sizes, below a line from two ranks on.
Regions simple_from(Point first, Point second) {
  return {{ring_simple, {first, at(max_bytes, 2), beyond(first, second), second}}};
}

Regions p5en_all_reduce_of_eight() {
  const Point ll = beyond(at(196608, 192), at(196608, 1024));
  const Point ll128 = beyond(at(129499136, 127), at(218103808, 1024));
  const Point nvls = beyond(at(7516192768, 256), at(17179869184, 448));
  return {
      {tree_ll, {at(0, 16), at(196608, 16), at(196608, 1024), ll, at(0, max_ranks)}},
      {tree_ll128,
       {ll, at(196608, 1024), at(196608, 16), at(13107200, 16), at(129499136, 127),
        at(218103808, 1024), ll128}},
      {ring_ll128,
       {at(129499136, 127), at(13107200, 16), at(29884416, 16), at(293601280, 32),
        at(589299712, 64), at(549453824, 128)}},
      {nvls_tree,
       {ll128, at(218103808, 1024), at(129499136, 127), at(549453824, 128), at(589299712, 64),
        at(293601280, 32), at(29884416, 16), at(max_bytes, 16), at(509607936, 32),
        at(7516192768, 256), at(17179869184, 448), nvls}},
      {ring_simple,
       {nvls, at(17179869184, 448), at(7516192768, 256), at(509607936, 32), at(max_bytes, 16)}}};
}

Regions p5en_all_gather_of_eight() {
  const Point ll = beyond(at(28305408, 768), at(33554432, 1024));
  const Point ll128 = beyond(at(7247754240, 384), at(17179865088, 896));
  return {{ring_ll,
           {at(0, 16), at(786432, 16), at(4718592, 128), at(13630464, 384), at(19922944, 512),
            at(28305408, 768), at(33554432, 1024), ll, at(0, max_ranks)}},
          {ring_ll128,
           {ll, at(33554432, 1024), at(28305408, 768), at(19922944, 512), at(13630464, 384),
            at(4718592, 128), at(786432, 16), at(236978176, 16), at(956301312, 64),
            at(7247754240, 384), at(17179865088, 896), ll128}},
          {ring_simple,
           {ll128, at(17179865088, 896), at(7247754240, 384), at(956301312, 64), at(494927872, 32),
            at(236978176, 16), at(max_bytes, 16)}}};
}

Regions p5en_reduce_scatter_of_eight() {
  const Point ll = beyond(at(7340032, 256), at(18874368, 512));
  const Point ll128 = beyond(at(7247757312, 256), at(17179869184, 640));
  return {{ring_ll,
           {at(0, 16), at(786432, 16), at(4718592, 128), at(7340032, 256), at(18874368, 512), ll,
            at(0, max_ranks)}},
          {ring_ll128,
           {ll, at(18874368, 512), at(7340032, 256), at(4718592, 128), at(786432, 16),
            at(291504128, 16), at(589299712, 32), at(2415919104, 128), at(7247757312, 256),
            at(17179869184, 640), ll128}},
          {ring_simple,
           {ll128, at(17179869184, 640), at(7247757312, 256), at(2415919104, 128),
            at(589299712, 32), at(291504128, 16), at(max_bytes, 16)}}};
}

Regions p5_regions(NcclFunction function, std::uint32_t per_node) {
  if (function == NcclFunction::all_reduce) {
    if (per_node == 8) return p5_all_reduce_of_eight();
    if (per_node == 2) return p5_all_reduce_of_two();
    if (per_node == 1) return p5_all_reduce_of_one();
  }
  if (per_node != 1) return {};
  if (function == NcclFunction::all_gather)
    return simple_from(at(4194304, 2), at(8589934592, 2048));
  if (function == NcclFunction::reduce_scatter) {
    return simple_from(at(8388608, 2), at(4294967296, 1024));
  }
  return {};
}

Regions p5en_regions(NcclFunction function, std::uint32_t per_node) {
  if (per_node != 8) return {};
  if (function == NcclFunction::all_reduce) return p5en_all_reduce_of_eight();
  if (function == NcclFunction::all_gather) return p5en_all_gather_of_eight();
  if (function == NcclFunction::reduce_scatter) return p5en_reduce_scatter_of_eight();
  return {};
}

bool is_on_edge(Point point, Point a, Point b) {
  constexpr double close = 1e-9;
  const Point edge{b.x - a.x, b.y - a.y};
  const double length = edge.x * edge.x + edge.y * edge.y;
  double along = 0;
  if (length > 0) along = ((point.x - a.x) * edge.x + (point.y - a.y) * edge.y) / length;
  along = std::clamp(along, 0.0, 1.0);
  return std::hypot(point.x - a.x - along * edge.x, point.y - a.y - along * edge.y) < close;
}

/// Edges belong to it. Inside, a ray crosses the edges an odd number of times.
bool contains(const std::vector<Point>& corners, Point point) {
  bool inside = false;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Point a = corners[i];
    const Point b = corners[(i + 1) % corners.size()];
    if (is_on_edge(point, a, b)) return true;
    if ((a.y > point.y) == (b.y > point.y)) continue;
    if (point.x < a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x)) inside = !inside;
  }
  return inside;
}

}  // namespace

std::optional<AlgorithmProtocol> efa_tuner_choice(EfaPlatform platform, NcclFunction function,
                                                  Bytes size, std::uint32_t ranks,
                                                  std::uint32_t nodes) {
  if (nodes <= 2) return std::nullopt;
  Regions regions;
  if (platform == EfaPlatform::p5) regions = p5_regions(function, ranks / nodes);
  if (platform == EfaPlatform::p5en) regions = p5en_regions(function, ranks / nodes);
  const Point call = at(static_cast<double>(size.count), ranks);
  const auto found = std::find_if(regions.begin(), regions.end(), [&](const Region& region) {
    return contains(region.corners, call);
  });
  if (found == regions.end()) return std::nullopt;
  return found->choice;
}

}  // namespace collsim
