#pragma once

#include <cstdint>
#include <string_view>

namespace collsim {

/// "0000:1b:00.0" as a number, which orders devices as their ids do; all that is not a hexadecimal
/// digit is left out.
std::uint64_t pci_bus_id(std::string_view text);

}  // namespace collsim
