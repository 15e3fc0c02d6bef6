// What proxies of a network do to a call, on the smallest plans that show it.

#include <gtest/gtest.h>

#include <utility>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

class ExecutorProxies : public testing::Test {
 protected:
  /// All links are networks of 10 GB/s and 1 us behind proxies; nothing limits the way into a
  /// proxy's buffer.
  double microseconds_of(const Plan& plan, Bytes size, const Chunking& chunking) const {
    Wiring wiring = test::private_wiring(plan, gigabytes_per_second(10), microseconds(1));
    for (Wire& wire : wiring.wires[0]) std::swap(wire.resources, wire.network);
    const DataPartition partition(plan, size, Bytes{4}, chunking);
    NativeFabric fabric;
    return in_microseconds(
        execute({plan, partition, wiring, cost_, Protocol::simple}, fabric).time);
  }

  // Two ranks, 20,000 bytes: two hops of 10,000 bytes, 1 us at 10 GB/s, and 1 us of alpha each.
  Plan plan_ = make_plan(Collective::all_reduce, "ring", uniform_placement(2));
  Bytes size_{20000};
  Calibration cost_;
};

// Each hop: 1.5 us of the sender's thread, 1 us on the wire, 1 us of alpha, 0.5 us of the
// receiver's.
TEST_F(ExecutorProxies, each_message_pays_both_threads) {
  cost_.proxy.send = microseconds(1.5);
  cost_.proxy.receive = microseconds(0.5);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 8);
}

// 10,000 bytes at 10 GB/s: 1 us at each end besides the 2 us between them, and two hops.
TEST_F(ExecutorProxies, both_threads_copy_the_bytes) {
  cost_.proxy.copy = gigabytes_per_second(10);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 8);
}

// Threads of the connection's own copy while what they have copied is on the wire: 10,000 bytes are
// one piece, which one of them copies at 5 GB/s in 2 us, at both ends at once.
TEST_F(ExecutorProxies, own_threads_copy_beside_the_wire) {
  cost_.proxy.copy = gigabytes_per_second(5);
  cost_.proxy.helpers = 2;
  cost_.proxy.streams = 2;
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 6);
}

// Hops of 100,000 bytes, two pieces of 64 KiB or less: two threads copy 10 GB/s, one 5, and two
// streams of 3 GB/s carry 6. Each hop has 1 us of alpha.
TEST_F(ExecutorProxies, streams_share_a_message) {
  const Bytes size{200000};
  cost_.proxy.copy = gigabytes_per_second(5);
  cost_.proxy.helpers = 2;
  cost_.proxy.streams = 2;
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size, {}), 22);
  cost_.proxy.helpers = 1;
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size, {}), 42);
  cost_.proxy.rate = gigabytes_per_second(3);
  cost_.proxy.helpers = 2;
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size, {}), 2 * (100.0 / 6 + 1));
}

// Two slices, 0.5 us on the wire each. A thread takes 2 us to send and no time to receive, but
// receives only between two sends. First hop: the threads send until 2 and 4, the slices are there
// at 3.5, which the thread sees at 4, and at 5.5. Second: sent until 6, while the other slice waits
// until then, and until 8; there at 7.5, seen at 8, and at 9.5.
TEST_F(ExecutorProxies, a_thread_does_one_thing_at_a_time) {
  cost_.proxy.send = microseconds(2);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {.slices = 2}), 9.5);
}

// 10,000 bytes at 5 GB/s: 2 us a hop instead of 1.
TEST_F(ExecutorProxies, a_connection_has_its_own_rate) {
  cost_.proxy.rate = gigabytes_per_second(5);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 6);
}

// Three chunks up a tree of two, one credit. Chunk 0 is on the wire 0..1 and arrives at 2, when its
// slot is free again; chunk 1, in the buffer since 1, can go only then: 2..3, arrives at 4; chunk 2
// 4..5, arrives at 6. Down: 6..7, arrives at 8.
TEST_F(ExecutorProxies, a_proxy_waits_for_the_receivers_buffer) {
  const Plan tree = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  EXPECT_DOUBLE_EQ(microseconds_of(tree, {30000}, {.largest_chunk = {10000}, .credits = 1}), 8);
}

// The same with sockets that hold two chunks and a half. Chunks 0 and 1 are in them at 0, on the
// wire until 1 and 2; chunk 2 has room when chunk 0 is received at 2: on the wire 2..3, there at 4.
// Down: 4..5, arrives at 6.
TEST_F(ExecutorProxies, sockets_take_what_the_receiver_has_no_room_for) {
  const Plan tree = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  cost_.proxy.socket = {25000};
  EXPECT_DOUBLE_EQ(microseconds_of(tree, {30000}, {.largest_chunk = {10000}, .credits = 1}), 6);
}

}  // namespace
}  // namespace collsim
