#include "tools/collsim/moe/expert_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/routing/routing.h"

namespace collsim {

namespace {

constexpr auto token_types = std::to_array<std::pair<TokenType, std::string_view>>(
    {{TokenType::nvfp4, "nvfp4"}, {TokenType::fp8, "fp8"}, {TokenType::bf16, "bf16"}});

/// SMs of an H100, over which DeepEP's low-latency kernels spread experts.
constexpr std::uint32_t sms_of_gpu = 132;

/// What the thread blocks of a rank handle.
struct RankWork {
  double tokens = 0;
  double messages = 0;
  double over_network = 0;
};

bool is_of_one_domain(KernelFamily family) {
  return family == KernelFamily::nvlink_one_sided || family == KernelFamily::nvlink_two_sided;
}

/// Which ranks are on which host, and where in it.
class HostRanks {
 public:
  explicit HostRanks(const ExpertPlaces& places) : ranks_(places.hosts()) {
    for (Rank rank = 0; rank < places.ranks(); ++rank) {
      std::vector<Rank>& there = ranks_[places.host_of_rank[rank]];
      place_.push_back(there.size());
      there.push_back(rank);
    }
  }

  /// The rank of the same place in a host, or the last where it has fewer.
  Rank peer(Rank rank, std::uint32_t host) const {
    return ranks_[host][std::min(place_[rank], ranks_[host].size() - 1)];
  }
  std::uint32_t hosts() const { return static_cast<std::uint32_t>(ranks_.size()); }

 private:
  std::vector<std::vector<Rank>> ranks_;  // [host]
  std::vector<std::size_t> place_;        // [rank]
};

/// The pairs of ranks whose bytes of a dispatch are `amount`.
void add_flow(const ExchangeKernel& kernel, Rank from, Rank to, double amount,
              TrafficMatrix& bytes) {
  const bool returns = kernel.operation == ExpertOperation::combine ||
                       kernel.operation == ExpertOperation::combine_low_precision;
  if (returns) std::swap(from, to);
  bytes.add(from, to, amount);
}

void add_forwarded(const ExchangeKernel& kernel, const ExpertPlaces& places, const HostRanks& hosts,
                   const TokenTraffic& traffic, Rank from, double bytes_of_token,
                   TrafficMatrix& bytes) {
  std::vector<Rank> entry(hosts.hosts());
  for (std::uint32_t host = 0; host < hosts.hosts(); ++host) {
    entry[host] = hosts.peer(from, host);
    if (host == places.host_of_rank[from]) continue;
    add_flow(kernel, from, entry[host], bytes_of_token * traffic.hosts.amount(from, host), bytes);
  }
  for (Rank to = 0; to < places.ranks(); ++to) {
    add_flow(kernel, entry[places.host_of_rank[to]], to,
             bytes_of_token * traffic.ranks.amount(from, to), bytes);
  }
}

/// What a rank sends and gets in messages that cost the same.
void add_work(double amount, bool over_network, RankWork& sender, RankWork& receiver) {
  double RankWork::*const part = over_network ? &RankWork::over_network : &RankWork::messages;
  sender.*part += amount;
  receiver.*part += amount;
}

/// What each rank handles, as a sender or as a receiver, whichever is more. DeepEP's normal kernels
/// between hosts are others than those inside one: a copy for a host costs as much there as one for
/// a rank.
std::vector<RankWork> work_of_ranks(const ExchangeKernel& kernel, const ExpertPlaces& places,
                                    const TokenTraffic& traffic, const ExpertLayer& layer) {
  const bool forwards = kernel.family == KernelFamily::deepep && places.hosts() > 1;
  const bool by_expert = kernel.family == KernelFamily::deepep_low_latency;
  const TrafficMatrix& messages = by_expert ? traffic.experts : traffic.ranks;
  std::vector<RankWork> sent(places.ranks());
  std::vector<RankWork> received(places.ranks());
  const HostRanks hosts(places);
  for (Rank from = 0; from < places.ranks(); ++from) {
    const std::uint32_t home = places.host_of_rank[from];
    const double tokens = layer.tokens * traffic.tokens[from];
    sent[from].tokens = tokens;
    for (Rank to = 0; to < places.ranks(); ++to) {
      const bool over_network = forwards || (by_expert && places.host_of_rank[to] != home);
      add_work(tokens * messages.amount(from, to), over_network, sent[from], received[to]);
    }
    for (std::uint32_t host = 0; forwards && host < hosts.hosts(); ++host) {
      const Rank peer = hosts.peer(from, host);
      add_work(tokens * traffic.hosts.amount(from, host), true, sent[from], received[peer]);
    }
  }
  for (Rank rank = 0; rank < places.ranks(); ++rank) {
    sent[rank].messages = std::max(sent[rank].messages, received[rank].messages);
    sent[rank].over_network = std::max(sent[rank].over_network, received[rank].over_network);
  }
  return sent;
}

Seconds block_time(const ExchangeKernel& kernel, const RankWork& work, double bytes) {
  return work.tokens * (kernel.token + bytes * kernel.token_byte) +
         work.messages * (kernel.message + bytes * kernel.message_byte) +
         work.over_network * (kernel.network_message + bytes * kernel.network_byte);
}

double blocks_of(const ExchangeKernel& kernel, const ExpertPlaces& places,
                 const ExpertLayer& layer) {
  if (kernel.blocks == BlockRule::given) return layer.sms;
  if (kernel.blocks == BlockRule::gpu) return 1;
  const std::uint32_t experts_of_block = (places.experts + sms_of_gpu - 1) / sms_of_gpu;
  const double blocks = std::ceil(static_cast<double>(places.experts) / experts_of_block);
  if (kernel.operation != ExpertOperation::combine) return blocks;
  // Blocks of a combine add up tokens, too: there are as many as share them equally.
  const double tokens = std::max(1.0, layer.tokens);
  return std::max(blocks, std::ceil(tokens / std::ceil(tokens / sms_of_gpu)));
}

double bytes_of_token(const ExchangeKernel& kernel, const ExpertLayer& layer) {
  if (kernel.operation == ExpertOperation::prepare) return 0;  // counts only
  return token_bytes(layer.type, layer.hidden);
}

Seconds launch_of(const ExchangeKernel& kernel, const ExpertPlaces& places, double bytes) {
  const double ranks_of_host = static_cast<double>(places.ranks()) / places.hosts();
  return kernel.launch + std::log2(ranks_of_host) * kernel.doubling_ranks +
         std::log2(places.hosts()) * kernel.doubling_hosts + places.experts * kernel.expert +
         bytes * kernel.first_byte;
}

}  // namespace

TokenType read_token_type(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [type, word] : token_types) {
    if (word == name) return type;
    names.emplace_back(word);
  }
  throw InputError(fmt::format("--type: there is no '{}'", name), names_instead_of(name, names));
}

