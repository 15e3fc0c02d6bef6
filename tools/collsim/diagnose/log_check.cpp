#include "tools/collsim/diagnose/log_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/collsim/diagnose/evidence.h"

namespace collsim {

namespace {

class Checker {
 public:
  explicit Checker(const LogFacts& facts) : facts_(facts) {}

  LogCheck take() && {
    look_at_rings();
    look_at_channels();
    look_inside_hosts();
    look_at_nics();
    look_between_hosts();
    for (const auto& [name, value] : facts_.variables) {
      if (takes_transport_away(name)) {
        odd(fmt::format("{}={} is set, which takes a transport away or names NICs", name, value));
      } else {
        seen(fmt::format("{}={} is set", name, value));
      }
    }
    for (const std::string& warning : facts_.warnings) odd("NCCL warns: " + warning);
    return std::move(check_);
  }

 private:
  void odd(std::string sentence) { check_.odd.push_back(std::move(sentence)); }
  void seen(std::string sentence) { check_.seen.push_back(std::move(sentence)); }

  void look_at_rings() {
    if (facts_.rings.empty()) return;
    std::size_t ranks = facts_.ranks;
    for (const auto& [channel, ring] : facts_.rings) ranks = std::max(ranks, ring.size());
    for (const auto& [channel, ring] : facts_.rings) {
      std::vector<std::uint32_t> sorted = ring;
      std::sort(sorted.begin(), sorted.end());
      const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
      if (repeats || ring.size() != ranks) {
        odd(fmt::format("the ring of channel {} does not hold each of {} ranks once: {}", channel,
                        ranks, fmt::join(ring, " ")));
      }
    }
    seen(fmt::format("{} rings of {} ranks", facts_.rings.size(), ranks));
  }

  void look_at_channels() {
    if (facts_.channels == 0) return;
    seen(fmt::format("{} channels for collectives, {} of NVLS", facts_.channels,
                     facts_.nvls_channels));
    if (facts_.fewest_channels < facts_.channels) {
      odd(fmt::format("ranks have {} to {} channels: their hosts or settings differ",
                      facts_.fewest_channels, facts_.channels));
    }
    constexpr std::uint32_t few = 2;
    if (facts_.channels <= few && facts_.local_ranks > 1) {
      odd(
          fmt::format("NCCL found {} channels only: GPUs of a host have no NVLink or peer-to-peer "
                      "for it, or hosts one slow NIC",
                      facts_.channels));
    }
  }

  void look_inside_hosts() {
    if (const LogLines* shm = lines_of(facts_, LogTransport::host_memory)) {
      odd(
          fmt::format("{} connections go through host memory, where GPUs with NVLink or "
                      "peer-to-peer would not: \"{}\"; see NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, ACS, "
                      "IOMMU and the container",
                      shm->count, shm->first));
    }
    const std::size_t direct = line_count(facts_, LogTransport::peer_to_peer);
    if (direct > 0) seen(fmt::format("{} connections by peer-to-peer", direct));
    if (facts_.p2p_blocked.count > 0) odd("NCCL says: " + facts_.p2p_blocked.first);
  }

  void look_at_nics() {
    if (facts_.nics.empty()) return;
    seen(fmt::format("{} NIC{} of {}: {}", facts_.nics.size(), facts_.nics.size() == 1 ? "" : "s",
                     facts_.network.empty() ? "the network" : facts_.network,
                     fmt::join(facts_.nics, ", ")));
    constexpr std::uint32_t many = 4;
    if (facts_.nodes > 1 && facts_.local_ranks >= many && facts_.nics.size() == 1) {
      odd(
          fmt::format("one NIC for {} GPUs of a host: are there others (NCCL_IB_HCA, "
                      "NCCL_SOCKET_IFNAME, devices of the container)?",
                      facts_.local_ranks));
    }
  }

  void look_between_hosts() {
    const std::size_t direct = line_count(facts_, LogTransport::rdma_gpudirect);
    if (direct > 0) seen(fmt::format("{} connections by RDMA with GPUDirect", direct));
    if (const LogLines* tcp = lines_of(facts_, LogTransport::sockets)) {
      odd(fmt::format("{} connections go over TCP{}: \"{}\"{}", tcp->count,
                      facts_.interface.empty() ? "" : " by " + facts_.interface, tcp->first,
                      facts_.no_ib_device ? "; NCCL found no device with RDMA" : ""));
    } else if (facts_.no_ib_device && facts_.nodes != 1) {
      odd("NCCL found no device with RDMA (\"NET/IB : No device found\")");
    }
    if (const LogLines* staged = lines_of(facts_, LogTransport::rdma)) {
      odd(fmt::format("{} connections have no GPUDirect: \"{}\"{}", staged->count, staged->first,
                      facts_.no_gpudirect ? "; nvidia-peermem or dma-buf is missing" : ""));
    } else if (facts_.no_gpudirect) {
      odd("NCCL has GPUDirect RDMA disabled: nvidia-peermem or dma-buf is missing");
    }
    const std::vector<std::string> hosts = hosts_without_any_gpudirect(facts_);
    if (!hosts.empty()) {
      odd(fmt::format("{} {} no GPUDirect, which other hosts have", fmt::join(hosts, ", "),
                      hosts.size() == 1 ? "has" : "have"));
    }
    if (is_on_few_cores(facts_)) {
      odd(fmt::format("a process is bound to {} core{}: the threads that send share them",
                      facts_.cores, facts_.cores == 1 ? "" : "s"));
    }
    if (facts_.too_far.count > 0) {
      odd(fmt::format("GPUs are too far from NICs for GPUDirect: \"{}\"", facts_.too_far.first));
    }
  }

  const LogFacts& facts_;
  LogCheck check_;
};

}  // namespace

LogCheck check_log(const LogFacts& facts) {
  return Checker(facts).take();
}

}  // namespace collsim
