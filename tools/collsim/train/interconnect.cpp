#include "tools/collsim/train/interconnect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

namespace collsim {

namespace {

constexpr std::int64_t usual_gpus_of_node = 8;
constexpr std::int64_t max_nics = 1024;
constexpr double max_gigabits = 100'000;

using NamedNumber = std::pair<std::string_view, double>;
/// Units of rates, in Gb/s. Case tells bits from bytes.
constexpr std::array rate_units{
    NamedNumber{"Gb/s", 1},    NamedNumber{"Gbps", 1},    NamedNumber{"Gbit/s", 1},
    NamedNumber{"GbE", 1},     NamedNumber{"G", 1},       NamedNumber{"Gbit", 1},
    NamedNumber{"Tb/s", 1000}, NamedNumber{"Tbps", 1000}, NamedNumber{"Tbit/s", 1000},
    NamedNumber{"GB/s", 8},    NamedNumber{"GBps", 8},    NamedNumber{"TB/s", 8000},
};
/// What a port of InfiniBand of each generation carries, in Gb/s (four lanes, or two).
constexpr std::array infiniband_rates{
    NamedNumber{"fdr", 56},  NamedNumber{"edr", 100}, NamedNumber{"hdr100", 100},
    NamedNumber{"hdr", 200}, NamedNumber{"ndr", 400}, NamedNumber{"ndr200", 200},
    NamedNumber{"xdr", 800},
};
constexpr std::array number_words{
    NamedNumber{"one", 1},  NamedNumber{"single", 1}, NamedNumber{"two", 2},
    NamedNumber{"dual", 2}, NamedNumber{"four", 4},   NamedNumber{"eight", 8},
};
constexpr std::array<std::string_view, 10> node_words{
    "node", "nodes", "server", "servers", "host", "hosts", "machine", "machines", "box", "total"};
constexpr std::array<std::string_view, 6> gpu_words{"gpu",         "gpus",         "rank",
                                                    "accelerator", "accelerators", "ranks"};
constexpr std::array<std::string_view, 13> port_words{
    "nic",   "nics",    "port",     "ports", "hca",   "hcas", "rail",
    "rails", "adapter", "adapters", "card",  "cards", "each"};
/// How words begin that name what is inside a node.
constexpr std::array<std::string_view, 4> inside_words{"nvlink", "nvswitch", "pcie", "xgmi"};
/// How words begin that name a network or its parts.
constexpr std::array<std::string_view, 16> network_words{
    "infiniband", "ib",  "roce", "ethernet", "efa",       "omni-path", "omnipath", "opa",
    "slingshot",  "tcp", "rdma", "gvnic",    "gpudirect", "connectx",  "cx-",      "bluefield"};
/// Words that change nothing.
constexpr std::array<std::string_view, 16> filler_words{
    "of", "with",    "at",           "between",      "assume", "assumed",
    "a",  "network", "fabric",       "interconnect", "stated", "links",
    "in", "all",     "non-blocking", "bandwidth"};

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool begins_as(std::span<const std::string_view> words, std::string_view word) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view each) { return word.starts_with(each); });
}

std::optional<double> number_of(std::span<const NamedNumber> names, std::string_view word) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const NamedNumber& each) { return each.first == word; });
  if (found == names.end()) return std::nullopt;
  return found->second;
}

