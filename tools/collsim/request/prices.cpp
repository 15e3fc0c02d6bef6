#include "tools/collsim/request/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/machine/gpu_model.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr double hours_per_year = 8760;
/// Of a network switch: Quantum-2 and Tomahawk 5 at 400 Gb/s have 64.
constexpr std::int64_t usual_ports = 64;
constexpr std::int64_t max_ports = 4096;

std::optional<double> positive_number(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && *number > 0 && *number < 1e12 ? number : std::nullopt;
}

/// A number above 0 that has no unit.
double read_number(const YamlValue& value) {
  const std::string text = value.string();
  if (const auto number = positive_number(text)) return *number;
  value.fail(fmt::format("'{}' is not a number above 0", text), "such as 6.88");
}

PriceSource read_source(const YamlMapping& keys) {
  return {keys.string_or("vendor", ""), keys.string_or("what", ""), keys.string_or("date", ""),
          keys.at("source").string()};
}

std::string read_gpu(const YamlMapping& keys) {
  const YamlValue value = keys.at("gpu");
  const GpuModel* const model = find_gpu_model(value.string());
  if (model == nullptr) {
    value.fail(fmt::format("no GPU '{}' is known", value.string()),
               fmt::format("a name with one of {}", gpu_model_names()));
  }
  return std::string(model->name);
}

std::vector<GpuPrice> read_prices(const YamlMapping& file, std::string_view key) {
  std::vector<GpuPrice> prices;
  const auto list = file.find(key);
  if (!list) return prices;
  for (const YamlValue& each : list->sequence()) {
    const YamlMapping keys = each.mapping({"gpu", "price", "vendor", "what", "date", "source"});
    prices.push_back({read_gpu(keys), read_number(keys.at("price")), read_source(keys), false});
  }
  return prices;
}

std::vector<GpuPower> read_power(const YamlMapping& file) {
  std::vector<GpuPower> powers;
  const auto list = file.find("power");
  if (!list) return powers;
  for (const YamlValue& each : list->sequence()) {
    const YamlMapping keys = each.mapping({"gpu", "watts", "source"});
    keys.at("source");
    powers.push_back({read_gpu(keys), read_number(keys.at("watts"))});
  }
  return powers;
}

NetworkPrices read_network(const YamlValue& value) {
  const YamlMapping keys =
      value.mapping({"rate", "ports", "end", "trunk", "what", "date", "source"});
  return {keys.at("rate").rate(),
          static_cast<std::uint32_t>(keys.integer_or("ports", 4, max_ports, usual_ports)),
          read_number(keys.at("end")), read_number(keys.at("trunk")), read_source(keys)};
}

PriceRules read_rules(const YamlValue& value) {
  const YamlMapping keys = value.mapping(
      {"network_share", "life_years", "power_share", "overhead", "kilowatt_hour", "source"});
  return {keys.at("network_share").share(),      read_number(keys.at("life_years")),
          keys.at("power_share").share(),        read_number(keys.at("overhead")),
          read_number(keys.at("kilowatt_hour")), keys.at("source").string()};
}

YamlMapping read_file(const std::filesystem::path& path) {
  return load_yaml(path, "prices")
      .mapping({"currency", "rent", "buy", "power", "network", "rules"});
}

/// Those of a file before the shipped ones.
template <typename Entry>
void put_first(std::vector<Entry> entries, std::vector<Entry>& others) {
  entries.insert(entries.end(), others.begin(), others.end());
  others = std::move(entries);
}

/// As price files name it; empty for what is no GPU that we know.
std::string_view gpu_of(const Topology& topology, DeviceId gpu) {
  const GpuModel* const model = find_gpu_model(topology.device(gpu).model);
  return model == nullptr ? std::string_view() : model->name;
}

/// How many GPUs of each kind there are.
std::map<std::string_view, double> gpus_by_kind(const Topology& topology) {
  std::map<std::string_view, double> counts;
  for (const DeviceId gpu : topology.gpus()) ++counts[gpu_of(topology, gpu)];
  return counts;
}

/// Of a bought GPU, per hour.
double power_per_hour(const PriceSheet& sheet, std::string_view gpu) {
  const auto found = std::find_if(sheet.power.begin(), sheet.power.end(),
                                  [&](const GpuPower& each) { return each.gpu == gpu; });
  if (found == sheet.power.end()) return 0;
  const PriceRules& rules = sheet.rules;
  return found->watts / 1000 * rules.power_share * rules.overhead * rules.kilowatt_hour;
}

}  // namespace

PriceSheet load_prices() {
  const std::filesystem::path path = shipped_file("prices", "models/data");
  const YamlMapping file = read_file(path);
  return {path.filename().string(),
          file.at("currency").string(),
          read_prices(file, "rent"),
          read_prices(file, "buy"),
          read_power(file),
          read_network(file.at("network")),
          read_rules(file.at("rules"))};
}

