#include "models/recordings/log_facts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "models/recordings/log_setting.h"
#include "models/recordings/log_text.h"
#include "models/recordings/readers.h"
#include "sim/base/number.h"

namespace collsim {

namespace {

constexpr std::size_t max_warnings = 5;

/// What stands after "NCCL INFO " or "NCCL WARN " in a line.
std::optional<std::string_view> content_after(std::string_view line, std::string_view mark) {
  const auto at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + mark.size());
}

std::string_view word_after(const std::vector<Word>& words, std::string_view name) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].text == name) return words[i + 1].text;
  }
  return {};
}

std::uint32_t number_or_zero(std::string_view text) {
  const auto number = whole_number(text);
  return number && *number < std::int64_t{1} << 31 ? static_cast<std::uint32_t>(*number) : 0;
}

/// The number that a text begins with; 0 where it is none.
double number_before(std::string_view text) {
  const double number = leading_number<double>(text).value_or(0);
  return std::isfinite(number) && number > 0 ? number : 0;
}

constexpr std::int64_t max_ranks = std::int64_t{1} << 20;

class FactReader {
 public:
  explicit FactReader(LogFacts& facts) : facts_(facts) {}

  void read(std::string_view line) {
    if (line.find("P2P is disabled between connected GPUs") != std::string_view::npos) {
      add_line(facts_.p2p_blocked, line.substr(line.find("P2P is disabled")));
    }
    if (const auto warning = content_after(line, "NCCL WARN ")) {
      facts_.any = true;
      add_warning(std::string(*warning));
    }
    const auto version = line.find("NCCL version ");
    if (version != std::string_view::npos && facts_.nccl.empty()) {
      const auto words = split_words(line.substr(version));
      if (words.size() > 2) facts_.nccl = words[2].text.substr(0, words[2].text.find('+'));
    }
    for (LogSetting& setting : settings_in(line)) {
      facts_.variables[std::move(setting.name)] = std::move(setting.value);
    }
    const auto info = content_after(line, "NCCL INFO ");
    if (!info) return;
    facts_.any = true;
    read_transport(*info, host_of(line));
    read_ring(*info);
    read_network(*info);
    read_rate(*info);
    read_gpudirect(*info);
    read_cpu(*info);
    read_communicator(*info);
    read_affinity(*info);
  }

 private:
  /// "gpu32" of "gpu32:22612:22693 [0] NCCL INFO ..."; launchers may put more before it, as in
  /// "[1,0]<stdout>:gpu32:22612:22693".
  static std::string host_of(std::string_view line) {
    std::string host;
    for (const Word& word : split_words(line.substr(0, line.find("NCCL INFO")))) {
      const std::string_view text = word.text;
      const auto thread = text.rfind(':');
      if (thread == std::string_view::npos || thread == 0) continue;
      const auto process = text.rfind(':', thread - 1);
      if (process == std::string_view::npos || process == 0) continue;
      const bool is_prefix = whole_number(text.substr(thread + 1)) &&
                             whole_number(text.substr(process + 1, thread - process - 1));
      const auto before = text.rfind(':', process - 1);
      const auto begin = before == std::string_view::npos ? 0 : before + 1;
      if (is_prefix) host = text.substr(begin, process - begin);
    }
    return host;
  }

  void add_warning(std::string text) {
    std::vector<std::string>& all = facts_.warnings;
    if (all.size() >= max_warnings || std::find(all.begin(), all.end(), text) != all.end()) return;
    all.push_back(std::move(text));
  }

  static void add_line(LogLines& lines, std::string_view line) {
    if (lines.count++ == 0) lines.first = line;
  }

  void add(LogTransport transport, std::string_view line) {
    add_line(facts_.transports[transport], line);
    facts_.names_rings = true;
  }

