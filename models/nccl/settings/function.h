#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/cost/calibration.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/plan/collective.h"

namespace collsim {

/// What NCCL tunes. Send and receive are not tuned.
enum class NcclFunction : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce
};
inline constexpr std::size_t nccl_function_count = 5;
inline constexpr std::array all_nccl_functions{NcclFunction::all_reduce, NcclFunction::all_gather,
                                               NcclFunction::reduce_scatter,
                                               NcclFunction::broadcast, NcclFunction::reduce};

inline constexpr std::size_t nccl_algorithm_count = 7;
inline constexpr std::array all_nccl_algorithms{NcclAlgorithm::tree,
                                                NcclAlgorithm::ring,
                                                NcclAlgorithm::collnet_direct,
                                                NcclAlgorithm::collnet_chain,
                                                NcclAlgorithm::nvls,
                                                NcclAlgorithm::nvls_tree,
                                                NcclAlgorithm::pat};

inline constexpr std::array all_nccl_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

/// The function that a collective is; nothing for those made of sends and receives. A barrier is an
/// all_reduce of one element, which is how frameworks make one of NCCL.
std::optional<NcclFunction> function_of(Collective collective);
/// What NCCL runs for it: itself, but an all_reduce for a barrier.
Collective under_nccl(Collective collective);

/// The names that NCCL's logs and variables use: "AllReduce", "CollNetDirect".
std::string_view nccl_name(NcclFunction function);
std::string_view nccl_name(NcclAlgorithm algorithm);
/// The name in lower case, as Prediction::algorithm has it: "collnetdirect".
std::string nccl_report_name(NcclAlgorithm algorithm);

/// Finds a function by NCCL's name, upper or lower case.
std::optional<NcclFunction> find_nccl_function(std::string_view name);
std::optional<NcclAlgorithm> find_nccl_algorithm(std::string_view name);
std::optional<Protocol> find_nccl_protocol(std::string_view name);

/// A value per enumerator.
template <typename Value>
using PerFunction = std::array<Value, nccl_function_count>;
template <typename Value>
using PerAlgorithm = std::array<Value, nccl_algorithm_count>;
template <typename Value>
using PerProtocol = std::array<Value, protocol_count>;

template <typename Enumerator>
constexpr std::size_t index_of(Enumerator enumerator) {
  return static_cast<std::size_t>(enumerator);
}

/// An algorithm with its protocol.
struct AlgorithmProtocol {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  bool operator==(const AlgorithmProtocol&) const = default;
};

}  // namespace collsim
