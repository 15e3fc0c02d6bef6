#include "tools/collsim/calibrate/calibration_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/calibration/calibration_file.h"
#include "sim/base/text.h"
#include "sim/cost/calibration.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

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

}  // namespace

CalibrationText::CalibrationText(const TextFile& text) {
  const YamlMapping root = read_yaml(text, "calibration").free_mapping();
  name_ = root.at("name").string();
  source_ = root.at("source").string();
  date_ = root.at("date").string();
  entries_ = read_entries(root);
  if (const auto trust = find(entries_, "trust"); trust != entries_.end()) {
    print(*trust, "", trust_);
  }
  std::erase_if(entries_, [](const Entry& entry) {
    return entry.key == "collsim" || entry.key == "name" || entry.key == "source" ||
           entry.key == "date" || entry.key == "trust" || entry.key == "provenance" ||
           entry.key == "fit";
  });
}

std::vector<CalibrationText::Entry> CalibrationText::read_entries(const YamlMapping& mapping) {
  std::vector<Entry> entries;
  for (const auto& [key, value] : mapping.entries()) {
    Entry entry{key.string(), {}};
    if (value.is_mapping()) entry.entries = read_entries(value.free_mapping());
    if (value.is_scalar()) entry.text = value.string();
    if (value.is_sequence()) entry.text = text_of_list(value);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CalibrationText::Entry>::iterator CalibrationText::find(std::vector<Entry>& entries,
                                                                    std::string_view key) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const Entry& entry) { return entry.key == key; });
}

std::vector<CalibrationText::Entry>::iterator CalibrationText::first_mapping(
    std::vector<Entry>& entries) {
  return std::find_if(entries.begin(), entries.end(),
                      [](const Entry& entry) { return !entry.entries.empty(); });
}

/// Values before mappings, as people write them.
void CalibrationText::add(std::vector<Entry>& entries, Entry entry) {
  const auto place = entry.entries.empty() ? first_mapping(entries) : entries.end();
  entries.insert(place, std::move(entry));
}

void CalibrationText::complete(std::vector<Entry>& own, const std::vector<Entry>& base) {
  for (const Entry& entry : base) {
    const auto found = find(own, entry.key);
    if (found == own.end()) {
      add(own, entry);
    } else if (!found->entries.empty() && !is_stated_whole(entry.key)) {
      complete(found->entries, entry.entries);
    }
  }
}

std::optional<std::string> CalibrationText::base() const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [](const Entry& entry) { return entry.key == "extends"; });
  return found == entries_.end() ? std::nullopt : std::optional(found->text);
}

void CalibrationText::take_from(const CalibrationText& base) {
  std::erase_if(entries_, [](const Entry& entry) {
    return entry.key == "extends" || entry.key == "time_scale";
  });
  std::vector<Entry> inherited = base.entries_;
  std::erase_if(inherited, [](const Entry& entry) { return entry.key == "over_tcp"; });
  complete(entries_, inherited);
}

void CalibrationText::take_group(const CalibrationText& other, std::string_view key) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; });
  for (const Entry& entry : other.entries_) {
    if (entry.key == key) add(entries_, entry);
  }
}

bool CalibrationText::states(std::string_view parameter) const {
  const std::vector<Entry>* entries = &entries_;
  for (const std::string& key : way_to(parameter)) {
    const auto found = std::find_if(entries->begin(), entries->end(),
                                    [&](const Entry& entry) { return entry.key == key; });
    if (found == entries->end()) return false;
    entries = &found->entries;
  }
  return true;
}

void CalibrationText::set(std::string_view parameter, const std::string& text) {
  std::vector<Entry>* entries = &entries_;
  Entry* last = nullptr;
  const std::vector<std::string> way = way_to(parameter);
  for (const std::string& key : way) {
    auto found = find(*entries, key);
    if (found == entries->end()) {
      // Values before mappings, as people write them.
      if (&key == &way.back()) found = first_mapping(*entries);
      found = entries->insert(found, Entry{key, {}});
    }
    last = &*found;
    entries = &last->entries;
  }
  last->text = text;
}

void CalibrationText::erase(std::vector<Entry>& entries, std::span<const std::string> way) {
  const auto found = find(entries, way.front());
  if (found == entries.end()) return;
  if (way.size() > 1) erase(found->entries, way.subspan(1));
  if (way.size() == 1 || found->entries.empty()) entries.erase(found);
}

void CalibrationText::erase(std::string_view parameter) {
  erase(entries_, way_to(parameter));
}

void CalibrationText::print(const Entry& entry, const std::string& indent, std::string& out) {
  if (entry.entries.empty()) {
    out += fmt::format("{}{}: {}\n", indent, entry.key, entry.text);
    return;
  }
  const bool flat = std::all_of(entry.entries.begin(), entry.entries.end(),
                                [](const Entry& each) { return each.entries.empty(); });
  constexpr std::size_t max_in_a_line = 5;
  if (flat && entry.entries.size() <= max_in_a_line) {
    std::string values;
    for (const Entry& each : entry.entries) {
      values += fmt::format("{}{}: {}", values.empty() ? "" : ", ", each.key, each.text);
    }
    out += fmt::format("{}{}: {{ {} }}\n", indent, entry.key, values);
    return;
  }
  out += fmt::format("{}{}:\n", indent, entry.key);
  for (const Entry& each : entry.entries) print(each, indent + "  ", out);
}

std::string CalibrationText::constants() const {
  std::string out;
  for (const Entry& entry : entries_) print(entry, "", out);
  return out;
}

}  // namespace collsim
