// A call that memory cannot hold is refused before anything is laid out.

#include "models/call/memory_need.h"

#include <gtest/gtest.h>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// An all_reduce by trees on all 16,384 GPUs of 2,048 DGX H100.
class LargeTree : public testing::Test {
 protected:
  LargeTree() : compiler_(spec()) {}

  Topology topology_ = load_topology(find_data_file("dgx-h100-x2048", "topologies"));
  CallCompiler compiler_;
  Bytes size_{std::int64_t{1} << 30};

 private:
  CallSpec spec() const {
    CallSpec spec;
    spec.topology = &topology_;
    spec.cost = calibration_for(topology_);
    spec.gpus = first_gpus(topology_, 16'384);
    spec.run.algorithm = "tree";
    return spec;
  }
};

// Trees up and down on 16 channels: 2 * 16 * 16,384 = 524,288 connections of 1,300 bytes, 0.68 GB.
TEST_F(LargeTree, needs_memory_for_every_connection) {
  EXPECT_NEAR(memory_needed(compiler_, size_), 0.68e9, 0.01e9);
}

TEST_F(LargeTree, is_refused_where_it_needs_more_than_four_fifths) {
  EXPECT_THROW(require_memory(compiler_, size_, 0.8e9), InputError);
  EXPECT_NO_THROW(require_memory(compiler_, size_, 0.9e9));
}

TEST(Memory, that_is_available_is_more_than_nothing) {
  EXPECT_GT(memory_available(), 1e6);
}

}  // namespace
}  // namespace collsim
