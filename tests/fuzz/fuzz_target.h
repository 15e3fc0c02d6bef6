#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/base/text_file.h"

namespace collsim {

/// One reader of what comes from outside, or a whole command that reads a file.
struct FuzzTarget {
  std::string name;
  /// Texts that mutants are made of.
  std::vector<TextFile> seeds;
  /// Whether the reader takes a text. Throws nothing but InputError, which refuses it.
  std::function<bool(const TextFile&)> read;
  /// Commands simulate what they read: they get one mutant where a reader gets so many.
  std::size_t cost = 1;
};

/// All of them. `folder` is for files that targets write.
std::vector<FuzzTarget> fuzz_targets(const std::filesystem::path& folder);

/// How a target has taken some mutants.
struct FuzzResult {
  std::size_t mutants = 0;
  std::size_t accepted = 0;
  double longest = 0;   ///< seconds of the slowest
  long memory_kib = 0;  ///< the most memory that was held
  std::string failure;  ///< empty: every mutant was taken or refused
};

/// Gives a target the mutants of numbers `first` to `first` + `count` - 1, in a process of its own.
/// A mutant fails that ends in anything but success or InputError, takes more than 10 s of a CPU
/// (5 s of a quiet one; 5 minutes under a sanitizer, which is slow), or more than 1 GiB of memory.
FuzzResult fuzz(const FuzzTarget& target, std::size_t first, std::size_t count);

/// The text of a mutant: the same for the same target and number.
TextFile mutant_of(const FuzzTarget& target, std::size_t number);

}  // namespace collsim
