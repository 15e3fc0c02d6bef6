// What clusters cost.

#include "tools/collsim/request/prices.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tools/collsim/request/change.h"

namespace collsim {
namespace {

constexpr double hours = 5 * 8760;

PriceSheet simple_sheet() {
  PriceSheet sheet;
  sheet.rent = {{"H100", 10, {"one", "", "", ""}, false},
                {"H100", 4, {"other", "", "", ""}, false}};
  sheet.buy = {{"H100", 43800, {}, false}};  // 1 an hour over five years
  sheet.power = {{"H100", 1000}};
  sheet.network = {gigabytes_per_second(50), 64, 1000, 2000, {}};
  sheet.rules = {0.2, 5, 0.5, 1.2, 0.1, {}};
  return sheet;
}

TEST(Prices, of_a_network_follow_its_cables) {
  // 64 nodes of 8: 512 ends, and as much bandwidth between switches; half of it at 2:1.
  const NetworkPrices prices = simple_sheet().network;
  const MachineParts parts = load_parts("dgx-h100");
  EXPECT_NEAR(network_value(prices, compose(parts, 64)), 512 * (1000 + 2000), 1e-3);
  EXPECT_NEAR(network_value(prices, compose(changed(parts, "oversubscription=2"), 64)),
              512 * (1000 + 1000), 1e-3);
  EXPECT_NEAR(network_value(prices, compose(changed(parts, "nic=200Gb/s"), 64)), 512 * 1500, 1e-3);
  EXPECT_EQ(network_value(prices, compose(parts, 1)), 0);
}

/// Networks that are drawn as one switch, as a fat tree or with rails, and carry as much.
TEST(Prices, of_networks_that_carry_as_much_are_alike) {
  const NetworkPrices prices = simple_sheet().network;
  const MachineParts parts = load_parts("dgx-h100");
  for (const std::uint32_t nodes : {2U, 4U, 5U, 8U, 9U, 16U, 33U, 64U, 128U}) {
    const double usual = network_value(prices, compose(parts, nodes));
    const double layers = 8 * nodes > 64 ? 1 : 0;
    EXPECT_NEAR(usual, 8 * nodes * (1000 + layers * 2000), 1e-3) << nodes;
    for (const char* const fabric : {"ndr-fat-tree", "efa-400g", "roce-400g"}) {
      const MachineParts other = changed(parts, std::string("fabric=") + fabric);
      EXPECT_NEAR(network_value(prices, compose(other, nodes)), usual, 1e-3)
          << fabric << ", " << nodes << " nodes";
    }
  }
}

TEST(Prices, rented_change_by_the_networks_share) {
  const PriceSheet sheet = simple_sheet();
  const MachineParts parts = load_parts("dgx-h100");
  const Topology usual = compose(parts, 64);
  const Topology slow = compose(changed(parts, "nic=200Gb/s"), 64);
  const auto as_usual = cluster_price(sheet, CostBasis::rent, "", usual, usual);
  EXPECT_NEAR(as_usual->per_hour, 5120, 1e-6);
  // Half of a network that is a fifth of the price.
  EXPECT_NEAR(cluster_price(sheet, CostBasis::rent, "", slow, usual)->per_hour, 0.9 * 5120, 1e-6);
  EXPECT_NEAR(cluster_price(sheet, CostBasis::rent, "other", usual, usual)->per_hour, 2048, 1e-6);
  EXPECT_FALSE(cluster_price(sheet, CostBasis::rent, "third", usual, usual).has_value());
}

TEST(Prices, bought_are_written_off_and_take_power) {
  const PriceSheet sheet = simple_sheet();
  const Topology one = compose(load_parts("dgx-h100"), 1);
  // 8 GPUs: 1 an hour each, and 1 kW * 0.5 * 1.2 * 0.1.
  EXPECT_NEAR(cluster_price(sheet, CostBasis::buy, "", one, one)->per_hour, 8 * 1.06, 1e-9);
  const Topology many = compose(load_parts("dgx-h100"), 64);
  EXPECT_NEAR(cluster_price(sheet, CostBasis::buy, "", many, many)->network_per_hour,
              512 * 3000 / hours, 1e-6);
}

TEST(Prices, shipped_can_be_read) {
  const PriceSheet sheet = load_prices();
  EXPECT_EQ(sheet.currency, "USD");
  EXPECT_DOUBLE_EQ(find_price(sheet.rent, "H100", "")->price, 6.88);
  EXPECT_EQ(find_price(sheet.rent, "H100", "oci")->price, 10);
}

TEST(Prices, of_a_file_come_before_the_shipped_ones) {
  // One price; the other GPUs, the network and the rules are shipped.
  const test::TemporaryFile file(
      "prices.yaml", "collsim: prices/1\nrent: [{ gpu: H100, price: 2.10, source: me }]\n");
  const PriceSheet sheet = load_prices(file.path());
  const PriceSheet shipped = load_prices();
  EXPECT_EQ(find_price(sheet.rent, "H100", "")->price, 2.10);
  EXPECT_EQ(find_price(sheet.rent, "H100", "oci")->price, 10);
  EXPECT_EQ(find_price(sheet.rent, "B200", "")->price, find_price(shipped.rent, "B200", "")->price);
  EXPECT_EQ(sheet.currency, shipped.currency);
  EXPECT_EQ(sheet.network.end, shipped.network.end);
  EXPECT_EQ(sheet.file, "prices.yaml");
  // In another currency the shipped ones would be wrong.
  const test::TemporaryFile euros(
      "euros.yaml",
      "collsim: prices/1\ncurrency: EUR\nrent: [{ gpu: H100, price: 2.10, source: me }]\n");
  EXPECT_THROW(load_prices(euros.path()), InputError);
}

TEST(Prices, can_be_stated_in_a_word) {
  const GpuPrice price = parse_price("H100=2.10");
  EXPECT_EQ(price.gpu, "H100");
  EXPECT_EQ(price.price, 2.10);
  // It holds for every vendor.
  EXPECT_EQ(find_price({price}, "H100", "oci")->price, 2.10);
  EXPECT_EQ(find_price({price}, "B200", ""), nullptr);
  for (const char* wrong : {"H100", "2.10", "X1=2", "H100=", "H100=-1", "H100=2 USD", "=2"}) {
    EXPECT_THROW(parse_price(wrong), InputError) << wrong;
  }
}

TEST(Prices, wrong_are_refused_at_their_place) {
  const std::string rest =
      "network: { rate: 400 Gb/s, end: 1, trunk: 1, source: me }\n"
      "rules: { network_share: 19%, life_years: 5, power_share: 75%, overhead: 1, "
      "kilowatt_hour: 0.1, source: me }\n";
  const std::string head = "collsim: prices/1\ncurrency: EUR\n";
  const auto complaint = [](const std::string& text) {
    const test::TemporaryFile file("prices.yaml", text);
    try {
      load_prices(file.path());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint(head + "rent: [{ gpu: H100, price: 2, source: me }]\n" + rest), "");
  EXPECT_NE(complaint(head + "rent: [{ gpu: H100, price: -2, source: me }]\n" + rest)
                .find(":3:28: '-2' is not a number above 0"),
            std::string::npos);
  EXPECT_NE(complaint(head + "rent: [{ gpu: X1, price: 2, source: me }]\n" + rest)
                .find(":3:15: no GPU 'X1' is known"),
            std::string::npos);
  EXPECT_NE(complaint(head + "rent: [{ gpu: H100, price: 2 }]\n" + rest).find("'source'"),
            std::string::npos);
}

}  // namespace
}  // namespace collsim