  // "Channel 00/24 :    0   1   2   3"
  void read_ring(std::string_view info) {
    const auto words = split_words(info);
    if (words.size() < 4 || words[0].text != "Channel" || words[2].text != ":") return;
    const auto slash = words[1].text.find('/');
    if (slash == std::string_view::npos) return;
    std::vector<std::uint32_t> ranks;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const auto rank = whole_number(words[i].text);
      if (!rank || *rank < 0 || *rank >= max_ranks) return;
      ranks.push_back(static_cast<std::uint32_t>(*rank));
    }
    facts_.rings.emplace(number_or_zero(words[1].text.substr(0, slash)), std::move(ranks));
  }

  // "NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=200000 context=..." in Mb/s, and of GRAPH
  // "+ NET[25.0] - NET/0 (0/1/25.000000)" in GB/s
  void read_rate(std::string_view info) {
    constexpr double bytes_of_megabit = 1.25e5;
    const auto speed = info.find("speed=");
    if (info.starts_with("NET/") && speed != std::string_view::npos) {
      facts_.nic_rate.value =
          std::max(facts_.nic_rate.value, bytes_of_megabit * number_before(info.substr(speed + 6)));
    }
    const auto net = info.find("- NET/");
    const auto slash = info.rfind('/');
    if (net == std::string_view::npos || !info.ends_with(')') || slash < net) return;
    facts_.nic_rate.value =
        std::max(facts_.nic_rate.value, 1e9 * number_before(info.substr(slash + 1)));
  }

  void read_gpudirect(std::string_view info) {
    const bool is_of_distance =
        info.starts_with("GPU Direct RDMA ") && info.find("(distance ") != std::string_view::npos;
    if (!is_of_distance) return;
    add_line(info.starts_with("GPU Direct RDMA Disabled") ? facts_.too_far : facts_.near_enough,
             info);
  }

  // "CPU/0 (1/1/2)": architecture, vendor and model, as NCCL numbers them
  void read_cpu(std::string_view info) {
    if (!info.starts_with("CPU/")) return;
    const auto open = info.find("(1/");
    if (open == std::string_view::npos || open + 3 >= info.size()) return;
    if (info[open + 3] == '1') facts_.cpu_vendor = "Intel";
    if (info[open + 3] == '2') facts_.cpu_vendor = "AMD";
  }

  // "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read"
  void read_transport(std::string_view info, const std::string& host) {
    const auto at = info.find(" via ");
    if (!info.starts_with("Channel ") || at == std::string_view::npos) return;
    const std::string_view way = info.substr(at + 5);
    if (way.starts_with("P2P/")) add(LogTransport::peer_to_peer, info);
    if (way.starts_with("SHM")) add(LogTransport::host_memory, info);
    if (!way.starts_with("NET/")) return;
    if (way.starts_with("NET/Socket")) {
      add(LogTransport::sockets, info);
    } else if (way.find("/GDRDMA") != std::string_view::npos) {
      add(LogTransport::rdma_gpudirect, info);
      facts_.hosts_with_gpudirect.insert(host);
    } else {
      add(LogTransport::rdma, info);
      facts_.hosts_without_gpudirect.insert(host);
    }
  }

  // "Setting affinity for GPU 0 to ffff,00000000" or, of late, "to 0-23,48-71"
  void read_affinity(std::string_view info) {
    const auto words = split_words(info);
    if (!info.starts_with("Setting affinity for GPU ") || words.size() != 7) return;
    const std::string_view list = words[6].text;
    const bool is_mask = list.find('-') == std::string_view::npos;
    const std::uint32_t cores = is_mask ? cores_of_mask(list) : cores_of_ranges(list);
    if (cores > 0) facts_.cores = facts_.cores == 0 ? cores : std::min(facts_.cores, cores);
  }

  static std::uint32_t cores_of_mask(std::string_view mask) {
    std::uint32_t cores = 0;
    for (const char digit : mask) {
      const unsigned value = parse_hexadecimal<unsigned>({&digit, 1}).value_or(0);
      cores += static_cast<std::uint32_t>(std::popcount(value));
    }
    return cores;
  }

  static std::uint32_t cores_of_ranges(std::string_view list) {
    std::uint32_t cores = 0;
    for (const std::string_view range : split_lines(list, ',')) {
      const auto dash = range.find('-');
      const bool is_one = dash == std::string_view::npos;
      const auto first = whole_number(range.substr(0, dash));
      const auto last = is_one ? first : whole_number(range.substr(dash + 1));
      if (!first || !last || *first < 0 || *last < *first || *last >= max_ranks) return 0;
      cores += static_cast<std::uint32_t>(*last - *first + 1);
    }
    return cores;
  }

  // "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.2<0>"
  void read_network(std::string_view info) {
    constexpr std::string_view using_network = "Using network ";
    if (info.starts_with(using_network)) {
      // "IB", or of a plug-in "IBext_v8": which of InfiniBand and RoCE it is, the NICs say.
      std::string_view name = info.substr(using_network.size());
      if (name.starts_with("IBext")) name = "IB";
      if (name != "IB" || facts_.network.empty()) facts_.network = name;
    }
    if (info.starts_with("NVLS multicast support is not available")) facts_.no_nvls = true;
    if (info.find("GPU Direct RDMA Disabled for HCA") != std::string_view::npos) {
      facts_.no_gpudirect = true;
    }
    if (info.starts_with("NET/IB : No device found")) facts_.no_ib_device = true;
    const bool names_sockets = info.starts_with("NET/Socket : Using ");
    if (names_sockets && facts_.network.empty()) facts_.network = "Socket";
    if (names_sockets && facts_.interface.empty()) facts_.interface = interface_in(info);
    if (!info.starts_with("NET/IB : Using ")) return;
    for (const Word& word : split_words(info)) {
      const auto close = word.text.find(']');
      const auto colon = word.text.find(':', close);
      if (word.text.front() != '[' || colon == std::string_view::npos) continue;
      facts_.nics.emplace(word.text.substr(close + 1, colon - close - 1));
      const auto slash = word.text.find('/', colon);
      if (slash == std::string_view::npos) continue;
      const std::string_view link = word.text.substr(slash + 1);  // "IB/SHARP"
      facts_.network = link.substr(0, link.find('/'));
    }
  }

  // "NET/Socket : Using [0]eno1:192.0.2.1<0> [1]..."
  static std::string interface_in(std::string_view info) {
    const auto close = info.find(']');
    const auto colon = info.find(':', close);
    if (close == std::string_view::npos || colon == std::string_view::npos) return {};
    return std::string(info.substr(close + 1, colon - close - 1));
  }

  // "comm 0x... rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0"
  // "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, ..."
  void read_communicator(std::string_view info) {
    const auto words = split_words(info);
    if (info.starts_with("comm ") || info.starts_with("ncclCommInitRank")) {
      const auto ranks = std::max(number_or_zero(word_after(words, "nRanks")),
                                  number_or_zero(word_after(words, "nranks")));
      facts_.ranks = std::max(facts_.ranks, ranks);
      facts_.nodes = std::max(facts_.nodes, number_or_zero(word_after(words, "nNodes")));
      facts_.local_ranks =
          std::max(facts_.local_ranks, number_or_zero(word_after(words, "localRanks")));
    }
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      if (!words[i + 2].text.starts_with("channels")) continue;
      const std::uint32_t count = number_or_zero(words[i].text);
      if (words[i + 1].text == "coll") {
        const bool is_first = facts_.channels == 0;
        facts_.fewest_channels = is_first ? count : std::min(facts_.fewest_channels, count);
        facts_.channels = std::max(facts_.channels, count);
      }
      if (words[i + 1].text == "nvls") facts_.nvls_channels = std::max(facts_.nvls_channels, count);
    }
  }

  LogFacts& facts_;
};

