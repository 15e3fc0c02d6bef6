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
std::span<const Engine> all_engines();

/// An empty fabric at time 0. Only one of `simgrid` may exist at a time. Throws InputError when
/// SimGrid is not installed.
std::unique_ptr<Fabric> make_fabric(Engine engine);

}  // namespace collsim
