#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "models/diagnosis/hypothesis.h"
#include "models/diagnosis/shown_causes.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

// How a line of the log, which is either there or not, changes the odds of a cause.
constexpr double shown = weight_if_shown;
constexpr double named_by_line = 10 * shown;  // which of causes that look alike it is
constexpr double made_likely = 30;
constexpr double possible = 3;  // a setting that may make it, or kinds of parts that often have it
// Reports of RoCE at half of its rate with GPUDirect in use, where a cause was found, name late
// completions and what makes messages wait before PCIe (NVIDIA/nccl#2409).
constexpr double often_over_roce = 10;
constexpr double excluded = 0.01;
constexpr std::size_t few_direct = 3;  // at most so many connections with GPUDirect for one without
constexpr double not_said = 0.05;      // NCCL_DEBUG=INFO names the variables that are set

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), value) != words.end();
}

class Weights {
 public:
  Weights(const LogFacts& facts, const std::map<std::string, std::string>& settings)
      : facts_(facts), settings_(settings) {}

  double of(const Hypothesis& hypothesis) const {
    return by_settings(hypothesis) * (facts_.any ? by_lines(hypothesis) : 1);
  }

  /// The setting that makes a cause; empty where none does.
  std::string setting_behind(const Hypothesis& hypothesis) const {
    const std::string_view cause = hypothesis.cause;
    std::string first;
    std::string second;
    if (cause == "p2p-disabled") {
      first = if_set("NCCL_P2P_DISABLE", {"1"});
      second = if_set("NCCL_P2P_LEVEL", {"loc", "0"});
    } else if (cause == "sockets") {
      first = if_set("NCCL_IB_DISABLE", {"1"});
      second = if_set("NCCL_NET", {"socket"});
    } else if (cause == "no-gpudirect") {
      first = if_set("NCCL_NET_GDR_LEVEL", {"loc", "0"});
    } else if (cause == "no-peermem") {
      first = if_set("NCCL_DMABUF_ENABLE", {"0"});
    } else if (cause == "fewer-nics" && count_shown(hypothesis)) {
      first = setting_named(cause);
    }
    return first.empty() ? second : first;
  }

  /// The number that a cause has, where the log says it: NICs after `NET/IB : Using` or of
  /// NCCL_IB_HCA, channels. Nothing where it is no fewer than the machine has.
  std::optional<double> count_shown(const Hypothesis& hypothesis) const {
    std::size_t count = 0;
    if (hypothesis.cause == "fewer-nics") {
      count = facts_.nics.empty() ? nics_named() : facts_.nics.size();
    } else if (hypothesis.cause == "few-channels") {
      count = facts_.channels;
    }
    const auto shown_count = static_cast<double>(count);
    if (count == 0 || shown_count > hypothesis.parameter->values.back()) return std::nullopt;
    return shown_count;
  }

  /// A setting that may make a cause, by what it names; empty where there is none.
  std::string setting_named(std::string_view cause) const {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names{{
        {"p2p-disabled", "NCCL_P2P_LEVEL"},
        {"slow-proxy", "NCCL_IGNORE_CPU_AFFINITY"},
        {"fewer-nics", "NCCL_IB_HCA"},
        {"slow-interface", "NCCL_SOCKET_IFNAME"},
        {"gdr-level", "NCCL_NET_GDR_LEVEL"},
        {"no-gpudirect", "NCCL_NET_GDR_READ"},
    }};
    for (const auto& [of, name] : names) {
      const auto found = settings_.find(std::string(name));
      if (of == cause && found != settings_.end()) {
        return fmt::format("{}={}", found->first, found->second);
      }
    }
    return {};
  }

 private:
  /// How many NICs NCCL_IB_HCA names; 0 where it excludes some, or gives what several names begin
  /// with.
  std::size_t nics_named() const {
    const std::string list = value_of("NCCL_IB_HCA");
    std::size_t count = 0;
    for (std::string_view rest = list; !rest.empty();) {
      std::string_view name = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      name = name.substr(0, name.find(':'));
      const bool is_driver = is_one_of(name, {"mlx4", "mlx5"});  // all of its NICs
      const bool is_one = !name.empty() && name.front() != '^' && !is_driver &&
                          std::isdigit(static_cast<unsigned char>(name.back())) != 0;
      if (!is_one) return 0;
      ++count;
    }
    return count;
  }

  std::string value_of(const std::string& name) const {
    const auto found = settings_.find(name);
    return found == settings_.end() ? std::string() : lower_case(found->second);
  }
  std::size_t lines(LogTransport transport) const {
    const auto found = facts_.transports.find(transport);
    return found == facts_.transports.end() ? 0 : found->second.count;
  }

  /// "NCCL_P2P_LEVEL=LOC", where its value is one of those.
  std::string if_set(const std::string& name,
                     std::initializer_list<std::string_view> values) const {
    if (!is_one_of(value_of(name), values)) return {};
    return name + "=" + settings_.at(name);
  }

