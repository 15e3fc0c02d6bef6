#include "sim/base/shortened.h"

namespace collsim {

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto is_inside = [&](std::size_t place) {
    return (static_cast<unsigned char>(text[place]) & 0xC0U) == 0x80U;  // of a character of UTF-8
  };
  std::size_t head = most / 4 * 3;
  std::size_t tail = text.size() - most / 4;
  while (head > 0 && is_inside(head)) --head;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return std::string(text.substr(0, head)) + " ... (" + std::to_string(tail - head) +
         " bytes more) ... " + std::string(text.substr(tail));
}

}  // namespace collsim
