#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/base/lines.h"
#include "sim/base/text.h"
#include "tools/collsim/diagnose/hypothesis.h"

namespace collsim {

namespace {

/// NICs of bonded ports are named after the bond: "mlx5_bond_0".
bool has_bond(const LogFacts& facts) {
  return std::any_of(facts.nics.begin(), facts.nics.end(), [](const std::string& name) {
    return name.find("bond") != std::string::npos;
  });
}

/// Some NICs, or one direction, have no GPUDirect where at most so many connections have it for one
/// that has not.
constexpr std::size_t few_direct = 3;

/// What a log shows, by the words of the table of causes.
std::map<std::string_view, bool> lines_of(const LogFacts& facts) {
  const std::size_t direct = line_count(facts, LogTransport::rdma_gpudirect);
  const std::size_t staged = line_count(facts, LogTransport::rdma);
  return {
      {"any", true},
      {"p2p blocked", facts.p2p_blocked.count > 0},
      {"through shm", line_count(facts, LogTransport::host_memory) > 0},
      {"through p2p", line_count(facts, LogTransport::peer_to_peer) > 0},
      {"no ib device", facts.no_ib_device},
      {"through tcp", line_count(facts, LogTransport::sockets) > 0},
      {"tcp", line_count(facts, LogTransport::sockets) > 0 || facts.network == "Socket"},
      {"rdma", direct + staged > 0},
      {"too far", facts.too_far.count > 0},
      {"gpudirect disabled", facts.no_gpudirect},
      {"hosts without gpudirect", direct > 0 && !hosts_without_any_gpudirect(facts).empty()},
      {"few without gpudirect", direct > 0 && few_direct * staged >= direct},
      {"none with gpudirect", direct == 0 && (staged > 0 || facts.no_gpudirect)},
      {"gpudirect", direct > 0},
      {"all with gpudirect", direct > 0 && staged == 0},
      {"nics", !facts.nics.empty()},
      {"channels", facts.channels > 0},
      {"bond", has_bond(facts)},
      {"roce", facts.network == "RoCE"},
      {"few cores", is_on_few_cores(facts)},
      {"no nvls", facts.no_nvls},
      {"nvls", facts.nvls_channels > 0},
  };
}

/// What a log and the settings of its run say of causes.
class Signs {
 public:
  Signs(const LogFacts& facts, const std::map<std::string, std::string>& settings)
      : facts_(facts), settings_(settings), lines_(lines_of(facts)) {}

  /// The setting that makes a cause; empty where none does.
  std::string setting_behind(const Hypothesis& hypothesis) const {
    for (const SettingSign& sign : hypothesis.signs.settings) {
      if (sign.odds >= weight_if_shown && is_set(sign)) return text_of(sign);
    }
    return count_shown(hypothesis) ? setting_named(hypothesis) : std::string();
  }

  /// A setting that may make a cause, whatever its value; empty where there is none.
  std::string setting_named(const Hypothesis& hypothesis) const {
    for (const SettingSign& sign : hypothesis.signs.settings) {
      if (sign.values.empty() && is_set(sign)) return text_of(sign);
    }
    return {};
  }

  /// The number that a cause has, where the log says it: NICs after `NET/IB : Using`, channels.
  /// Nothing where it is no fewer than the machine has.
  std::optional<double> count_shown(const Hypothesis& hypothesis) const {
    std::size_t count = 0;
    if (hypothesis.signs.counts == "nics") {
      count = facts_.nics.size();
    } else if (hypothesis.signs.counts == "channels") {
      count = facts_.channels;
    }
    const auto shown_count = static_cast<double>(count);
    if (count == 0 || shown_count > hypothesis.parameter->values.back()) return std::nullopt;
    return shown_count;
  }

  double odds_by_settings(const Hypothesis& hypothesis) const {
    if (!setting_behind(hypothesis).empty()) return weight_if_shown;
    const auto& all = hypothesis.signs.settings;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const SettingSign& sign) { return is_set(sign); });
    return found == all.end() ? 1 : found->odds;
  }

  double odds_by_lines(const Hypothesis& hypothesis) const {
    if (!facts_.any) return 1;
    const std::string& counts = hypothesis.signs.counts;
    const bool fewer = !counts.empty() && lines_.at(counts) && count_shown(hypothesis).has_value();
    for (const LineSign& sign : hypothesis.signs.lines) {
      if (sign.line == "fewer" ? fewer : lines_.at(sign.line)) return sign.odds;
    }
    return 1;
  }

 private:
  std::string value_of(const std::string& name) const {
    const auto found = settings_.find(name);
    return found == settings_.end() ? std::string() : lower_case(found->second);
  }

  bool is_set(const SettingSign& sign) const {
    if (!settings_.contains(sign.variable)) return false;
    const std::vector<std::string>& some = sign.values;
    return some.empty() ||
           std::find(some.begin(), some.end(), value_of(sign.variable)) != some.end();
  }

  /// "NCCL_P2P_LEVEL=LOC".
  std::string text_of(const SettingSign& sign) const {
    return sign.variable + "=" + settings_.at(sign.variable);
  }

  const LogFacts& facts_;
  const std::map<std::string, std::string>& settings_;
  std::map<std::string_view, bool> lines_;
};

/// NICs that the log counts may have another rate than was guessed: common ones have 100 to 400
/// Gb/s.
void keep_counted_nics(const LogFacts& facts, Hypothesis& hypothesis) {
  constexpr double most = 4;
  const bool asks_for_nics = hypothesis.is_question && !hypothesis.parameter->continuous;
  if (!asks_for_nics || facts.nics.empty()) return;
  std::erase_if(hypothesis.parameter->values, [](double times) { return times > most; });
}

/// What the log names belongs into the cause's text.
void name_by_facts(const LogFacts& facts, Hypothesis& hypothesis) {
  const std::string& names = hypothesis.signs.names;
  if (const auto hosts = hosts_without_any_gpudirect(facts); names == "hosts" && !hosts.empty()) {
    hypothesis.text += fmt::format(", on {}", fmt::join(hosts, ", "));
  }
  if (names == "interface" && !facts.interface.empty()) {
    hypothesis.check = fmt::format("NCCL took {}. {}", facts.interface, hypothesis.check);
  }
}

}  // namespace

void weigh_by_facts(const LogFacts& facts, const std::map<std::string, std::string>& settings,
                    std::vector<Hypothesis>& hypotheses) {
  const Signs signs(facts, settings);
  for (Hypothesis& hypothesis : hypotheses) {
    hypothesis.weight *= signs.odds_by_settings(hypothesis) * signs.odds_by_lines(hypothesis);
    const std::string setting = signs.setting_behind(hypothesis);
    if (const std::string named = signs.setting_named(hypothesis);
        setting.empty() && !named.empty()) {
      hypothesis.check = named + " is set: is it right? " + hypothesis.check;
    }
    if (const auto count = signs.count_shown(hypothesis)) hypothesis.parameter->values = {*count};
    keep_counted_nics(facts, hypothesis);
    name_by_facts(facts, hypothesis);
    if (setting.empty()) continue;
    hypothesis.text += fmt::format(" ({})", setting);
    hypothesis.check = setting + " is set: unset it. Else " + hypothesis.check;
    hypothesis.remedy = "unset " + setting.substr(0, setting.find('='));
  }
}

}  // namespace collsim
