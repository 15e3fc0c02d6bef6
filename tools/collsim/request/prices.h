#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The vendor and place that a price comes from.
struct PriceSource {
  std::string vendor;  ///< "aws"; empty: nobody's in particular
  std::string what;    ///< "p5.48xlarge, us-east-1, on demand"
  std::string date;
  std::string source;
};

/// What a GPU costs, with its part of the host: an hour of it, or all of it.
struct GpuPrice {
  std::string gpu;  ///< as GPU models are named, "H100"
  double price = 0;
  PriceSource from;
  bool any_vendor = false;  ///< stated by whoever asks: it holds for all vendors
};

/// Power that a GPU takes from the wall with its part of the host, in watts, at most.
struct GpuPower {
  std::string gpu;
  double watts = 0;
};

/// What a network costs, by its cables: at `rate`, others in proportion.
struct NetworkPrices {
  BytesPerSecond rate;
  std::uint32_t ports = 0;  ///< of a switch
  double end = 0;           ///< a cable from a node to a switch, with optics and the switch's port
  double trunk = 0;         ///< a cable between two switches, with optics and both ports
  PriceSource from;
};

/// How money is counted beyond single prices.
struct PriceRules {
  double network_share = 0;  ///< of a rented cluster's price that is its network
  double life_years = 0;     ///< over which bought machines are written off
  double power_share = 0;    ///< of the greatest power that a job takes on average
  double overhead = 0;       ///< of power, for cooling (PUE)
  double kilowatt_hour = 0;
  std::string source;
};

/// A price file, `collsim: prices/1` (docs/formats.md).
struct PriceSheet {
  std::string file;
  std::string currency;
  std::vector<GpuPrice> rent;
  std::vector<GpuPrice> buy;
  std::vector<GpuPower> power;
  NetworkPrices network;
  PriceRules rules;
};

/// Reads the shipped price file, which has every key. Throws InputError at the place of a mistake.
PriceSheet load_prices();
/// Reads another price file, whose prices come before the shipped ones. It needs no key but those
/// that it changes; what it leaves out is shipped. In another currency nothing is: it needs
/// `network` and `rules`. Throws InputError at the place of a mistake.
PriceSheet load_prices(const std::filesystem::path& path);

/// A price as a person states it, "H100=2.10", in the currency of a sheet. Throws InputError that
/// names the option.
GpuPrice parse_price(std::string_view text);

/// Whether machines are rented by the hour or bought.
enum class CostBasis : std::uint8_t { rent, buy };

/// What is paid for a cluster, per hour.
struct ClusterPrice {
  double per_hour = 0;
  double usual_per_hour = 0;    ///< the same with the usual network, where it is rented; else 0
  double gpus_per_hour = 0;     ///< of that for nodes, power included
  double network_per_hour = 0;  ///< and for the network
  const GpuPrice* gpu = nullptr;
};

/// The first price for that GPU, of the vendor if one is named, or of any; null where there is
/// none.
const GpuPrice* find_price(const std::vector<GpuPrice>& prices, std::string_view gpu,
                           std::string_view vendor);

/// What the cables of a machine's network would cost to buy. Switches have no more than their
/// ports: one of more stands for leaves and spines with as many cables between them as their ends
/// fill. Ends that one switch has ports for need no others, and cables between switches are bought
/// as far as the ends can fill them: what is drawn differently and carries as much costs as much.
double network_value(const NetworkPrices& prices, const Topology& topology);

/// What a cluster costs. A rented GPU's price includes the network that it usually has, `usual`: a
/// different network changes the share of the price that is the network's, in proportion to its
/// value. Bought machines are written off over their life, without interest, and take power.
/// Nothing where no price of the GPU is known.
std::optional<ClusterPrice> cluster_price(const PriceSheet& sheet, CostBasis basis,
                                          std::string_view vendor, const Topology& machine,
                                          const Topology& usual);

}  // namespace collsim
