#pragma once

#include <cstdint>
#include <functional>

namespace collsim {

/// Calls work(0) ... work(count - 1) on at most `threads` threads, this one among them; lower
/// numbers begin earlier. After an exception no more begin, and the first one is thrown again.
void for_each_in_parallel(std::size_t count, std::uint32_t threads,
                          const std::function<void(std::size_t)>& work);

}  // namespace collsim
