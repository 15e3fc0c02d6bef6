#include "models/nccl/settings/function.h"

#include "sim/base/text.h"

namespace collsim {

namespace {

constexpr PerFunction<std::string_view> function_names{"AllReduce", "AllGather", "ReduceScatter",
                                                       "Broadcast", "Reduce"};
constexpr PerAlgorithm<std::string_view> names_of_algorithms{
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};

template <typename Enumerator, std::size_t count>
std::optional<Enumerator> find(const std::array<std::string_view, count>& names,
                               std::string_view name) {
  const std::string lower = lower_case(name);
  for (std::size_t i = 0; i < count; ++i) {
    if (lower_case(names[i]) == lower) return static_cast<Enumerator>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view nccl_name(NcclFunction function) {
  return function_names[index_of(function)];
}
std::string_view nccl_name(NcclAlgorithm algorithm) {
  return names_of_algorithms[index_of(algorithm)];
}

std::string nccl_report_name(NcclAlgorithm algorithm) {
  return lower_case(nccl_name(algorithm));
}

std::optional<NcclFunction> find_nccl_function(std::string_view name) {
  return find<NcclFunction>(function_names, name);
}
std::optional<NcclAlgorithm> find_nccl_algorithm(std::string_view name) {
  return find<NcclAlgorithm>(names_of_algorithms, name);
}
std::optional<Protocol> find_nccl_protocol(std::string_view name) {
  for (const Protocol protocol : all_nccl_protocols) {
    if (lower_case(to_string(protocol)) == lower_case(name)) return protocol;
  }
  return std::nullopt;
}

std::optional<NcclFunction> function_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::barrier:
      return NcclFunction::all_reduce;
    case Collective::all_gather:
      return NcclFunction::all_gather;
    case Collective::reduce_scatter:
      return NcclFunction::reduce_scatter;
    case Collective::broadcast:
      return NcclFunction::broadcast;
    case Collective::reduce:
      return NcclFunction::reduce;
    case Collective::send_recv:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      break;
  }
  return std::nullopt;
}

Collective under_nccl(Collective collective) {
  return collective == Collective::barrier ? Collective::all_reduce : collective;
}

}  // namespace collsim
