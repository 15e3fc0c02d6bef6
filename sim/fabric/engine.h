#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "sim/fabric/fabric.h"

namespace collsim {

/// The implementations of Fabric. `native` is the fast one, `simgrid` the reference; `uncontended`
/// shares nothing.
enum class Engine : std::uint8_t { native, simgrid, uncontended };

std::string_view to_string(Engine engine);
/// The engine of that name, or nothing.
std::optional<Engine> find_engine(std::string_view name);
/// The engines that this build has: SimGrid can be left out of it.
std::span<const Engine> all_engines();

/// Loads what the engine needs ahead of the first fabric. Throws InputError when the build has no
/// such engine, or SimGrid is not installed.
void load_engine(Engine engine);

/// An empty fabric at time 0. Only one of `simgrid` may exist at a time. Throws InputError
/// as load_engine() does.
std::unique_ptr<Fabric> make_fabric(Engine engine);

}  // namespace collsim
