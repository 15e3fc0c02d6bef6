// Rates while flows come and go, compared after every change with what the brute-force solver finds
// from nothing: what a local solve leaves alone must be right too.

#include "sim/fabric/max_min_sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "tests/sim/fabric/brute_force_max_min.h"
#include "tests/sim/fabric/fabric_test_support.h"

namespace collsim {
namespace {

/// A network in which the test says what starts, ends and changes.
class Network {
 public:
  ResourceId add_link(double capacity) {
    capacities_.push_back(capacity);
    return sharing_.add_resource(capacity);
  }
  void let_burst(ResourceId link, const Burst& burst) {
    buckets_.add(link, burst, capacities_[link]);
    sharing_.let_burst(link, buckets_.peak(link));
  }
  /// A link that stands several times in the route, one after the other, is loaded as often.
  std::uint32_t start(const std::vector<ResourceId>& route, double rate_cap, double weight = 1) {
    std::vector<Load> loads;
    for (const ResourceId link : route) {
      if (loads.empty() || loads.back().resource != link) loads.push_back({link, 0});
      ++loads.back().times;
    }
    const auto id = sharing_.add_flow(loads);
    sharing_.start(id, {BytesPerSecond{rate_cap / weight}, weight});
    running_[id] = {route, rate_cap, weight};
    return id;
  }
  /// The cap of a flow of weight 1 stays as it is.
  void set_weight(std::uint32_t flow, double weight) {
    sharing_.set_weight(flow, weight);
    running_[flow].rate_cap *= weight / running_[flow].weight;
    running_[flow].weight = weight;
  }
  void end(std::uint32_t flow) {
    sharing_.end(flow);
    running_.erase(flow);
  }
  void set_capacity(ResourceId link, double capacity) {
    capacities_[link] = capacity;
    if (!buckets_.has(link)) return sharing_.set_capacity(link, capacity);
    buckets_.set_sustained(link, capacity, now_);
    sharing_.set_capacity(link, buckets_.peak(link));
  }

  void solve() {
    sharing_.solve(buckets_, now_);
    for (const ResourceId link : sharing_.used_buckets()) {
      buckets_.use(link, sharing_.load(link), now_);
    }
  }
  /// Lets the time pass; buckets run empty meanwhile.
  void wait(double time) {
    const double end = now_ + time;
    for (;;) {
      double next = end;
      for (ResourceId link = 0; link < capacities_.size(); ++link) {
        if (buckets_.has(link)) next = std::min(next, buckets_.empty_at(link));
      }
      now_ = next;
      if (next == end) return;
      for (ResourceId link = 0; link < capacities_.size(); ++link) {
        if (!buckets_.has(link) || buckets_.empty_at(link) > now_) continue;
        buckets_.run_empty(link, now_);
        sharing_.note_change(link);
      }
      solve();
      expect_right_rates();
    }
  }

  void expect_right_rates() const {
    TokenBuckets buckets = buckets_;
    std::vector<double> capacities = capacities_;
    for (ResourceId link = 0; link < capacities.size(); ++link) {
      if (buckets.has(link)) capacities[link] = buckets.capacity(link, now_);
    }
    std::vector<Demand> demands;
    for (const auto& [id, demand] : running_) demands.push_back(demand);
    const std::vector<double> expected = max_min_rates(capacities, demands);
    std::size_t i = 0;
    for (const auto& [id, demand] : running_) {
      ASSERT_NEAR(rate(id), expected[i], 1e-9 * expected[i]) << "flow " << id;
      ++i;
    }
  }

  double rate(std::uint32_t flow) const { return running_.at(flow).weight * sharing_.level(flow); }
  std::size_t solved() const { return sharing_.solved().size(); }
  std::size_t flows() const { return running_.size(); }
  std::uint32_t flow(std::size_t place) const {
    return std::next(running_.begin(), static_cast<std::ptrdiff_t>(place))->first;
  }

