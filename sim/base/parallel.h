#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

namespace collsim {

/// How many threads run at the same time here; 1 where nobody knows.
std::uint32_t processors();

/// A thread that does the work; one that is not joinable where the system gives no more.
std::jthread try_to_start(std::function<void()> work);

/// Calls work(0) ... work(count - 1) on at most `threads` threads, this one among them, and on
/// fewer where the system gives no more; lower numbers begin earlier. After an exception no more
/// begin, and the first one is thrown again.
void for_each_in_parallel(std::size_t count, std::uint32_t threads,
                          const std::function<void(std::size_t)>& work);

}  // namespace collsim