/// A word or a number of a part of the words.
struct Token {
  std::string text;
  std::optional<double> number{};
  bool is_times() const { return text == "x" || text == "X" || text == "*"; }
};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Of "8x400G": 8, x, 400, G. A number ends where its digits do.
std::vector<Token> tokens_of(std::string_view part) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < part.size()) {
    const std::size_t begin = at;
    if (part[at] == ' ' || part[at] == '\t') {
      ++at;
    } else if (is_digit(part[at])) {
      while (at < part.size() && (is_digit(part[at]) || part[at] == '.')) ++at;
      const std::string_view text = part.substr(begin, at - begin);
      tokens.push_back({std::string(text), leading_number<double>(text).value_or(0)});
    } else if (part[at] == 'x' || part[at] == 'X' || part[at] == '*') {
      const char next = at + 1 < part.size() ? part[at + 1] : ' ';
      const bool counts = !tokens.empty() && tokens.back().number &&
                          (is_digit(part[begin - 1]) || is_digit(next) || next == ' ');
      ++at;
      while (!counts && at < part.size() && part[at] != ' ') ++at;
      tokens.push_back({std::string(part.substr(begin, at - begin))});
    } else {
      const std::size_t end = std::min(part.find_first_of(" \t", at), part.size());
      std::string_view word = part.substr(at, end - at);
      at = end;
      // "GB/s/GPU": a rate of a GPU.
      const std::size_t slash = word.rfind('/');
      if (slash != std::string_view::npos && slash > 0 && word.size() - slash > 2) {
        tokens.push_back({std::string(word.substr(0, slash))});
        tokens.push_back({"per"});
        word = word.substr(slash + 1);
      }
      while (word.ends_with('.') || word.ends_with(':')) word.remove_suffix(1);
      if (!word.empty()) tokens.push_back({std::string(word)});
    }
  }
  return tokens;
}

enum class RateOf : std::uint8_t { port, node, gpu };

/// What one part of the words says.
struct PartFacts {
  std::optional<std::int64_t> count{};
  std::optional<double> gigabits{};
  std::optional<RateOf> of{};
  std::int64_t gpus_of_node = 0;
};

/// Reads a part between separators.
class PartReader {
 public:
  explicit PartReader(std::string_view part) : part_(part), tokens_(tokens_of(part)) {
    for (const Token& each : tokens_) words_.push_back(lower_case(each.text));
  }

  PartFacts read();

 private:
  [[noreturn]] void refuse(const std::string& wrong) const {
    throw QuantityError(fmt::format("interconnect: '{}': {}", part_, wrong),
                        "words such as '8x 400 Gb/s per node', '3200 Gb/s per node' or 'NDR 400 "
                        "Gb/s per GPU' (docs/formats.md)");
  }
  std::string_view word(std::size_t at) const {
    return at < words_.size() ? std::string_view(words_[at]) : std::string_view();
  }
  std::optional<double> number_at(std::size_t at) const {
    if (at >= tokens_.size()) return std::nullopt;
    return tokens_[at].number ? tokens_[at].number : number_of(number_words, word(at));
  }
  std::optional<double> unit_at(std::size_t at) const {
    return at < tokens_.size() ? number_of(rate_units, tokens_[at].text) : std::nullopt;
  }
  std::size_t read_size(std::size_t at, PartFacts& facts) const;
  std::size_t read_number(std::size_t at, PartFacts& facts) const;
  std::size_t read_word(std::size_t at, PartFacts& facts) const;
  void set_rate(double gigabits, PartFacts& facts) const;
  std::int64_t count_of(double number) const;

  std::string_view part_;
  std::vector<Token> tokens_;
  std::vector<std::string> words_;
};

std::int64_t PartReader::count_of(double number) const {
  if (number < 1 || number > max_nics || number != std::floor(number)) {
    refuse(fmt::format("{:g} is no count", number));
  }
  return static_cast<std::int64_t>(number);
}

void PartReader::set_rate(double gigabits, PartFacts& facts) const {
  if (facts.gigabits) refuse("two rates");
  if (!(gigabits > 0 && gigabits <= max_gigabits)) refuse(fmt::format("{:g} Gb/s", gigabits));
  facts.gigabits = gigabits;
}

