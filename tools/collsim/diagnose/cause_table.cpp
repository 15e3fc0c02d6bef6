#include "tools/collsim/diagnose/cause_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "sim/base/data_directory.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr double max_of_any = 1e6;

std::optional<std::pair<double, double>> pair_at(const YamlMapping& keys, std::string_view key) {
  const auto value = keys.find(key);
  if (!value) return std::nullopt;
  const std::vector<YamlValue> ends = value->sequence();
  if (ends.size() != 2) value->fail(fmt::format("{} values", ends.size()), "the least and most");
  return std::pair(ends.front().share(max_of_any), ends.back().share(max_of_any));
}

/// `shown` and `named`, which tells a cause from those that look alike, or a factor.
double odds_of(const YamlValue& value) {
  constexpr double named = 10 * weight_if_shown;
  if (value.string() == "shown") return weight_if_shown;
  if (value.string() == "named") return named;
  return value.share(max_of_any);
}

CauseParameter read_values(std::string text, const YamlMapping& keys) {
  CauseParameter parameter{std::move(text), {}};
  for (const YamlValue& each : keys.at("tried").sequence()) {
    parameter.values.push_back(each.share(max_of_any));
  }
  parameter.min = keys.at("least").share(max_of_any);
  parameter.max = keys.at("most").share(max_of_any);
  parameter.usual = pair_at(keys, "usual");
  return parameter;
}

std::optional<CauseParameter> read_parameter(const YamlMapping& row, const YamlMapping& share) {
  if (const auto count = row.find("count")) return CauseParameter{count->string(), {}, false};
  const auto value = row.find("value");
  if (!value) return std::nullopt;
  if (value->is_scalar()) return read_values(value->string(), share);
  const YamlMapping keys = value->mapping({"text", "tried", "usual", "least", "most"});
  return read_values(keys.at("text").string(), keys);
}

CauseSigns read_signs(const YamlMapping& row) {
  CauseSigns signs;
  if (const auto settings = row.find("settings")) {
    for (const YamlValue& each : settings->sequence()) {
      const YamlMapping keys = each.mapping({"variable", "values", "odds"});
      SettingSign sign{keys.at("variable").string(), {}, odds_of(keys.at("odds"))};
      if (const auto values = keys.find("values")) {
        for (const YamlValue& one : values->sequence()) sign.values.push_back(one.string());
      }
      signs.settings.push_back(std::move(sign));
    }
  }
  if (const auto lines = row.find("lines")) {
    const YamlMapping all = lines->free_mapping();
    for (const auto& [line, odds] : all.entries()) {
      signs.lines.push_back({line.string(), odds_of(odds)});
    }
  }
  signs.counts = row.string_or("counts", "");
  signs.names = row.string_or("names", "");
  return signs;
}

CauseWhere read_where(const YamlMapping& row) {
  constexpr std::array<std::string_view, 6> words{"anywhere",  "with rdma", "without rdma",
                                                  "with nics", "on pcie",   "guessed nics"};
  const auto value = row.find("where");
  if (!value) return CauseWhere::anywhere;
  const auto* const found = std::find(words.begin(), words.end(), value->string());
  if (found == words.end()) {
    value->fail("no such place", fmt::format("{}", fmt::join(words, ", ")));
  }
  return static_cast<CauseWhere>(found - words.begin());
}

CauseRow read_row(const YamlValue& value, const YamlMapping& share) {
  const YamlMapping keys = value.mapping(
      {"cause", "text", "check", "remedy", "value", "count", "settings", "lines", "counts", "names",
       "like", "weight", "where", "usual", "usual_of_one_nic", "destroys", "question"});
  CauseRow row;
  row.cause = keys.at("cause").string();
  row.text = keys.at("text").string();
  row.check = keys.at("check").string();
  row.remedy = keys.at("remedy").string();
  const auto destroys = keys.find("destroys");
  row.destroys = destroys && destroys->boolean();
  const auto question = keys.find("question");
  row.is_question = question && question->boolean();
  row.parameter = read_parameter(keys, share);
  row.signs = read_signs(keys);
  row.like = keys.string_or("like", "");
  row.weight = keys.share_or("weight", max_of_any, 1);
  row.where = read_where(keys);
  row.usual = pair_at(keys, "usual");
  if (const auto of_one = pair_at(keys, "usual_of_one_nic")) {
    row.usual = of_one;
    row.usual_of_one_nic = true;
  }
  return row;
}

}  // namespace

std::vector<CauseRow> load_causes() {
  const YamlMapping root =
      load_yaml(shipped_file("causes", "models/data"), "causes").mapping({"share_left", "causes"});
  const YamlMapping share = root.at("share_left").mapping({"tried", "usual", "least", "most"});
  std::vector<CauseRow> rows;
  for (const YamlValue& each : root.at("causes").sequence()) rows.push_back(read_row(each, share));
  return rows;
}

const CauseRow& cause_row(const std::vector<CauseRow>& rows, std::string_view cause) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const CauseRow& row) {
    return row.like.empty() && row.cause == cause;
  });
  if (found == rows.end()) throw std::logic_error(fmt::format("no row of causes is {}", cause));
  return *found;
}

}  // namespace collsim