double token_bytes(TokenType type, std::uint32_t hidden) {
  constexpr double fp8_scale = 4.0 / 128;
  constexpr double nvfp4_scale = 1.0 / 16;
  if (type == TokenType::nvfp4) return hidden * (0.5 + nvfp4_scale);
  if (type == TokenType::fp8) return hidden * (1 + fp8_scale);
  return 2.0 * hidden;
}

std::vector<std::uint32_t> hosts_of(const Topology& topology, std::span<const DeviceId> gpus) {
  std::map<std::int32_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> hosts;
  for (const DeviceId gpu : gpus) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    hosts.push_back(numbers.emplace(topology.node_of(gpu), next).first->second);
  }
  return hosts;
}

void require_machine_for(KernelFamily family, const Topology& topology,
                         std::span<const DeviceId> gpus) {
  const std::vector<std::uint32_t> hosts = hosts_of(topology, gpus);
  if (is_of_one_domain(family) && hosts.back() > 0) {
    throw InputError(
        fmt::format("{} on {} hosts of {}", to_string(family), hosts.back() + 1, topology.name()),
        "ranks of one NVLink domain (-n), or deepep");
  }
  if (gpus.size() < 2 || hosts[0] != hosts[1]) return;
  Router router(topology);
  for (const LinkId link : router.route(gpus[0], gpus[1]).links) {
    if (topology.link(link).kind == LinkKind::nvlink) continue;
    throw InputError(fmt::format("{} on {}, where GPUs of a host have no NVLink", to_string(family),
                                 topology.name()),
                     "a machine with NVLink");
  }
}

TrafficMatrix bytes_moved(const ExchangeKernel& kernel, const ExpertPlaces& places,
                          const TokenTraffic& traffic, const ExpertLayer& layer) {
  TrafficMatrix bytes(places.ranks());
  const HostRanks hosts(places);
  const bool by_expert = kernel.family == KernelFamily::deepep_low_latency;
  for (Rank from = 0; from < places.ranks(); ++from) {
    const double each = bytes_of_token(kernel, layer) * layer.tokens * traffic.tokens[from];
    if (kernel.family == KernelFamily::deepep) {
      add_forwarded(kernel, places, hosts, traffic, from, each, bytes);
      continue;
    }
    for (Rank to = 0; to < places.ranks(); ++to) {
      const TrafficMatrix& messages = by_expert ? traffic.experts : traffic.ranks;
      add_flow(kernel, from, to, each * messages.amount(from, to), bytes);
    }
  }
  return bytes;
}

ExpertExchange expert_exchange(const Topology& topology, std::span<const DeviceId> gpus,
                               const ExchangeKernel& kernel, const ExpertPlaces& places,
                               const TokenTraffic& traffic, const ExpertLayer& layer) {
  const double bytes = bytes_of_token(kernel, layer);
  const double blocks = blocks_of(kernel, places, layer);
  ExpertExchange exchange;
  exchange.launch = launch_of(kernel, places, bytes);
  const std::vector<RankWork> works = work_of_ranks(kernel, places, traffic, layer);
  for (Rank rank = 0; rank < places.ranks(); ++rank) {
    const Seconds work = 1 / blocks * block_time(kernel, works[rank], bytes);
    if (work <= exchange.work) continue;
    const double tokens_of_block = std::max(works[rank].tokens, 1.0) / blocks;
    exchange.busiest = rank;
    exchange.work = work;
    exchange.fill = std::min(1.0, kernel.fill / tokens_of_block) * work;
  }
  const TrafficMatrix moved = bytes_moved(kernel, places, traffic, layer);
  exchange.sent = moved.busiest_sender();
  const bool many = kernel.many_hosts > 0 && places.hosts() >= kernel.many_hosts;
  const double network = many ? kernel.many_hosts_share : kernel.network_share;
  exchange.ports = exchange_over_ports(topology, gpus, moved, {kernel.nvlink_share, network});
  exchange.time = exchange.launch + std::max(exchange.work, exchange.ports.time) + exchange.fill;
  return exchange;
}

}  // namespace collsim
