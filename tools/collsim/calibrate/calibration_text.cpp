#include "tools/collsim/calibrate/calibration_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "models/calibration/calibration_file.h"
#include "sim/base/text.h"
#include "sim/cost/calibration.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

using Entries = nlohmann::ordered_json;

/// The keys that lead to a constant: those of a protocol stand under "protocols".
std::vector<std::string> way_to(std::string_view parameter) {
  std::vector<std::string> way = split(parameter, '.');
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    if (way.front() == calibration_key(protocol)) {
      way.insert(way.begin(), "protocols");
      break;
    }
  }
  return way;
}

std::string text_of_list(const YamlValue& list) {
  std::string text;
  for (const YamlValue& each : list.sequence()) {
    text += (text.empty() ? "[" : ", ") + (each.is_scalar() ? each.string() : "");
  }
  return text + "]";
}

/// Whether what a file says of it replaces all that the calibration says which it extends.
bool is_stated_whole(std::string_view key) {
  return key == "proxy" || key == "both_ways";
}

/// A mapping's entries; an empty mapping is a value without a text.
Entries entries_of(const YamlMapping& mapping) {
  Entries entries = Entries::object();
  for (const auto& [key, value] : mapping.entries()) {
    Entries& entry = entries[key.string()] = "";
    if (value.is_scalar()) entry = value.string();
    if (value.is_sequence()) entry = text_of_list(value);
    if (!value.is_mapping()) continue;
    if (Entries inner = entries_of(value.free_mapping()); !inner.empty()) entry = std::move(inner);
  }
  return entries;
}

/// Adds an entry: values before mappings, as people write them.
void add(Entries& entries, const std::string& key, const Entries& entry) {
  Entries all = Entries::object();
  for (auto& [other, value] : entries.items()) {
    if (value.is_object() && !entry.is_object()) all.emplace(key, Entries(entry));
    all[other] = std::move(value);
  }
  all.emplace(key, Entries(entry));
  entries = std::move(all);
}

void complete(Entries& own, const Entries& base) {
  for (const auto& [key, entry] : base.items()) {
    const auto found = own.find(key);
    if (found == own.end()) {
      add(own, key, entry);
    } else if (found->is_object() && entry.is_object() && !is_stated_whole(key)) {
      complete(*found, entry);
    }
  }
}

void set_at(Entries& entries, std::span<const std::string> way, const std::string& text) {
  const std::string& key = way.front();
  const bool is_last = way.size() == 1;
  if (!entries.contains(key)) add(entries, key, is_last ? Entries("") : Entries::object());
  Entries& entry = entries[key];
  if (is_last) {
    entry = text;
    return;
  }
  if (!entry.is_object()) entry = Entries::object();  // a name in place of the values
  set_at(entry, way.subspan(1), text);
}

void erase_at(Entries& entries, std::span<const std::string> way) {
  const auto found = entries.find(way.front());
  if (found == entries.end()) return;
  if (way.size() > 1) erase_at(*found, way.subspan(1));
  if (way.size() == 1 || found->empty()) entries.erase(found);
}

void print(const std::string& key, const Entries& entry, const std::string& indent,
           std::string& out) {
  if (!entry.is_object()) {
    out += fmt::format("{}{}: {}\n", indent, key, entry.get_ref<const std::string&>());
    return;
  }
  const bool flat = std::all_of(entry.begin(), entry.end(),
                                [](const Entries& each) { return !each.is_object(); });
  constexpr std::size_t max_in_a_line = 5;
  if (flat && entry.size() <= max_in_a_line) {
    std::string values;
    for (const auto& [name, value] : entry.items()) {
      values += fmt::format("{}{}: {}", values.empty() ? "" : ", ", name,
                            value.get_ref<const std::string&>());
    }
    out += fmt::format("{}{}: {{ {} }}\n", indent, key, values);
    return;
  }
  out += fmt::format("{}{}:\n", indent, key);
  for (const auto& [name, value] : entry.items()) print(name, value, indent + "  ", out);
}

}  // namespace

CalibrationText::CalibrationText(const TextFile& text) {
  const YamlMapping root = read_yaml(text, "calibration").free_mapping();
  name_ = root.at("name").string();
  source_ = root.at("source").string();
  date_ = root.at("date").string();
  entries_ = entries_of(root);
  if (entries_.contains("trust")) print("trust", entries_["trust"], "", trust_);
  for (const char* key : {"collsim", "name", "source", "date", "trust", "provenance", "fit"}) {
    entries_.erase(key);
  }
}

std::optional<std::string> CalibrationText::base() const {
  const auto found = entries_.find("extends");
  return found == entries_.end() ? std::nullopt : std::optional(found->get<std::string>());
}

void CalibrationText::take_from(const CalibrationText& base) {
  for (const char* key : {"extends", "time_scale"}) entries_.erase(key);
  Entries inherited = base.entries_;
  inherited.erase("over_tcp");
  complete(entries_, inherited);
}

void CalibrationText::take_group(const CalibrationText& other, const std::string& key) {
  entries_.erase(key);
  if (other.entries_.contains(key)) add(entries_, key, other.entries_[key]);
}

bool CalibrationText::states(std::string_view parameter) const {
  Entries::json_pointer way;
  for (const std::string& key : way_to(parameter)) way /= key;
  return entries_.contains(way);
}

void CalibrationText::set(std::string_view parameter, const std::string& text) {
  set_at(entries_, way_to(parameter), text);
}

void CalibrationText::erase(std::string_view parameter) {
  erase_at(entries_, way_to(parameter));
}

std::string CalibrationText::constants() const {
  std::string out;
  for (const auto& [key, entry] : entries_.items()) print(key, entry, "", out);
  return out;
}

}  // namespace collsim