 private:
  MaxMinSharing sharing_;
  TokenBuckets buckets_;
  double now_ = 0;
  std::vector<double> capacities_;
  std::map<std::uint32_t, Demand> running_;
};

/// What a random history is made of.
struct History {
  unsigned links = 8;
  unsigned longest_route = 4;
  unsigned flows = 12;  ///< about so many at once
  unsigned steps = 300;
  unsigned changes_at_once = 1;
  bool neighbours_only = false;  ///< routes are stretches of a chain of links
  bool capacities_change = false;
  bool bursts = false;
  bool weights = false;
  bool folded = false;  ///< flows load links several times
};

class RandomHistory {
 public:
  RandomHistory(const History& history, unsigned seed) : history_(history), random_(seed) {
    for (ResourceId link = 0; link < history.links; ++link) {
      network_.add_link(1e9 * draw(1, 12));
      if (history.bursts && draw(0, 1) == 0) {
        network_.let_burst(link, {draw(1, 30) * Bytes{1000}, per_second(1e9 * draw(13, 20))});
      }
    }
  }

  void run() {
    for (unsigned step = 0; step < history_.steps; ++step) {
      if (history_.bursts) network_.wait(1e-7 * draw(1, 90));
      const unsigned changes = draw(1, history_.changes_at_once);
      for (unsigned i = 0; i < changes; ++i) change();
      network_.solve();
      ASSERT_NO_FATAL_FAILURE(network_.expect_right_rates()) << "step " << step;
    }
  }

 private:
  unsigned draw(unsigned least, unsigned most) {
    return least + static_cast<unsigned>(random_() % (most - least + 1));
  }
  void change() {
    if (history_.capacities_change && draw(0, 4) == 0) {
      network_.set_capacity(draw(0, history_.links - 1), draw(0, 3) == 0 ? 0 : 1e9 * draw(1, 12));
    } else if (draw(0, 2 * history_.flows) < network_.flows()) {
      network_.end(drawn_flow());
    } else if (history_.weights && network_.flows() > 0 && draw(0, 2) == 0) {
      network_.set_weight(drawn_flow(), weight(drawn_cap()));
    } else {
      const double cap = drawn_cap();
      network_.start(history_.folded ? folded(route()) : route(), cap,
                     history_.weights ? weight(cap) : 1);
    }
  }
  std::uint32_t drawn_flow() {
    return network_.flow(draw(0, static_cast<unsigned>(network_.flows()) - 1));
  }
  /// Some caps are so low that they always hold, some equal the shares of others.
  double drawn_cap() { return draw(0, 1) == 0 ? unlimited.value : 0.25e9 * draw(1, 20); }
  /// By the cap, as thread blocks' flows, or by chance.
  double weight(double cap) {
    return std::isfinite(cap) && draw(0, 1) == 0 ? cap / 1e9 : 0.01 * draw(1, 500);
  }
  std::vector<ResourceId> folded(const std::vector<ResourceId>& route) {
    std::vector<ResourceId> links;
    for (const ResourceId link : route) links.insert(links.end(), draw(1, 4), link);
    return links;
  }
  std::vector<ResourceId> route() {
    const unsigned length = draw(1, std::min(history_.longest_route, history_.links));
    std::vector<ResourceId> all(history_.links);
    for (ResourceId link = 0; link < history_.links; ++link) all[link] = link;
    if (history_.neighbours_only) {
      const auto first = all.begin() + draw(0, history_.links - length);
      return {first, first + length};
    }
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(length);
    return all;
  }

  History history_;
  std::mt19937 random_;
  Network network_;
};

void expect_right_histories(const History& history, unsigned seeds) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    ASSERT_NO_FATAL_FAILURE(RandomHistory(history, seed).run()) << "seed " << seed;
  }
}

TEST(MaxMinSharing, is_right_after_every_change) {
  expect_right_histories({}, 60);
}

TEST(MaxMinSharing, is_right_when_much_changes_at_once) {
  History history;
  history.changes_at_once = 8;
  history.capacities_change = true;
  expect_right_histories(history, 60);
}

TEST(MaxMinSharing, is_right_in_large_networks) {
  History history;
  history.links = 60;
  history.flows = 100;
  history.steps = 400;
  expect_right_histories(history, 3);
}

TEST(MaxMinSharing, is_right_along_chains) {
  History history;
  history.links = 40;
  history.longest_route = 2;
  history.flows = 60;
  history.neighbours_only = true;
  history.capacities_change = true;
  expect_right_histories(history, 8);
  history.weights = true;
  expect_right_histories(history, 8);
}

