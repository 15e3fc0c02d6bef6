// Prints how long an all_reduce takes on 8 x H200, by size.
// g++ -std=c++20 times.cpp -o times $(pkg-config --cflags --libs collsim)
#include <collsim/collsim.hpp>
#include <cstdio>
#include <exception>

int main() try {
  using namespace collsim::api;
  const Machine machine = load_machine("hgx-h200");
  for (const Prediction& each : simulate(machine, Call{}, {1 << 20, 1 << 25, 1 << 30})) {
    std::printf("%lld %.2f %s %s\n", static_cast<long long>(each.bytes), each.time_us,
                each.algorithm.c_str(), each.protocol.c_str());
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