  double by_settings(const Hypothesis& hypothesis) const {
    const std::string_view cause = hypothesis.cause;
    if (!setting_behind(hypothesis).empty()) return shown;
    if (cause == "gdr-level") {
      return is_one_of(value_of("NCCL_NET_GDR_LEVEL"), {"pix", "1", "pxb", "2"}) ? made_likely : 1;
    }
    const std::string named = setting_named(cause);
    return named.empty() || cause == "no-gpudirect" ? 1 : possible;
  }

  /// One of two kinds of lines shows the cause, the other excludes it.
  static double between(bool shows, bool excludes) {
    if (shows) return shown;
    return excludes ? excluded : 1;
  }

  /// One host without GPUDirect holds up all others.
  double by_gpudirect(std::size_t direct) const {
    const std::size_t staged = lines(LogTransport::rdma);
    if (direct > 0 && !hosts_without_any_gpudirect(facts_).empty()) return shown;
    // Some NICs, or one direction.
    if (direct > 0 && few_direct * staged >= direct) return possible;
    return between(direct == 0 && (staged > 0 || facts_.no_gpudirect), direct > 0);
  }

  /// NICs of bonded ports are named after the bond: "mlx5_bond_0".
  bool has_bond() const {
    return std::any_of(facts_.nics.begin(), facts_.nics.end(), [](const std::string& name) {
      return name.find("bond") != std::string::npos;
    });
  }

  double by_lines(const Hypothesis& hypothesis) const {
    const std::string_view cause = hypothesis.cause;
    if (cause == "p2p-blocked" && facts_.p2p_blocked.count > 0) return named_by_line;
    if (cause == "p2p-disabled" || cause == "p2p-blocked") {
      return between(lines(LogTransport::host_memory) > 0, lines(LogTransport::peer_to_peer) > 0);
    }
    const std::size_t direct = lines(LogTransport::rdma_gpudirect);
    if (cause == "sockets" || cause == "cloud-adapter" ||
        (cause == "slow-interface" && hypothesis.effect == "sockets")) {
      // A machine without any such device is not one where a setting hides them.
      if (cause == "cloud-adapter" && facts_.no_ib_device) return named_by_line;
      const bool talks_tcp = lines(LogTransport::sockets) > 0 || facts_.network == "Socket";
      return between(talks_tcp, direct + lines(LogTransport::rdma) > 0);
    }
    if (cause == "gdr-level" && facts_.too_far.count > 0) return named_by_line;
    if (cause == "no-peermem" && facts_.no_gpudirect) return named_by_line;
    if (cause == "no-gpudirect" || cause == "no-peermem" || cause == "gdr-level") {
      return by_gpudirect(direct);
    }
    if (cause == "fewer-nics" && !facts_.nics.empty()) {
      return between(count_shown(hypothesis).has_value(), true);
    }
    if (cause == "bonded-ports") return has_bond() ? shown : 1;
    // Where GPUDirect is in use and yet slow, what PCIe does on the way is asked about first.
    if (cause == "acs" && hypothesis.effect == "slow-network") {
      return direct > 0 && lines(LogTransport::rdma) == 0 ? possible : 1;
    }
    if (cause == "slow-messages") return facts_.network == "RoCE" ? often_over_roce : 1;
    if (cause == "slow-proxy") return is_on_few_cores(facts_) ? shown : 1;
    if (cause == "nvls-off") return between(facts_.no_nvls, facts_.nvls_channels > 0);
    if (cause == "forced-algorithm" || cause == "forced-protocol") return not_said;
    if (cause == "few-channels" && facts_.channels > 0) {
      return between(count_shown(hypothesis).has_value(), true);
    }
    return 1;
  }

  const LogFacts& facts_;
  const std::map<std::string, std::string>& settings_;
};

}  // namespace

void weigh_by_facts(const LogFacts& facts, const std::map<std::string, std::string>& settings,
                    std::vector<Hypothesis>& hypotheses) {
  const Weights weights(facts, settings);
  for (Hypothesis& hypothesis : hypotheses) {
    hypothesis.weight *= weights.of(hypothesis);
    const std::string setting = weights.setting_behind(hypothesis);
    if (const std::string named = weights.setting_named(hypothesis.cause);
        setting.empty() && !named.empty()) {
      hypothesis.check = named + " is set: is it right? " + hypothesis.check;
    }
    if (const auto count = weights.count_shown(hypothesis)) hypothesis.parameter->values = {*count};
    const bool is_of_gpudirect =
        hypothesis.effect == "no-gpudirect" || hypothesis.cause == "no-gpudirect";
    if (const auto hosts = hosts_without_any_gpudirect(facts); is_of_gpudirect && !hosts.empty()) {
      hypothesis.text += fmt::format(", on {}", fmt::join(hosts, ", "));
    }
    const bool is_of_interface =
        hypothesis.cause == "slow-interface" || hypothesis.cause == "cloud-adapter";
    if (is_of_interface && !facts.interface.empty()) {
      hypothesis.check = fmt::format("NCCL took {}. {}", facts.interface, hypothesis.check);
    }
    if (setting.empty()) continue;
    hypothesis.text += fmt::format(" ({})", setting);
    hypothesis.check = setting + " is set: unset it. Else " + hypothesis.check;
    hypothesis.remedy = "unset " + setting.substr(0, setting.find('='));
  }
}

}  // namespace collsim
