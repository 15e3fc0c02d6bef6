// The targets for libFuzzer, as OSS-Fuzz has them: a program for each, here links to one program
// that takes its target from its own name, `fuzz-recording`. `tools/dev/fuzz` builds and runs them.
// Whatever the input, a reader takes it or throws InputError; anything else is a finding.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using collsim::FuzzTarget;

/// The one of this run; its first seed says of what kind of file the input is.
const FuzzTarget* chosen = nullptr;

std::string target_name(const char* program) {
  const std::string name = std::filesystem::path(program).filename();
  const std::string prefix = "fuzz-";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

/// Writes the seeds of a target as files, for libFuzzer's corpus.
void write_seeds(const FuzzTarget& target, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < target.seeds.size(); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary) << target.seeds[i].content;
  }
}

}  // namespace

/// `--list` prints the names, `--seeds=FOLDER` writes the seeds of all targets into folders of
/// their names.
extern "C" int LLVMFuzzerInitialize(int* argc,
                                    char*** argv) {  // NOLINT(readability-identifier-naming)
  static const std::vector<FuzzTarget> targets =
      collsim::fuzz_targets(std::filesystem::temp_directory_path());
  const std::string option = *argc > 1 ? (*argv)[1] : "";
  if (option == "--list" || option.starts_with("--seeds=")) {
    for (const FuzzTarget& each : targets) {
      if (option == "--list")
        std::puts(each.name.c_str());
      else
        write_seeds(each, std::filesystem::path(option.substr(option.find('=') + 1)) / each.name);
    }
    std::exit(0);
  }
  const std::string name = target_name((*argv)[0]);
  for (const FuzzTarget& each : targets) {
    if (each.name == name) chosen = &each;
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "no target '%s'; --list prints them\n", name.c_str());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {  // NOLINT(readability-identifier-naming)
  const collsim::TextFile text{chosen->seeds.front().name,
                               std::string(reinterpret_cast<const char*>(data), size)};
  try {
    chosen->read(text);
  } catch (const collsim::InputError&) {
    // refused
  }
  return 0;
}
