// A result far over its closed form is a bug of ours, as one below its bound is.

#include "models/call/far_above.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// 1 GiB to everybody on 65,536 GPUs, whose messages of 16 KiB were once 1 GiB each.
class ExchangeOfManyRanks : public testing::Test {
 protected:
  ExchangeOfManyRanks() : compiler_(spec()) {}

  Topology topology_ = load_topology(find_data_file("dgx-h100-x16384", "topologies"));
  CallCompiler compiler_;
  Bytes size_{1 << 30};

 private:
  CallSpec spec() const {
    CallSpec spec;
    spec.topology = &topology_;
    spec.collective = Collective::all_to_all;
    spec.cost = calibration_for(topology_);
    spec.gpus = first_gpus(topology_, 65'536);
    return spec;
  }
};

TEST_F(ExchangeOfManyRanks, of_1632_seconds_is_refused) {
  Prediction prediction = Estimator(compiler_).estimate(size_);
  EXPECT_NO_THROW(check_not_far_above(compiler_, prediction, Bytes{128 << 10}));
  prediction.time = Seconds{1632};
  EXPECT_THROW(check_not_far_above(compiler_, prediction, Bytes{128 << 10}), std::logic_error);
}

// switch-8, a ring of 1 MiB: with 64 elements of 4 bytes more for each of 8 ranks 1,050,624 bytes,
// of which the bound counts 14/8 at 50 GB/s, 36.77184 us, times 8 for a textbook's star; 2 * 8 + 2
// hops of 1 us (the bound's latency of a message), nothing else costs anything.
TEST(PlainCourse, of_a_textbook_by_hand) {
  const Topology topology = load_topology(find_data_file("switch-8", "topologies"));
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.gpus = first_gpus(topology, 8);
  spec.run.algorithm = "ring";
  const CallCompiler compiler(std::move(spec));
  const Prediction prediction = simulate(compiler.plan(Bytes{1 << 20}));
  EXPECT_NEAR(in_microseconds(plain_course(compiler, prediction, {})), 8 * 36.77184 + 18, 1e-3);
}

}  // namespace
}  // namespace collsim
