// Times of mixture-of-experts kernels beside recorded ones (recordings/inference). The constants
// are fitted to these rows; docs/exchange.md has the errors on groups that a fit did not
// see.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "models/call/rank_gpus.h"
#include "models/imports/machine.h"
#include "tools/collsim/moe/expert_exchange.h"

namespace collsim {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<Row> rows_of(const std::string& name) {
  std::ifstream file(std::string(COLLSIM_SOURCE_DIR "/recordings/inference/") + name);
  std::vector<std::string> titles;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    if (titles.empty()) {
      titles = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < titles.size(); ++i)
      row[titles[i]] = i < cells.size() ? cells[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

std::uint32_t number(const Row& row, const std::string& key) {
  return static_cast<std::uint32_t>(std::stoul(row.at(key)));
}

struct Expected {
  ExpertPlaces places;
  ExpertLayer layer;
  Rank ranks = 0;
};

Expected read_layer(const Row& row, Rank ranks, const Topology& topology) {
  Expected expected;
  expected.ranks = ranks;
  expected.places.experts = number(row, "experts");
  expected.places.top_k = number(row, "topk");
  expected.places.host_of_rank = hosts_of(topology, first_gpus(topology, ranks));
  expected.layer.tokens = number(row, "tokens");
  expected.layer.hidden = number(row, "hidden");
  return expected;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median error of DeepEP's rows of a mode on a GPU, of every seventh so as not to take long.
double deepep_error(const std::string& mode, KernelFamily family, ExpertOperation operation,
                    const std::string& column, const std::string& gpu = "H100") {
  const Machine machine = load_machine(gpu == "H100" ? "dgx-h100-x8" : "dgx-b200");
  std::vector<double> errors;
  std::size_t count = 0;
  for (const Row& row : rows_of("deepep.tsv")) {
    const std::uint32_t tokens = number(row, "tokens");
    if (row.at("machine") != (gpu == "H100" ? "h100_sxm" : "b200_sxm")) continue;
    if (row.at("mode") != mode || tokens < 8 || tokens > 4096 || ++count % 7 != 0) continue;
    Expected expected = read_layer(row, 8 * number(row, "hosts"), machine.topology);
    if (mode == "normal") expected.layer.sms = number(row, "sms");
    if (operation == ExpertOperation::combine) expected.layer.type = TokenType::bf16;
    const ExpertExchange exchange =
        expert_exchange(machine.topology, first_gpus(machine.topology, expected.ranks),
                        exchange_kernel(family, operation, gpu), expected.places,
                        token_traffic(expected.places, Skew{}), expected.layer);
    errors.push_back(std::abs(in_microseconds(exchange.time) / std::stod(row.at(column)) - 1));
  }
  EXPECT_GT(errors.size(), 15U);
  return median(errors);
}

TEST(PublishedExchange, of_deepep_normal) {
  using enum ExpertOperation;
  EXPECT_LT(deepep_error("normal", KernelFamily::deepep, dispatch, "dispatch_us"), 0.10);
  EXPECT_LT(deepep_error("normal", KernelFamily::deepep, combine, "combine_us"), 0.10);
  constexpr KernelFamily family = KernelFamily::deepep;
  EXPECT_LT(deepep_error("normal", family, dispatch, "dispatch_us", "B200"), 0.08);
  EXPECT_LT(deepep_error("normal", family, combine, "combine_us", "B200"), 0.08);
}

TEST(PublishedExchange, of_deepep_low_latency) {
  using enum ExpertOperation;
  constexpr KernelFamily family = KernelFamily::deepep_low_latency;
  EXPECT_LT(deepep_error("low-latency", family, dispatch, "dispatch_us"), 0.12);
  EXPECT_LT(deepep_error("low-latency", family, combine, "combine_us"), 0.12);
  EXPECT_LT(deepep_error("low-latency", family, dispatch, "dispatch_us", "B200"), 0.12);
  EXPECT_LT(deepep_error("low-latency", family, combine, "combine_us", "B200"), 0.12);
}

TEST(PublishedExchange, of_tensorrt_llm) {
  const Machine machine = load_machine("gb200-nvl72");
  const std::map<std::string, KernelFamily> families{
      {"NVLinkOneSided", KernelFamily::nvlink_one_sided},
      {"NVLinkTwoSided", KernelFamily::nvlink_two_sided}};
  const std::map<std::string, TokenType> types{
      {"bfloat16", TokenType::bf16}, {"fp8", TokenType::fp8}, {"nvfp4", TokenType::nvfp4}};
  const std::map<std::string, ExpertOperation> operations{
      {"alltoall_prepare", ExpertOperation::prepare},
      {"alltoall_dispatch", ExpertOperation::dispatch},
      {"alltoall_combine", ExpertOperation::combine},
      {"alltoall_combine_low_precision", ExpertOperation::combine_low_precision}};
  std::map<std::string, std::vector<double>> errors;
  std::size_t count = 0;
  for (const Row& row : rows_of("trtllm-all-to-all.tsv")) {
    if (++count % 7 != 0) continue;
    Expected expected = read_layer(row, number(row, "ranks"), machine.topology);
    const ExpertOperation operation = operations.at(row.at("op"));
    expected.layer.type = types.at(row.at("type"));
    if (operation == ExpertOperation::combine) expected.layer.type = TokenType::bf16;
    const ExpertExchange exchange =
        expert_exchange(machine.topology, first_gpus(machine.topology, expected.ranks),
                        exchange_kernel(families.at(row.at("kernel")), operation), expected.places,
                        token_traffic(expected.places, read_skew("balanced")), expected.layer);
    errors[row.at("kernel") + row.at("op")].push_back(
        std::abs(in_microseconds(exchange.time) / std::stod(row.at("us")) - 1));
  }
  EXPECT_EQ(errors.size(), 6U);
  for (const auto& [name, of_name] : errors) EXPECT_LT(median(of_name), 0.10) << name;
}

}  // namespace
}  // namespace collsim
