// What proxies of a network do to a call, on the smallest plans that show it.

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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
    for (std::vector<Wire>& channel : wiring.wires) {
      for (Wire& wire : channel) std::swap(wire.resources, wire.network);
    }
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

// Each rank sends and receives at once, 1.5 and 0.5 us of its thread: half as fast until the
// receive is over after 1 us, the send after 2. Meanwhile the bytes are 1 us on the wire. Two hops,
// and 1 us of alpha each.
TEST_F(ExecutorProxies, a_message_keeps_both_threads_and_the_network_busy) {
  cost_.proxy.send = microseconds(1.5);
  cost_.proxy.receive = microseconds(0.5);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 6);
}

// Each thread copies 10,000 bytes out and 10,000 in at 10 GB/s: 2 us, and 1 us of alpha.
TEST_F(ExecutorProxies, both_threads_copy_the_bytes) {
  cost_.proxy.copy = gigabytes_per_second(10);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 6);
}

// Two channels, each with 10,000 bytes a hop: a thread has two messages to send, 2 us each, and is
// done with both after 4.
TEST_F(ExecutorProxies, connections_share_the_time_of_a_thread) {
  const Plan two = make_plan(Collective::all_reduce, "ring", uniform_placement(2), 2);
  cost_.proxy.send = microseconds(2);
  EXPECT_DOUBLE_EQ(microseconds_of(two, {40000}, {}), 10);
}

// 1 us more at either end, 2 us of each thread, for 10,000 bytes if 5,000 may be sent unasked; none
// if 10,000 may.
TEST_F(ExecutorProxies, large_messages_are_agreed_on) {
  cost_.proxy.rendezvous = microseconds(1);
  cost_.proxy.eager = {5000};
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 6);
  cost_.proxy.eager = {10000};
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 4);
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

// Two slices, each 0.5 us on the wire and 2 us in the hands of the sender's thread. First hop: sent
// until 2 and 4, there at 3 and 5. Second: the first slice, ready at 3, waits until 4, and is sent
// until 6; the other until 8, and there at 9.
TEST_F(ExecutorProxies, messages_of_a_connection_go_one_after_the_other) {
  cost_.proxy.send = microseconds(2);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {.slices = 2}), 9);
}

// 10,000 bytes at 5 GB/s: 2 us a hop instead of 1.
TEST_F(ExecutorProxies, a_connection_has_its_own_rate) {
  cost_.proxy.rate = gigabytes_per_second(5);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, {}), 6);
}

// Three chunks up a tree of two, one credit. Chunk 0 is on the wire 0..1 and arrives at 2, when its
// slot is free again. The sender hears of it 1 us later. Chunk 1, in the buffer since 1, can go
// only then: 3..4, arrives at 5; chunk 2 6..7, arrives at 8. Down: 8..9, arrives at 10. A notice of
// 0.5 us more keeps two chunks waiting.
TEST_F(ExecutorProxies, a_proxy_waits_for_the_receivers_buffer) {
  const Plan tree = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  EXPECT_DOUBLE_EQ(microseconds_of(tree, {30000}, {.largest_chunk = {10000}, .credits = 1}), 10);
  cost_.protocols[static_cast<std::size_t>(Protocol::ll)]
      .alpha[static_cast<std::size_t>(LinkKind::network)] = microseconds(0.5);
  EXPECT_DOUBLE_EQ(microseconds_of(tree, {30000}, {.largest_chunk = {10000}, .credits = 1}), 11);
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
