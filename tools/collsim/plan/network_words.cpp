#include "tools/collsim/plan/network_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace collsim {

namespace {

/// "fat_tree" as people write it.
std::string spaced(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

/// What cables carry, as networks are named: in bits.
std::string rate_in_words(const std::string& fabric) {
  const auto link = text_of_key(fabric, "link");
  const auto text = link ? text_of_key(*link, "bandwidth") : std::nullopt;
  if (!text) return {};
  constexpr double bits_of_gigabit = 1.25e8;
  return fmt::format("{:.4g} Gb/s", parse_rate(*text).value / bits_of_gigabit);
}

/// "2:1" of a fabric that has leaves below others; empty for other kinds.
std::string oversubscription_in_words(const std::string& fabric) {
  const auto said = text_of_key(fabric, "oversubscription");
  const bool tree = text_of_key(fabric, "kind") == "fat_tree" ||
                    (text_of_key(fabric, "kind") == "rails" && text_of_key(fabric, "spines"));
  if (!tree) return {};
  if (!said) return "1:1";
  return said->ends_with(":1") ? *said : *said + ":1";
}

std::string fabric_in_words(const MachineParts& parts) {
  const std::string& fabric = parts.fabric;
  std::vector<std::string> words{spaced(text_of_key(fabric, "kind").value_or("network"))};
  if (text_of_key(fabric, "rail_optimised") == "true") words.emplace_back("rail optimised");
  if (const auto levels = text_of_key(fabric, "levels")) words.push_back(*levels + " levels");
  words.push_back(oversubscription_in_words(fabric));
  if (const auto routing = text_of_key(fabric, "routing")) words.push_back(*routing + " routing");
  words.push_back(rate_in_words(fabric));
  words.push_back(parts.fabric_from);
  std::erase(words, "");
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string nics_in_words(const NodeTemplate& node) {
  std::size_t count = 0;
  std::set<std::string> models;
  for (const GraphDevice& device : node.devices) {
    if (device.kind != DeviceKind::nic) continue;
    ++count;
    if (!device.model.empty()) models.insert(device.model);
  }
  if (count == 0) return "no NICs";
  const std::string text = fmt::format("{} NIC{} a node", count, count == 1 ? "" : "s");
  return models.empty() ? text : fmt::format("{} ({})", text, fmt::join(models, ", "));
}

}  // namespace

std::string network_in_words(const MachineParts& parts) {
  if (parts.fabric.empty()) return "no network";
  return fmt::format("{}; {}; {}", fabric_in_words(parts), nics_in_words(parts.node),
                     to_string(parts.placement));
}

}  // namespace collsim
