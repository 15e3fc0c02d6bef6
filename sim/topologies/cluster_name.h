#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace collsim {

/// A machine named by its nodes and their number: "dgx-h100-x6" is six nodes "dgx-h100".
struct ClusterName {
  std::string node;
  std::uint32_t nodes = 1;
};

/// Takes any such name apart; nothing for other names, and for numbers above gpu_limit.
std::optional<ClusterName> parse_cluster_name(std::string_view name);

/// The shipped cluster of fewest such nodes, as "dgx-h100-x4" of "dgx-h100", or the shipped machine
/// of their name; nothing where there is none.
std::optional<std::string> shipped_cluster(std::string_view node);

/// The file of a machine, as find_data_file() finds it among the topologies; or the bare name as it
/// is, where no topology has it and it is a shipped node template, a ClusterName of one, or of the
/// nodes of a shipped_cluster(). Throws InputError.
std::filesystem::path find_machine(std::string_view name, const std::filesystem::path& base = {});
/// Whether find_machine() takes the bare name, though no topology has it.
bool names_unwritten_cluster(std::string_view name);

}  // namespace collsim
