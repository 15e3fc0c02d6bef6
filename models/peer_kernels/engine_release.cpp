#include "models/peer_kernels/engine_release.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/input_error.h"
#include "sim/base/number.h"

namespace collsim {

ReleaseNumbers parse_release(std::string_view text) {
  ReleaseNumbers numbers;
  while (!text.empty()) {
    const int number = take_number<int>(text).value_or(-1);
    if (number < 0) break;
    numbers.push_back(number);
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return numbers;
}

EngineRelease parse_engine_release(std::string_view text) {
  const std::size_t colon = text.find(':');
  EngineRelease engine{std::string(text.substr(0, colon)), {}};
  if (colon == std::string_view::npos) return engine;
  engine.release = parse_release(text.substr(colon + 1));
  if (!engine.release.empty()) return engine;
  throw InputError(fmt::format("'{}' is no release of {}", text.substr(colon + 1), engine.engine),
                   "numbers after the colon, such as vllm:0.19");
}

std::string to_string(const EngineRelease& engine) {
  if (engine.release.empty()) return engine.engine;
  return fmt::format("{} {}", engine.engine, fmt::join(engine.release, "."));
}

}  // namespace collsim