TEST(MaxMinSharing, is_right_when_capacities_change) {
  History history;
  history.capacities_change = true;
  expect_right_histories(history, 60);
}

TEST(MaxMinSharing, is_right_where_links_burst) {
  History history;
  history.bursts = true;
  expect_right_histories(history, 40);
  history.capacities_change = true;
  history.changes_at_once = 3;
  expect_right_histories(history, 40);
}

TEST(MaxMinSharing, is_right_by_weight) {
  History history;
  history.weights = true;
  expect_right_histories(history, 60);
  history.capacities_change = true;
  history.changes_at_once = 5;
  expect_right_histories(history, 60);
  history.bursts = true;
  expect_right_histories(history, 40);
}

TEST(MaxMinSharing, is_right_where_flows_stand_for_several) {
  History history;
  history.folded = true;
  expect_right_histories(history, 60);
  history.weights = true;
  history.capacities_change = true;
  history.changes_at_once = 5;
  expect_right_histories(history, 60);
  history.bursts = true;
  expect_right_histories(history, 40);
}

TEST(MaxMinSharing, does_not_drift) {
  History history;
  history.weights = true;
  history.links = 12;
  history.steps = 20'000;
  expect_right_histories(history, 1);
}

/// Flow i runs over links i and i + 1, at 5 + 3 i: link i is what it and flow i - 1 fill. On link 0
/// there is one more flow at 5.
class Chain : public Network {
 public:
  explicit Chain(unsigned links) {
    for (unsigned i = 0; i < links; ++i) add_link(i == 0 ? 10 : 7 + 6.0 * i);
    for (ResourceId i = 0; i + 1 < links; ++i) chain.push_back(start({i, i + 1}, unlimited.value));
    start({0}, unlimited.value);
    solve();
  }
  std::vector<double> rates() const {
    std::vector<double> all;
    for (const std::uint32_t flow : chain) all.push_back(rate(flow));
    return all;
  }
  std::vector<std::uint32_t> chain;
};

TEST(MaxMinSharing, a_change_at_one_end_of_a_chain_reaches_the_other) {
  Chain network(200);
  network.expect_right_rates();
  const std::vector<double> before = network.rates();
  network.set_capacity(0, 8);
  network.solve();
  network.expect_right_rates();
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(before[i], 5 + 3.0 * static_cast<double>(i), 1e-9);
    EXPECT_NEAR(network.rates()[i], before[i] + (i % 2 == 0 ? -1 : 1), 1e-9);
  }
  network.set_capacity(0, 10);
  network.solve();
  network.expect_right_rates();
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(network.rates()[i], before[i], 1e-9);
  }
}

TEST(MaxMinSharing, solves_only_what_changes) {
  // Links of 12, four flows on each of two neighbours, but for a last one: 12 / 4 = 3 each. Where
  // one of a link's own flows ends, others take what it leaves only if they are held there.
  Network network;
  constexpr unsigned links = 100;
  for (unsigned i = 0; i < links; ++i) network.add_link(12);
  std::vector<std::uint32_t> slow;
  std::vector<std::uint32_t> held;
  for (ResourceId i = 0; i + 1 < links; ++i) {
    slow.push_back(network.start({i, i + 1}, 2));
    held.push_back(network.start({i}, unlimited.value));
    network.start({i}, unlimited.value);
  }
  network.solve();
  network.expect_right_rates();
  network.end(held[50]);
  network.solve();
  network.expect_right_rates();
  EXPECT_EQ(network.solved(), 1U);
  network.end(slow[20]);
  network.solve();
  network.expect_right_rates();
  EXPECT_EQ(network.solved(), 4U);  // two on each of its links
  network.start({30}, 0.5);
  network.solve();
  network.expect_right_rates();
  EXPECT_EQ(network.solved(), 3U);  // itself, and two that make room
}

TEST(MaxMinSharing, flows_that_cannot_fill_a_link_are_unhindered) {
  Network network;
  const auto link = network.add_link(10);
  network.start({link}, 4);
  network.start({link}, 6);
  network.solve();
  EXPECT_EQ(network.solved(), 0U);
  network.expect_right_rates();
  network.start({link}, 1);
  network.solve();
  EXPECT_GE(network.solved(), 2U);  // the one at 6 makes room
  network.expect_right_rates();
}

}  // namespace
}  // namespace collsim