/// "4 GPUs per node", "node of 4 GPUs", "servers of 8 V100", "4 nodes": how many tokens that is, or
/// 0 for other words.
std::size_t PartReader::read_size(std::size_t at, PartFacts& facts) const {
  if (const auto number = number_at(at)) {
    if (is_one_of(gpu_words, word(at + 1)) && word(at + 2) == "per" &&
        is_one_of(node_words, word(at + 3))) {
      facts.gpus_of_node = count_of(*number);
      return 4;
    }
    return is_one_of(node_words, word(at + 1)) ? 1 : 0;
  }
  const auto number = number_at(at + 2);
  if (!is_one_of(node_words, word(at)) || word(at + 1) != "of" || !number || unit_at(at + 3))
    return 0;
  facts.gpus_of_node = count_of(*number);
  return std::min<std::size_t>(4, tokens_.size() - at);
}

std::size_t PartReader::read_number(std::size_t at, PartFacts& facts) const {
  const double number = *number_at(at);
  if (const auto unit = unit_at(at + 1)) {
    set_rate(number * *unit, facts);
    return 2;
  }
  const bool times = at + 1 < tokens_.size() && tokens_[at + 1].is_times();
  const bool counts = times || is_one_of(port_words, word(at + 1)) || number_at(at + 1) ||
                      number_of(infiniband_rates, word(at + 1)) ||
                      begins_as(network_words, word(at + 1));
  if (!counts) refuse(fmt::format("'{}' has no unit", tokens_[at].text));
  if (facts.count) refuse("two counts");
  facts.count = count_of(number);
  return times ? 2 : 1;
}

std::size_t PartReader::read_word(std::size_t at, PartFacts& facts) const {
  const std::string_view here = word(at);
  const auto say = [&](RateOf of) {
    if (facts.of && *facts.of != of) refuse("a rate of two things");
    facts.of = of;
  };
  if (here == "per" || here == "each") {
    const std::string_view what = here == "each" ? here : word(at + 1);
    if (is_one_of(node_words, what)) {
      say(RateOf::node);
    } else if (is_one_of(gpu_words, what)) {
      say(RateOf::gpu);
    } else if (is_one_of(port_words, what)) {
      say(RateOf::port);
    } else {
      refuse(fmt::format("per '{}'", what));
    }
    return here == "each" ? 1 : 2;
  }
  if (here == "total") {
    say(RateOf::node);
  } else if (here == "x" && number_at(at + 1)) {  // "400 Gb/s x 8"
    facts.count = count_of(*number_at(at + 1));
    return 2;
  } else if (!is_one_of(filler_words, here) && !is_one_of(node_words, here) &&
             !is_one_of(port_words, here) && !begins_as(network_words, here)) {
    refuse(fmt::format("'{}' beside a rate", tokens_[at].text));
  }
  return 1;
}

PartFacts PartReader::read() {
  const auto is = [](std::span<const std::string_view> words) {
    return [words](const std::string& word) { return begins_as(words, word); };
  };
  const bool is_inside = std::any_of(words_.begin(), words_.end(), is(inside_words));
  if (is_inside && std::any_of(words_.begin(), words_.end(), is(network_words))) {
    refuse("links inside a node and a network at once");
  }
  bool says_rate = false;
  for (std::size_t at = 0; at < tokens_.size(); ++at) {
    says_rate =
        says_rate || number_of(infiniband_rates, word(at)) || (number_at(at) && unit_at(at + 1));
  }
  PartFacts facts;
  std::optional<double> generation;
  for (std::size_t at = 0; at < tokens_.size();) {
    if (const std::size_t read = read_size(at, facts)) {
      at += read;
    } else if (is_inside || (!says_rate && !tokens_[at].number)) {
      ++at;
    } else if (const auto named = number_of(infiniband_rates, word(at))) {
      generation = named;
      ++at;
    } else {
      at += number_at(at) ? read_number(at, facts) : read_word(at, facts);
    }
  }
  if (!facts.gigabits) facts.gigabits = generation;
  if (facts.count && !facts.gigabits) refuse("NICs without a rate");
  return facts;
}

