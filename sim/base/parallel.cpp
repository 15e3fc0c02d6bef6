#include "sim/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace collsim {

std::uint32_t processors() {
  return std::max(1U, std::thread::hardware_concurrency());
}

std::jthread try_to_start(std::function<void()> work) {
  try {
    return std::jthread(std::move(work));
  } catch (const std::system_error&) {
    return {};
  }
}

void for_each_in_parallel(std::size_t count, std::uint32_t threads,
                          const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    const std::size_t most = std::min<std::size_t>(threads, count);
    std::vector<std::jthread> others;  // joined at the end
    others.reserve(most);
    for (std::size_t i = 1; i < most; ++i) {
      others.push_back(try_to_start(run));
      if (!others.back().joinable()) break;
    }
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace collsim
