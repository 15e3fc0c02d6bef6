#include "models/nccl/system/pci_bus_id.h"

#include <cctype>

namespace collsim {

std::uint64_t pci_bus_id(std::string_view text) {
  std::uint64_t id = 0;
  for (const char letter : text) {
    const std::size_t digit =
        std::string_view("0123456789abcdef")
            .find(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
    if (digit != std::string_view::npos) id = id * 16 + digit;
  }
  return id;
}

}  // namespace collsim