/// Puts the parts together.
class NetworkFacts {
 public:
  NetworkFacts(std::string_view words, std::int64_t gpus_of_node) : words_(words) {
    network_.gpus_of_node = gpus_of_node;
  }

  void add(const PartFacts& part, bool in_parentheses);
  Interconnect take();

 private:
  [[noreturn]] void refuse(const std::string& wrong) const {
    throw QuantityError(fmt::format("interconnect: '{}': {}", words_, wrong), "one network");
  }
  void set(std::optional<double>& rate, double gigabits) const {
    if (rate && *rate != gigabits) refuse(fmt::format("{:g} and {:g} Gb/s", *rate, gigabits));
    rate = gigabits;
  }

  std::string_view words_;
  Interconnect network_;
  std::optional<double> of_port_, of_node_, of_gpu_;
};

void NetworkFacts::add(const PartFacts& part, bool in_parentheses) {
  if (part.gpus_of_node > 0) {
    if (network_.gpus_of_node > 0 && network_.gpus_of_node != part.gpus_of_node) {
      refuse(fmt::format("nodes of {} and of {} GPUs", network_.gpus_of_node, part.gpus_of_node));
    }
    network_.gpus_of_node = part.gpus_of_node;
  }
  if (!part.gigabits) return;
  if (part.of == RateOf::gpu)
    return set(of_gpu_, *part.gigabits * static_cast<double>(part.count.value_or(1)));
  if (part.count) {
    if (network_.nics > 0) refuse("two counts of NICs");
    network_.nics = *part.count;
    return set(of_port_, *part.gigabits);
  }
  const bool is_sum = in_parentheses && !part.of && (of_port_ || of_node_);
  set(is_sum || part.of == RateOf::node ? of_node_ : of_port_, *part.gigabits);
}

Interconnect NetworkFacts::take() {
  const std::int64_t gpus_of_node =
      network_.gpus_of_node > 0 ? network_.gpus_of_node : usual_gpus_of_node;
  const auto whole = static_cast<double>(gpus_of_node);
  if (of_gpu_) set(of_node_, *of_gpu_ * whole);
  if (!of_node_) {
    network_.gigabits = of_port_.value_or(0);
    return network_;
  }
  if (network_.nics == 0) {
    const double nics = of_port_ ? *of_node_ / *of_port_ : whole;
    if (nics < 1 || nics > max_nics || nics != std::floor(nics)) {
      refuse(fmt::format("{:g} Gb/s are {:g} NICs", *of_node_, nics));
    }
    network_.nics = static_cast<std::int64_t>(nics);
  }
  const double each = *of_node_ / static_cast<double>(network_.nics);
  if (of_port_ && *of_port_ != each) {
    refuse(
        fmt::format("{} NICs of {:g} Gb/s are not {:g} Gb/s", network_.nics, *of_port_, *of_node_));
  }
  network_.gigabits = each;
  return network_;
}

/// "8×" as "8x", and words that join parts as separators.
std::string plain(std::string_view words) {
  std::string text(words);
  for (const auto& [from, to] : {std::pair{"\xc3\x97", "x"}, std::pair{" and ", " ; "},
                                 std::pair{" plus ", " ; "}, std::pair{" & ", " ; "}}) {
    const std::string_view old(from);
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at)) {
      text.replace(at, old.size(), to);
    }
  }
  return text;
}

}  // namespace

Interconnect read_interconnect(std::string_view words, std::int64_t gpus_of_node) {
  const std::string text = plain(words);
  NetworkFacts facts(words, gpus_of_node);
  bool in_parentheses = false;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(",;+()", begin), text.size());
    facts.add(PartReader(std::string_view(text).substr(begin, end - begin)).read(), in_parentheses);
    if (end < text.size())
      in_parentheses = text[end] == '(' || (in_parentheses && text[end] != ')');
    begin = end + 1;
  }
  return facts.take();
}

}  // namespace collsim
