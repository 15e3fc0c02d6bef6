#pragma once

#include <iosfwd>

#include "sim/topologies/topology.h"

namespace collsim::command {

/// The machine in Graphviz' language: a box per node with its devices, links labelled with their
/// bandwidth. Throws InputError for more than 2000 devices, which would be unreadable.
void print_dot(const Topology& topology, std::ostream& out);

/// The same, laid out by Graphviz' program `dot`. Throws InputError if it is not installed.
void print_svg(const Topology& topology, std::ostream& out);

}  // namespace collsim::command
