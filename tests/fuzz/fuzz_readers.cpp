// fuzz-readers [MUTANTS] [TARGET] [FIRST]: gives every reader of outside input, and whole commands,
// mutants of good input. Whatever the text, a reader takes it or throws InputError, and a command
// ends with 0, 1 or 2; in 5 s and 1 GiB. Anything else is printed, and the exit code is 1. Always
// the same mutants: `fuzz-readers 1 TARGET NUMBER` does one again, and prints its text.

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace collsim {
namespace {

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Mutants that were all refused, or none, would not test much.
bool tells_something(const FuzzResult& result) {
  constexpr std::size_t few = 200;
  return result.mutants < few || (result.accepted > 0 && result.accepted < result.mutants);
}

bool passes(const FuzzTarget& target, std::size_t first, std::size_t mutants) {
  const std::size_t count = std::max<std::size_t>(1, mutants / target.cost);
  const FuzzResult result = fuzz(target, first, count);
  fmt::print("{:<28} {:>7} mutants of {:>3} seeds: {:>7} taken; longest {:>7.1f} ms; {:>5} MiB\n",
             target.name, result.mutants, target.seeds.size(), result.accepted,
             1000 * result.longest, result.memory_kib / 1024);
  if (!result.failure.empty()) fmt::print("{}: {}\n", target.name, result.failure);
  if (mutants == 1) fmt::print("{}\n", mutant_of(target, first).content);
  const bool tells = tells_something(result);
  if (!tells) fmt::print("{}: all mutants were taken, or all refused\n", target.name);
  std::fflush(stdout);
  return result.failure.empty() && tells;
}

int fuzz_all(std::size_t mutants, std::string_view only, std::size_t first) {
  std::string folder = (std::filesystem::temp_directory_path() / "collsim-fuzz-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  int status = 0;
  for (const FuzzTarget& target : fuzz_targets(folder)) {
    if (!only.empty() && target.name != only) continue;
    if (!passes(target, first, mutants)) status = 1;
  }
  std::filesystem::remove_all(folder);
  return status;
}

}  // namespace
}  // namespace collsim

int main(int argc, char** argv) try {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const auto mutants =
      arguments.empty() ? std::optional<std::size_t>(400) : collsim::number_in(arguments[0]);
  const auto first =
      arguments.size() < 3 ? std::optional<std::size_t>(0) : collsim::number_in(arguments[2]);
  if (!mutants || !first || arguments.size() > 3) {
    fmt::print(stderr, "usage: fuzz-readers [MUTANTS] [TARGET] [FIRST]\n");
    return 2;
  }
  return collsim::fuzz_all(*mutants, arguments.size() < 2 ? "" : arguments[1], *first);
} catch (const std::exception& error) {
  std::fprintf(stderr, "fuzz-readers: %s\n", error.what());
  return 1;
}