void add_lines(LogLines& lines, const LogLines& others) {
  if (lines.count == 0) lines.first = others.first;
  lines.count += others.count;
}

}  // namespace

LogFacts read_log_facts(const TextFile& text) {
  LogFacts facts;
  FactReader reader(facts);
  const std::string plain = log_text(text.content);
  for (const std::string_view line : split_lines(plain)) reader.read(line);
  return facts;
}

const LogLines* lines_of(const LogFacts& facts, LogTransport transport) {
  const auto found = facts.transports.find(transport);
  return found == facts.transports.end() ? nullptr : &found->second;
}

std::size_t line_count(const LogFacts& facts, LogTransport transport) {
  const LogLines* found = lines_of(facts, transport);
  return found == nullptr ? 0 : found->count;
}

bool is_on_few_cores(const LogFacts& facts) {
  constexpr std::uint32_t few = 2;
  return facts.cores > 0 && facts.cores <= few;
}

std::vector<std::string> hosts_without_any_gpudirect(const LogFacts& facts) {
  std::vector<std::string> hosts;
  if (facts.hosts_with_gpudirect.empty()) return hosts;
  std::set_difference(facts.hosts_without_gpudirect.begin(), facts.hosts_without_gpudirect.end(),
                      facts.hosts_with_gpudirect.begin(), facts.hosts_with_gpudirect.end(),
                      std::back_inserter(hosts));
  return hosts;
}

LogFacts merged(LogFacts first, const LogFacts& second) {
  first.any = first.any || second.any;
  first.names_rings = first.names_rings || second.names_rings;
  if (first.nccl.empty()) first.nccl = second.nccl;
  if (first.ranks == 0) first.ranks = second.ranks;
  if (first.nodes == 0) first.nodes = second.nodes;
  if (first.local_ranks == 0) first.local_ranks = second.local_ranks;
  if (first.channels == 0) first.channels = second.channels;
  if (first.nvls_channels == 0) first.nvls_channels = second.nvls_channels;
  for (const auto& [transport, lines] : second.transports) {
    add_lines(first.transports[transport], lines);
  }
  if (first.fewest_channels == 0) first.fewest_channels = second.fewest_channels;
  first.nics.insert(second.nics.begin(), second.nics.end());
  if (first.nic_rate.value == 0) first.nic_rate = second.nic_rate;
  if (first.cpu_vendor.empty()) first.cpu_vendor = second.cpu_vendor;
  if (first.network.empty()) first.network = second.network;
  first.variables.insert(second.variables.begin(), second.variables.end());
  first.no_nvls = first.no_nvls || second.no_nvls;
  first.no_gpudirect = first.no_gpudirect || second.no_gpudirect;
  first.no_ib_device = first.no_ib_device || second.no_ib_device;
  add_lines(first.too_far, second.too_far);
  add_lines(first.near_enough, second.near_enough);
  add_lines(first.p2p_blocked, second.p2p_blocked);
  first.hosts_with_gpudirect.insert(second.hosts_with_gpudirect.begin(),
                                    second.hosts_with_gpudirect.end());
  first.hosts_without_gpudirect.insert(second.hosts_without_gpudirect.begin(),
                                       second.hosts_without_gpudirect.end());
  if (first.interface.empty()) first.interface = second.interface;
  if (first.cores == 0) first.cores = second.cores;
  first.rings.insert(second.rings.begin(), second.rings.end());
  for (const std::string& warning : second.warnings) {
    const auto& all = first.warnings;
    const bool known = std::find(all.begin(), all.end(), warning) != all.end();
    if (!known && all.size() < max_warnings) first.warnings.push_back(warning);
  }
  return first;
}

}  // namespace collsim
