#include <cmath>
#include <cstdio>

#include "models/calibration/calibration_file.h"
#include "models/prediction/prediction.h"
#include "models/prediction/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

// 8 ranks, 50 GB/s, 1 us: 14 hops of 1 us + 1 MiB / 8 / 50 GB/s, on every engine.
int main() {
  using namespace collsim;
  const Topology topology = load_topology(find_data_file("switch-8", "topologies"));
  const Calibration ideal = load_calibration(find_data_file("ideal", "models/calibrations"));
  const Planner planner(
      {&topology, ideal, Collective::all_reduce, RunSpec{}, first_gpus(topology, 8)});
  for (const Engine engine : all_engines()) {
    const double time = in_microseconds(simulate(planner.plan(Bytes{1 << 20}), engine).time);
    std::printf("%.5f us\n", time);
    if (std::abs(time - 50.70016) > 1e-6) return 1;
  }
}
