#pragma once

#include <iosfwd>
#include <string>

#include "sim/topologies/topology.h"

namespace collsim::command {

/// Prints one thing that a person should know about the answers: the one form that all subcommands
/// have for it.
void print_warning(const std::string& warning, std::ostream& err);

/// Prints several warnings, in their order.
template <typename Warnings>
void print_warnings(const Warnings& warnings, std::ostream& err) {
  for (const std::string& warning : warnings) print_warning(warning, err);
}

/// The topology of a machine (load_machine()). Prints what was assumed where it was imported.
/// Throws InputError.
Topology load_with_warnings(const std::string& name, std::ostream& err);

}  // namespace collsim::command
