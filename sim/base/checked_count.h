#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace collsim {

/// The count in 32 bits, in which plans number what they are made of. Throws InputError where it
/// does not fit: "4294967296 chunks"; `accepted` says what would be.
std::uint32_t checked_count(std::uint64_t count, std::string_view what,
                            const std::string& accepted);

}  // namespace collsim