PriceSheet load_prices(const std::filesystem::path& path) {
  const YamlMapping file = read_file(path);
  PriceSheet sheet = load_prices();
  const auto currency = file.find("currency");
  if (currency && currency->string() != sheet.currency) {
    for (const std::string_view key : {"network", "rules"}) {
      if (file.find(key)) continue;
      currency->fail(fmt::format("'{}', and '{}' is left out, whose shipped prices are in {}",
                                 currency->string(), key, sheet.currency),
                     fmt::format("prices in {}, or a file with network and rules", sheet.currency));
    }
    sheet = {};
    sheet.currency = currency->string();
  }
  sheet.file = path.filename().string();
  put_first(read_prices(file, "rent"), sheet.rent);
  put_first(read_prices(file, "buy"), sheet.buy);
  put_first(read_power(file), sheet.power);
  if (const auto network = file.find("network")) sheet.network = read_network(*network);
  if (const auto rules = file.find("rules")) sheet.rules = read_rules(*rules);
  return sheet;
}

GpuPrice parse_price(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const GpuModel* const model = equals == std::string_view::npos ? nullptr : find_gpu_model(name);
  if (model == nullptr) {
    throw InputError(
        fmt::format("--price: '{}' names no GPU that is known", text),
        fmt::format("GPU=PRICE, such as H100=2.10, with one of {}", gpu_model_names()));
  }
  const auto price = positive_number(text.substr(equals + 1));
  if (!price) {
    throw InputError(fmt::format("--price: '{}' is not a number above 0", text.substr(equals + 1)),
                     fmt::format("such as {}=2.10", name));
  }
  return {std::string(model->name), *price, {{}, {}, {}, "--price"}, true};
}

const GpuPrice* find_price(const std::vector<GpuPrice>& prices, std::string_view gpu,
                           std::string_view vendor) {
  const auto found = std::find_if(prices.begin(), prices.end(), [&](const GpuPrice& each) {
    return each.gpu == gpu && (vendor.empty() || each.any_vendor || each.from.vendor == vendor);
  });
  return found == prices.end() ? nullptr : &*found;
}

namespace {

/// The cables of a network: how many there are, and their bandwidth together.
struct Cables {
  std::size_t count = 0;
  double rate = 0;
  void add(const Link& link) {
    ++count;
    rate += link.bandwidth.value;
  }
};

/// How many layers of cables between switches join so many ends, where all of them can be busy.
std::uint32_t layers_between(std::size_t ends, std::uint32_t ports) {
  std::uint32_t layers = 0;
  for (std::size_t most = ports; ends > most; most *= ports / 2) ++layers;
  return layers;
}

}  // namespace

double network_value(const NetworkPrices& prices, const Topology& topology) {
  const DeviceId first = topology.first_fabric_device();
  std::map<DeviceId, Cables> of_switch;  // to nodes
  Cables ends;
  const auto links = static_cast<LinkId>(topology.links().size());
  for (LinkId id = topology.first_fabric_link(); id < links; id += 2) {
    const Link link = topology.link(id);
    if (std::min(link.from, link.to) >= first) continue;
    ends.add(link);
    of_switch[std::max(link.from, link.to)].add(link);
  }
  Cables of_leaves;
  Cables above;
  for (LinkId id = topology.first_fabric_link(); id < links; id += 2) {
    const Link link = topology.link(id);
    if (std::min(link.from, link.to) < first) continue;
    (of_switch.contains(link.from) || of_switch.contains(link.to) ? of_leaves : above).add(link);
  }
  double trunks = 0;
  for (const auto& [device, cables] : of_switch) {
    trunks += layers_between(cables.count, prices.ports) * cables.rate;
  }
  if (ends.count > prices.ports) {
    trunks += std::min(of_leaves.rate, ends.rate) + std::min(above.rate, ends.rate);
  }
  return (prices.end * ends.rate + prices.trunk * trunks) / prices.rate.value;
}

std::optional<ClusterPrice> cluster_price(const PriceSheet& sheet, CostBasis basis,
                                          std::string_view vendor, const Topology& machine,
                                          const Topology& usual) {
  const bool rented = basis == CostBasis::rent;
  const std::vector<GpuPrice>& prices = rented ? sheet.rent : sheet.buy;
  const double hours = sheet.rules.life_years * hours_per_year;
  double of_gpus = 0;  // an hour
  for (const auto& [gpu, count] : gpus_by_kind(machine)) {
    const GpuPrice* const price = find_price(prices, gpu, vendor);
    if (price == nullptr) return std::nullopt;
    of_gpus += count * (rented ? price->price : price->price / hours + power_per_hour(sheet, gpu));
  }
  const double value = network_value(sheet.network, machine);
  ClusterPrice cluster;
  cluster.gpu = find_price(prices, gpu_of(machine, machine.gpus().front()), vendor);
  cluster.usual_per_hour = rented ? of_gpus : 0;
  if (rented) {
    const double usual_value = network_value(sheet.network, usual);
    const double share = usual_value > 0 ? sheet.rules.network_share : 0;
    cluster.gpus_per_hour = of_gpus * (1 - share);
    if (share > 0) cluster.network_per_hour = of_gpus * share * value / usual_value;
  } else {
    cluster.gpus_per_hour = of_gpus;
    cluster.network_per_hour = value / hours;
  }
  cluster.per_hour = cluster.gpus_per_hour + cluster.network_per_hour;
  return cluster;
}

}  // namespace collsim
