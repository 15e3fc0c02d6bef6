#include "tools/collsim/diagnose/contradictions.h"

#include <fmt/format.h>

#include <utility>

#include "tools/collsim/diagnose/hypothesis.h"

namespace collsim {

namespace {

class Contradictions {
 public:
  Contradictions(const LogFacts& facts, const CallCompiler& compiler, const RecordedCall& call)
      : facts_(facts), nccl_(*compiler.nccl()), call_(call) {}

  std::vector<std::string> take() && {
    look_at_size();
    look_inside_hosts();
    look_between_hosts();
    look_at_channels();
    for (const std::string& warning : facts_.warnings) add(fmt::format("NCCL warns: {}", warning));
    return std::move(all_);
  }

 private:
  void add(std::string sentence) { all_.push_back(std::move(sentence)); }

  void look_at_size() {
    if (facts_.ranks > 0 && facts_.ranks != call_.ranks) {
      add(fmt::format("NCCL's log is of {} ranks, the table of {}", facts_.ranks, call_.ranks));
    }
    if (facts_.nodes > 0 && facts_.nodes != call_.nodes) {
      add(fmt::format("NCCL saw {} hosts, the table names {}", facts_.nodes, call_.nodes));
    }
  }

  void look_inside_hosts() {
    const LogLines* shm = lines_of(facts_, LogTransport::host_memory);
    if (shm == nullptr || call_.ranks == call_.nodes || nccl_.through_host_memory(0, 1)) return;
    add(fmt::format("{} connections go through host memory where GPUs have peer-to-peer: \"{}\"",
                    shm->count, shm->first));
  }

  void look_between_hosts() {
    const std::size_t nics = rdma_nics(nccl_);
    if (call_.nodes == 1 || nics == 0) return;
    const LogLines* tcp = lines_of(facts_, LogTransport::sockets);
    if (tcp != nullptr) {
      add(fmt::format("{} connections go over TCP on a machine with RDMA: \"{}\"", tcp->count,
                      tcp->first));
    } else if (facts_.network == "Socket") {
      add("NCCL uses the network Socket on a machine with RDMA");
    }
    const LogLines* staged = lines_of(facts_, LogTransport::rdma);
    const std::vector<std::string> hosts = hosts_without_any_gpudirect(facts_);
    if (!hosts.empty()) {
      add(fmt::format("{} {} no GDRDMA, which other hosts have: nvidia-peermem or dma-buf there?",
                      fmt::join(hosts, ", "), hosts.size() == 1 ? "has" : "have"));
    } else if (staged != nullptr) {
      add(fmt::format("{} connections have no GDRDMA where NICs can have it: \"{}\"", staged->count,
                      staged->first));
    } else if (facts_.no_gpudirect) {
      add("NCCL has GPUDirect RDMA disabled");
    }
    if (!facts_.nics.empty() && facts_.nics.size() < nics) {
      add(fmt::format("NCCL uses {} NICs of {}: {}", facts_.nics.size(), nics,
                      fmt::join(facts_.nics, ", ")));
    }
  }

  void look_at_channels() {
    const std::uint32_t fit = nccl_.channel_count();
    if (facts_.channels > 0 && facts_.channels < fit) {
      add(fmt::format("NCCL has {} channels where {} fit", facts_.channels, fit));
    }
    if (facts_.no_nvls && nccl_.nvls_channels() > 0) {
      add("NCCL says that NVLS is not available, which the machine's switches have");
    }
  }

  const LogFacts& facts_;
  const Nccl& nccl_;
  const RecordedCall& call_;
  std::vector<std::string> all_;
};

}  // namespace

std::vector<std::string> contradictions(const LogFacts& facts, const CallCompiler& compiler,
                                        const RecordedCall& call) {
  if (!facts.any || compiler.nccl() == nullptr) return {};
  return Contradictions(facts, compiler, call).take();
}

}  // namespace collsim
