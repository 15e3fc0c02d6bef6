#include "models/nccl/function.h"

#include <algorithm>
#include <cctype>

namespace collsim {

namespace {

constexpr PerFunction<std::string_view> function_names{"AllReduce", "AllGather", "ReduceScatter",
                                                       "Broadcast", "Reduce"};
constexpr PerAlgorithm<std::string_view> algorithm_names{
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr PerProtocol<std::string_view> protocol_names{"LL", "LL128", "Simple"};

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

template <typename Enumerator, std::size_t count>
std::optional<Enumerator> find(const std::array<std::string_view, count>& names,
                               std::string_view name) {
  for (std::size_t i = 0; i < count; ++i) {
    if (same_letters(names[i], name)) return static_cast<Enumerator>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view nccl_name(NcclFunction function) {
  return function_names[index_of(function)];
}
std::string_view nccl_name(NcclAlgorithm algorithm) {
  return algorithm_names[index_of(algorithm)];
}
std::string_view nccl_name(Protocol protocol) {
  return protocol_names[index_of(protocol)];
}

std::optional<NcclFunction> find_nccl_function(std::string_view name) {
  return find<NcclFunction>(function_names, name);
}
std::optional<NcclAlgorithm> find_nccl_algorithm(std::string_view name) {
  return find<NcclAlgorithm>(algorithm_names, name);
}
std::optional<Protocol> find_nccl_protocol(std::string_view name) {
  return find<Protocol>(protocol_names, name);
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

}  // namespace collsim
