#pragma once

#include <memory>

#include "sim/fabric/fabric.h"

namespace collsim {

/// The reference engine: SimGrid's exact max-min sharing. SimGrid is loaded by the first call, from
/// the module that holds the engine, because linking it would cost every start of a program 30 ms.
///
/// A build without SimGrid (COLLSIM_SIMGRID=OFF) has simgrid_left_out.cpp in place of
/// simgrid_fabric.cpp.
///
/// SimGrid has one engine per process: of these fabrics only one may exist at a time (assertion).
/// Throws InputError when the build has no such engine, or the module or SimGrid itself cannot be
/// loaded.
std::unique_ptr<Fabric> make_simgrid_fabric();

/// Loads the module ahead of the first fabric. Throws InputError as that would.
void load_simgrid();

/// Whether this build has the engine.
bool has_simgrid();

}  // namespace collsim
