// What a page has no place for: the build for browsers has these in place of
// sim/base/installation.cpp and libgumbo.

#include <gumbo.h>
#include <spawn.h>

#include <cerrno>

#include "sim/base/input_error.h"
#include "sim/base/installation.h"
#include "sim/base/parallel.h"

namespace collsim {

std::optional<std::filesystem::path> find_module(std::string_view) {
  return std::nullopt;
}

/// Where engine.js puts the data that tools/web/engine/pack.mjs packed.
std::optional<std::filesystem::path> find_shared_data() {
  return "/collsim";
}

// One thread does it all. The runtime of Emscripten 3.1.6 cannot keep an exception of WebAssembly
// for later (std::rethrow_exception), which several threads need.
std::uint32_t processors() {
  return 1;
}

std::jthread try_to_start(std::function<void()>) {
  return {};
}

void for_each_in_parallel(std::size_t count, std::uint32_t,
                          const std::function<void(std::size_t)>& work) {
  for (std::size_t i = 0; i < count; ++i) work(i);
}

}  // namespace collsim

extern "C" {

const GumboOptions kGumboDefaultOptions{};

GumboOutput* gumbo_parse_with_options(const GumboOptions*, const char*, size_t) {
  throw collsim::InputError("HTML is not read in a browser", "the matrix as a terminal shows it");
}

void gumbo_destroy_output(const GumboOptions*, GumboOutput*) {}

/// A page starts no programs (dot, rsvg-convert).
int posix_spawnp(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                 char* const*, char* const*) {
  return ENOSYS;
}
}
