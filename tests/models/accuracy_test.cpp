// Predicted against recorded times: 8 x H200 over NVLink, as NCCL 2.28 runs it. Prints a table per
// family and band of sizes; run it alone to read it. The constants were fitted to these same rows,
// so this is no held-out error: it says whether the structure is right.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "models/cost_model.h"
#include "models/data_directory.h"
#include "models/predictor.h"
#include "models/recording.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

struct Family {
  std::string id;
  std::string algorithm;
  std::string protocol;
  std::string channels;  ///< forced; empty: NCCL's
};

std::vector<Family> families() {
  std::vector<Family> all;
  for (const std::string algorithm : {"Ring", "Tree"}) {
    for (const std::string protocol : {"Simple", "LL", "LL128"}) {
      all.push_back({fmt::format("{}-{}-8", algorithm, protocol), algorithm, protocol, ""});
    }
    for (const std::string channels : {"1", "4", "16"}) {
      all.push_back(
          {fmt::format("ch{}-{}-Simple-8", channels, algorithm), algorithm, "Simple", channels});
    }
  }
  return all;
}

RunSpec run_of(const Family& family) {
  RunSpec run;
  run.schedule = ScheduleKind::nccl;
  run.algorithm = "auto";
  run.nccl_version = {2, 28};
  run.variables = {{"NCCL_ALGO", family.algorithm}, {"NCCL_PROTO", family.protocol}};
  if (!family.channels.empty()) {
    run.variables["NCCL_MIN_NCHANNELS"] = family.channels;
    run.variables["NCCL_MAX_NCHANNELS"] = family.channels;
  }
  return run;
}

/// Relative errors of one family, by band: below 64 KiB, below 1 MiB, below 64 MiB, the rest.
struct Errors {
  std::array<std::vector<double>, 4> ours;
  std::vector<double> nccls;  ///< of NCCL's own estimate

  std::vector<double> all() const {
    std::vector<double> joined;
    for (const auto& band : ours) joined.insert(joined.end(), band.begin(), band.end());
    return joined;
  }
};

std::size_t band_of(Bytes size) {
  if (size < Bytes{64 << 10}) return 0;
  if (size < Bytes{1 << 20}) return 1;
  return size < Bytes{64 << 20} ? 2 : 3;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Errors errors_of(const Family& family) {
  const Topology topology = load_topology(find_data_file("hgx-h200", "topologies"));
  const auto times = measured_times(read_recording(data_directory() / "recordings/h200.csv"),
                                    family.id, Collective::all_reduce, 8);
  const Predictor predictor(topology, calibration_for(topology), Collective::all_reduce,
                            run_of(family), 8);
  Errors errors;
  for (const auto& recorded : times) {
    const Bytes size = recorded.first;
    const Seconds measured = recorded.second;
    const Prediction prediction = predictor.simulate(size, Engine::native);
    const auto error = [&](Seconds time) { return std::abs(time.value / measured.value - 1); };
    errors.ours[band_of(size)].push_back(error(prediction.time));
    errors.nccls.push_back(error(prediction.nccl_estimate.value()));
  }
  return errors;
}

TEST(Accuracy, of_forced_ring_and_tree_on_8_h200) {
  std::vector<double> simple;
  std::vector<double> ours;
  std::vector<double> nccls;
  std::cout << fmt::format("{:<20} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "median |error|, %",
                           "<64 KiB", "<1 MiB", "<64 MiB", "rest", "mean", "NCCL's");
  for (const Family& family : families()) {
    const Errors errors = errors_of(family);
    std::string line = fmt::format("{:<20}", family.id);
    for (const auto& band : errors.ours) line += fmt::format(" {:>8.1f}", 100 * median(band));
    std::cout << line
              << fmt::format(" {:>8.1f} {:>8.1f}\n", 100 * mean(errors.all()),
                             100 * mean(errors.nccls));
    for (const double error : errors.all()) {
      ours.push_back(error);
      if (family.protocol == "Simple") simple.push_back(error);
    }
    nccls.insert(nccls.end(), errors.nccls.begin(), errors.nccls.end());
  }
  std::cout << fmt::format(
      "all: median {:.1f} %, mean {:.1f} %; NCCL's own: median {:.1f} %, mean {:.1f} %\n",
      100 * median(ours), 100 * mean(ours), 100 * median(nccls), 100 * mean(nccls));
  EXPECT_LE(median(simple), 0.05);
  EXPECT_LE(2 * mean(ours), mean(nccls));
}

}  // namespace
}  // namespace collsim
