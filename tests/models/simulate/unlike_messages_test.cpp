// Exchanges whose messages have sizes of their own, on machines of every kind of link.

#include "models/simulate/unlike_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/imports/machine.h"

namespace collsim {
namespace {

constexpr Rank ranks = 4;

class UnlikeMessages : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  CallSpec spec(Collective collective, Rank root = 0) const {
    RunSpec run;
    run.variables["NCCL_P2P_DISABLE"] = GetParam().second;
    run.variables["NCCL_NVLS_ENABLE"] = "0";
    CallSpec call{&topology_, calibration_for(topology_), collective,
                  with_defaults(run, collective, topology_), first_gpus(topology_, ranks, {})};
    call.root = root;
    return call;
  }
  /// Every rank has so much for every other, and nothing for itself.
  static MessageSizes even(std::int64_t bytes) {
    MessageSizes sizes{ranks, std::vector<Bytes>(std::size_t{ranks} * ranks, Bytes{bytes})};
    for (Rank rank = 0; rank < ranks; ++rank) sizes.sizes[rank * ranks + rank] = {};
    return sizes;
  }
  double microseconds_of(const MessageSizes& sizes) const {
    return in_microseconds(time_of_messages(exchange_, sizes));
  }

  Topology topology_ = load_machine(GetParam().first).topology;
  CallCompiler exchange_{spec(Collective::all_to_all)};
};

TEST_P(UnlikeMessages, take_what_the_all_to_all_takes_where_they_are_alike) {
  for (const std::int64_t bytes : {1024, 65536, 1 << 20, 16 << 20}) {
    const Seconds whole = simulate(exchange_.plan(Bytes{ranks * bytes})).time;
    EXPECT_NEAR(microseconds_of(even(bytes)) / in_microseconds(whole), 1, 4e-3) << bytes;
  }
}

// What more a rank sends or keeps never makes an exchange faster, by more than what a smaller
// protocol or other parts of a message change.
TEST_P(UnlikeMessages, take_no_less_with_more_to_send) {
  for (const std::int64_t bytes : {65536, 1 << 20, 4 << 20}) {
    const double before = microseconds_of(even(bytes));
    for (const std::size_t larger : {1U, 5U, 7U, 12U}) {
      MessageSizes sizes = even(bytes);
      sizes.sizes[larger] = Bytes{4 * bytes};
      EXPECT_GE(microseconds_of(sizes), 0.97 * before) << bytes << ", message " << larger;
    }
  }
}

TEST_P(UnlikeMessages, take_time_for_what_ranks_keep) {
  MessageSizes own{ranks, std::vector<Bytes>(std::size_t{ranks} * ranks)};
  EXPECT_EQ(microseconds_of(own), 0);
  own.sizes[5] = Bytes{4 << 20};
  const double once = microseconds_of(own);
  own.sizes[5] = Bytes{64 << 20};
  EXPECT_GT(microseconds_of(own), 4 * once);
}

// A group of broadcasts takes as long as the longest alone at least, and about as long as all of
// them one after the other at most: each has a share of the channels, which fills a port less well.
TEST_P(UnlikeMessages, of_broadcasts_run_at_once) {
  std::vector<CallCompiler> broadcasts;
  std::vector<Bytes> sizes;
  double sum = 0;
  double longest = 0;
  for (Rank root = 0; root < ranks; ++root) {
    broadcasts.emplace_back(spec(Collective::broadcast, root));
    sizes.push_back(Bytes{std::int64_t{4 << 20} << root});
    const double alone = in_microseconds(simulate(broadcasts.back().plan(sizes.back())).time);
    sum += alone;
    longest = std::max(longest, alone);
  }
  const double group = in_microseconds(time_of_broadcasts(broadcasts, sizes));
  EXPECT_GE(group, longest);
  EXPECT_LE(group, 1.1 * sum);
}

INSTANTIATE_TEST_SUITE_P(Machines, UnlikeMessages,
                         testing::Values(std::pair("hgx-h200-4", "0"), std::pair("hgx-h200-4", "1"),
                                         std::pair("dgx-a100", "0"), std::pair("dgx-b200", "0"),
                                         std::pair("a100-mesh-4", "0"), std::pair("l40s-4", "0"),
                                         std::pair("dgx-1-v100", "0"),
                                         std::pair("rtx4090-4", "0")));

}  // namespace
}  // namespace collsim
