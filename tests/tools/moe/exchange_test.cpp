// Matrices, routers' skews and what flows over ports. Published times are in
// published_exchange_test.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "models/call/rank_gpus.h"
#include "models/imports/machine.h"
#include "sim/base/input_error.h"
#include "tools/collsim/moe/expert_exchange.h"

namespace collsim {
namespace {

ExpertPlaces places_on(std::uint32_t hosts, std::uint32_t per_host, std::uint32_t experts,
                       std::uint32_t top_k) {
  ExpertPlaces places;
  places.experts = experts;
  places.top_k = top_k;
  for (std::uint32_t rank = 0; rank < hosts * per_host; ++rank) {
    places.host_of_rank.push_back(rank / per_host);
  }
  return places;
}

double sum_of(const TrafficMatrix& matrix, Rank from) {
  return matrix.sent(from);
}

TEST(NumberTable, keeps_places_and_units) {
  const NumberTable table = read_number_table({"m.csv", "# sizes\n1, 4 KiB\n\n3,0\n"});
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].numbers[1], 4096);
  EXPECT_EQ(table.rows[1].places[1].line, 4);
}

TEST(NumberTable, names_the_place_of_what_is_no_number) {
  try {
    read_number_table({"m.csv", "1,2\n3,x\n"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("m.csv:2:3: 'x' is no number"));
  }
  EXPECT_THROW(read_number_table({"m.csv", ""}), InputError);
  EXPECT_THROW(read_number_table({"m.csv", "-1"}), InputError);
  EXPECT_THROW(read_number_table({"m.csv", "nan"}), InputError);
}

TEST(TrafficMatrix, of_a_file_is_square) {
  EXPECT_EQ(matrix_of(read_number_table({"m", "0,5\n7,0\n"}), 2).amount(1, 0), 7);
  EXPECT_THROW(matrix_of(read_number_table({"m", "0,5\n"}), 2), InputError);
  EXPECT_THROW(matrix_of(read_number_table({"m", "0,5\n7\n"}), 2), InputError);
  EXPECT_THROW(gathered_matrix(read_number_table({"m", "0,5\n7,8\n"}), 2), InputError);
}

// Two ranks with two experts each, of which a token takes two: none of one rank with chance
// (2/4)(1/3) = 1/6.
TEST(TokenTraffic, counts_experts_of_a_rank_once) {
  const TokenTraffic traffic = token_traffic(places_on(1, 2, 4, 2), Skew{});
  EXPECT_NEAR(traffic.ranks.amount(0, 1), 5.0 / 6, 1e-12);
  EXPECT_NEAR(traffic.experts.amount(0, 1), 1, 1e-12);
}

// Every 32nd of 256 experts: one on each of 8 ranks.
TEST(TokenTraffic, of_a_balanced_benchmark_reaches_every_rank) {
  const TokenTraffic traffic = token_traffic(places_on(1, 8, 256, 8), read_skew("balanced"));
  for (Rank to = 0; to < 8; ++to) EXPECT_NEAR(traffic.ranks.amount(3, to), 1, 1e-12);
}

TEST(TokenTraffic, sends_each_token_to_top_k_experts) {
  const ExpertPlaces places = places_on(8, 8, 256, 8);
  for (const char* const skew : {"uniform", "balanced", "zipf:1.2", "hot:40", "zipf:0"}) {
    EXPECT_NEAR(sum_of(token_traffic(places, read_skew(skew)).experts, 5), 8, 1e-6) << skew;
  }
}

// Of eight hosts a token's experts lie on four at most.
TEST(TokenTraffic, limits_the_hosts_of_a_token) {
  const TokenTraffic traffic = token_traffic(places_on(8, 8, 256, 8), Skew{});
  EXPECT_LT(sum_of(traffic.hosts, 0), 4);
  EXPECT_GT(sum_of(traffic.hosts, 0), 3.5);
}

double largest_difference(const TrafficMatrix& one, const TrafficMatrix& other) {
  double most = 0;
  for (Rank to = 0; to < one.ranks(); ++to) {
    most = std::max(most, std::abs(one.amount(0, to) - other.amount(0, to)));
  }
  return most;
}

/// However equal weights are written, and whether tokens may go to all hosts or to some.
TEST(TokenTraffic, of_equal_weights_is_uniform) {
  Skew counted;
  counted.kind = Skew::Kind::weighted;
  counted.counts.assign(256, 120);
  for (const std::uint32_t hosts : {1U, 2U, 4U, 8U, 16U}) {
    for (const std::uint32_t top_k : {1U, 4U, 8U}) {
      const ExpertPlaces places = places_on(hosts, 8, 256, top_k);
      const TokenTraffic uniform = token_traffic(places, Skew{});
      for (const Skew& skew : {read_skew("hot:1"), read_skew("zipf:0"), counted}) {
        const TokenTraffic traffic = token_traffic(places, skew);
        EXPECT_LT(largest_difference(traffic.ranks, uniform.ranks), 1e-9) << hosts;
        EXPECT_LT(largest_difference(traffic.hosts, uniform.hosts), 1e-9) << hosts;
        EXPECT_LT(largest_difference(traffic.experts, uniform.experts), 1e-9) << hosts;
      }
      // Weights that are nearly equal are nearly uniform.
      const TokenTraffic near = token_traffic(places, read_skew("hot:1.001"));
      EXPECT_LT(largest_difference(near.ranks, uniform.ranks), 1e-3) << hosts;
    }
  }
}

/// Draws experts by their weights, one after the other, without those drawn before: how often a
/// token goes to each rank.
std::vector<double> drawn_ranks(const ExpertPlaces& places, const Skew& skew) {
  constexpr int tokens = 10'000;
  const std::vector<double> weights = weights_of(skew, places.experts, "experts");
  std::mt19937 random(1);
  std::vector<double> hits(places.ranks());
  for (int token = 0; token < tokens; ++token) {
    std::vector<double> left = weights;
    std::vector<bool> hit(places.ranks());
    for (std::uint32_t i = 0; i < places.top_k; ++i) {
      const int expert = std::discrete_distribution<int>(left.begin(), left.end())(random);
      left[static_cast<std::size_t>(expert)] = 0;
      hit[places.rank_of(static_cast<std::uint32_t>(expert))] = true;
    }
    for (Rank rank = 0; rank < places.ranks(); ++rank) hits[rank] += hit[rank] ? 1.0 / tokens : 0;
  }
  return hits;
}

/// Equal weights are exact; what is left after some draws is taken as its mean, which is off where
/// one expert outweighs the others.
TEST(TokenTraffic, of_weights_is_as_drawn) {
  const ExpertPlaces places = places_on(2, 4, 32, 4);
  for (const char* const text : {"uniform", "hot:1", "hot:8", "hot:100", "zipf:0.5", "zipf:1.5"}) {
    const Skew skew = read_skew(text);
    const std::vector<double> drawn = drawn_ranks(places, skew);
    const TokenTraffic traffic = token_traffic(places, skew);
    for (Rank rank = 0; rank < places.ranks(); ++rank) {
      EXPECT_NEAR(traffic.ranks.amount(0, rank), drawn[rank], 0.05) << text << ", rank " << rank;
    }
  }
}

// What a rank sends itself goes nowhere, and says nothing of the others.
TEST(TrafficMatrix, is_even_whatever_ranks_send_themselves) {
  TrafficMatrix matrix(4);
  for (Rank from = 0; from < 4; ++from) {
    for (Rank to = 0; to < 4; ++to) matrix.add(from, to, from == to ? 0 : 8);
  }
  EXPECT_DOUBLE_EQ(evened(matrix).amount(0, 1), 8);
  for (Rank rank = 0; rank < 4; ++rank) matrix.add(rank, rank, 100);
  EXPECT_DOUBLE_EQ(evened(matrix).amount(0, 1), 8);
}

TEST(TokenTraffic, follows_what_a_router_chose) {
  Skew skew;
  skew.kind = Skew::Kind::routed;
  skew.tokens = {{0, {0, 1}, {}}, {0, {2, 3}, {}}, {1, {0, 3}, {}}};
  const TokenTraffic traffic = token_traffic(places_on(1, 2, 4, 2), skew);
  EXPECT_NEAR(traffic.ranks.amount(0, 1), 0.5, 1e-12);  // the second of two tokens
  EXPECT_NEAR(traffic.ranks.amount(1, 0), 1, 1e-12);
  EXPECT_NEAR(traffic.tokens[0], 2 / 1.5, 1e-12);  // two of three, by two ranks
}

TEST(Skew, says_what_it_takes) {
  EXPECT_THROW(read_skew("zipf:x"), InputError);
  EXPECT_THROW(read_skew("hot:-1"), InputError);
  EXPECT_THROW(read_skew("no-such-file"), InputError);
  EXPECT_THROW(token_traffic(places_on(8, 8, 64, 40), Skew{}), InputError);
}

/// Any matrix delivers all that ranks send to others, and no more; no port carries more in less
/// time than it has bandwidth for.
TEST(PortExchange, conserves_bytes_of_any_matrix) {
  const Machine machine = load_machine("dgx-h100-x4");
  std::mt19937 random(7);
  for (int trial = 0; trial < 20; ++trial) {
    const auto ranks = static_cast<Rank>(2 + random() % 31);
    const std::vector<DeviceId> gpus = first_gpus(machine.topology, ranks);
    TrafficMatrix matrix(ranks);
    double others = 0;
    for (Rank from = 0; from < ranks; ++from) {
      for (Rank to = 0; to < ranks; ++to) {
        const double bytes = random() % 3 == 0 ? 0.0 : static_cast<double>(random() % 1000000);
        matrix.add(from, to, bytes);
        if (from != to) others += bytes;
      }
    }
    const PortExchange exchange = exchange_over_ports(machine.topology, gpus, matrix);
    EXPECT_NEAR(exchange.delivered, others, 1e-9 * others);
    EXPECT_GE(exchange.time.value, exchange.ports.front().time.value * (1 - 1e-9));
  }
}

/// Dispatch and combine move the same messages, in opposite directions.
TEST(ExpertExchange, of_a_combine_goes_back) {
  const Machine machine = load_machine("dgx-h100-x4");
  const ExpertPlaces places = places_on(4, 8, 256, 8);
  const TokenTraffic traffic = token_traffic(places, read_skew("zipf:1"));
  const ExpertLayer layer;
  const TrafficMatrix there = bytes_moved(
      exchange_kernel(KernelFamily::deepep, ExpertOperation::dispatch), places, traffic, layer);
  const TrafficMatrix back = bytes_moved(
      exchange_kernel(KernelFamily::deepep, ExpertOperation::combine), places, traffic, layer);
  for (Rank from = 0; from < 32; ++from) {
    EXPECT_NEAR(there.amount(from, 9), back.amount(9, from), 1e-6);
  }
}

TEST(ExpertExchange, of_a_hot_expert_fills_its_port) {
  const Machine machine = load_machine("dgx-h100-x4");
  const std::vector<DeviceId> gpus = first_gpus(machine.topology, 32);
  const ExpertPlaces places = places_on(4, 8, 256, 8);
  const ExchangeKernel kernel =
      exchange_kernel(KernelFamily::deepep_low_latency, ExpertOperation::dispatch);
  const ExpertExchange even =
      expert_exchange(machine.topology, gpus, kernel, places, token_traffic(places, Skew{}), {});
  const ExpertExchange hot = expert_exchange(machine.topology, gpus, kernel, places,
                                             token_traffic(places, read_skew("hot:100")), {});
  EXPECT_GT(hot.time.value, 1.2 * even.time.value);
  EXPECT_EQ(hot.busiest, 0U);
  // Of rank 0, where the first expert lies: into its NIC or its GPU.
  EXPECT_NE(hot.ports.ports.front().name.find("node0/"), std::string::npos);
  EXPECT_NE(hot.ports.ports.front().name.find('0'), std::string::npos);
}

TEST(ExpertExchange, needs_the_kernels_machine) {
  const Machine cluster = load_machine("dgx-h100-x4");
  const Machine pcie = load_machine("l40s-8");
  const std::vector<DeviceId> gpus = first_gpus(cluster.topology, 16);
  EXPECT_THROW(require_machine_for(KernelFamily::nvlink_one_sided, cluster.topology, gpus),
               InputError);
  EXPECT_NO_THROW(require_machine_for(KernelFamily::deepep, cluster.topology, gpus));
  EXPECT_THROW(
      require_machine_for(KernelFamily::deepep, pcie.topology, first_gpus(pcie.topology, 8)),
      InputError);
}

// Of equal hosts that all do the same, the ports of one say how long all take: as events do.
TEST(PortExchange, of_balanced_traffic_is_that_of_one_host) {
  for (const char* const name : {"dgx-h100-x4", "dgx-h100-x64"}) {
    const Machine machine = load_machine(name);
    const std::vector<DeviceId> gpus = first_gpus(machine.topology, 32);
    ExpertPlaces places = places_on(4, 8, 256, 8);
    const TokenTraffic traffic = token_traffic(places, Skew{});
    for (const KernelFamily family : {KernelFamily::deepep, KernelFamily::deepep_low_latency}) {
      const ExchangeKernel kernel = exchange_kernel(family, ExpertOperation::dispatch);
      const TrafficMatrix bytes = bytes_moved(kernel, places, traffic, {});
      const ReachedShares shares{kernel.nvlink_share, kernel.network_share};
      const PortExchange all = exchange_over_ports(machine.topology, gpus, bytes, shares);
      const PortExchange one = balanced_exchange(machine.topology, gpus, bytes, shares);
      EXPECT_NEAR(one.time.value / all.time.value, 1, 0.01) << name << " " << to_string(family);
      EXPECT_NEAR(one.delivered / all.delivered, 1, 1e-9);
    }
  }
}

TEST(PortExchange, of_one_host_needs_alike_ranks) {
  const Machine machine = load_machine("dgx-h100-x4");
  const std::vector<DeviceId> gpus = first_gpus(machine.topology, 16);
  TrafficMatrix bytes(16);
  bytes.add(0, 9, 1000);
  EXPECT_THROW(balanced_exchange(machine.topology, gpus, bytes), InputError);
}

// 512 hosts: a rank sends a token to four hosts at most, as on eight, so that its NIC carries as
// much.
TEST(ExpertExchange, of_thousands_of_ranks_is_quick) {
  const Machine machine = load_machine("dgx-h100-x512");
  const std::vector<DeviceId> gpus = first_gpus(machine.topology, 4096);
  ExpertPlaces places = places_on(512, 8, 4096, 8);
  places.hosts_per_token = 4;
  const ExchangeKernel kernel = exchange_kernel(KernelFamily::deepep, ExpertOperation::dispatch);
  const ExpertExchange exchange =
      expert_exchange(machine.topology, gpus, kernel, places, token_traffic(places, Skew{}), {});
  // The 8 experts are among 32 on four hosts, 8 on each: one of them is met with chance
  // 1 - C(24, 8) / C(32, 8). Copies of 7,392 bytes for the others leave by a NIC of 50 GB/s, of
  // which kernels between so many hosts reach less than between few.
  const double copies = 4 * (1 - 735471.0 / 10518300) * 511 / 512;
  const double port = copies * 7392 * 4096 / 50e9 / kernel.many_hosts_share;
  EXPECT_NEAR(exchange.ports.time.value / port, 1, 0.05);
}

}  // namespace
}  // namespace collsim
