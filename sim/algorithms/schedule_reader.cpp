#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/algorithms/written_schedule.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/lines.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr std::string_view arrow = "->";
constexpr int max_nesting = 20;

/// Reads the rules of a schedule file. A name is known from where it is given to the end of the
/// part that gives it.
class ScheduleReader {
 public:
  explicit ScheduleReader(const YamlValue& root) : root_(root) {}

  WrittenSchedule read(const std::string& file) && {
    const YamlMapping mapping = root_.mapping({"collective", "ranks", "chunks", "steps", "name"});
    WrittenSchedule schedule;
    schedule.file = file;
    if (const auto collective = mapping.find("collective")) {
      schedule.collective = read_collective(*collective);
    }
    ScheduleRules rules;
    if (const auto ranks = mapping.find("ranks")) rules.limits = read_limits(*ranks);
    if (const auto chunks = mapping.find("chunks")) rules.chunks = expression(*chunks);
    for (const YamlValue& item : mapping.at("steps").sequence()) {
      rules.steps.push_back(read_rule(item, true, 0));
    }
    rules.names = max_names_;
    schedule.content = std::move(rules);
    return schedule;
  }

 private:
  static Collective read_collective(const YamlValue& value) {
    const auto found = find_collective(value.string());
    if (found) return *found;
    std::vector<std::string> names;
    for (const Collective each : all_collectives()) names.emplace_back(to_string(each));
    value.fail(fmt::format("there is no collective '{}'", value.string()),
               names_instead_of(value.string(), names));
  }

  static RankLimits read_limits(const YamlValue& value) {
    const std::string text = value.string();
    constexpr std::int64_t largest = 1 << 20;
    if (text == "any") return {};
    if (text == "powers of two") return {1, static_cast<Rank>(largest), true};
    const std::size_t dots = text.find("..");
    try {
      const std::vector<std::string> no_names;
      const auto number = [&](std::string_view part) {
        const std::int64_t ranks = Expression(part, no_names).value({});
        if (ranks < 1 || ranks > largest) throw ExpressionError("a number of ranks", "");
        return static_cast<Rank>(ranks);
      };
      const Rank first = number(text.substr(0, dots));
      const Rank last =
          dots == std::string::npos ? first : number(text.substr(dots + arrow.size()));
      if (first <= last) return {first, last, false};
    } catch (const ExpressionError&) {  // told below
    }
    value.fail(fmt::format("ranks '{}'", text), "any, powers of two, a number, or 2..64");
  }

  PlacedExpression expression(const YamlValue& value) const {
    return expression(value, value.string());
  }
  PlacedExpression expression(const YamlValue& value, std::string_view text) const {
    try {
      return {Expression(trimmed(text), names_), value.position()};
    } catch (const ExpressionError& error) {
      value.fail(error.what(), error.accepted());
    }
  }

  std::size_t add_name(const YamlValue& value, std::string_view text) {
    const std::string name(trimmed(text));
    const bool is_word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }) && (name.front() < '0' || name.front() > '9');
    if (!is_word) value.fail(fmt::format("the name '{}'", name), "letters, digits and _");
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
      value.fail(fmt::format("the name '{}' has a value here already", name), "another name");
    }
    names_.push_back(name);
    max_names_ = std::max(max_names_, names_.size());
    return names_.size() - 1;
  }

  /// "r in 0..N-1", "k in log2(N)-1..0 by -1".
  LoopRule read_loop(const YamlValue& value) {
    const std::string text = value.string();
    const std::size_t in = text.find(" in ");
    const std::size_t dots = text.find("..");
    if (in == std::string::npos || dots == std::string::npos || dots < in) {
      value.fail(fmt::format("the loop '{}'", text), "such as: r in 0..N-1, or k in 8..1 by -1");
    }
    const std::size_t by = text.find(" by ", dots);
    constexpr std::size_t in_length = 4;
    constexpr std::size_t dots_length = 2;
    const std::string_view all = text;
    const std::size_t last = dots + dots_length;
    LoopRule loop{0, expression(value, all.substr(in + in_length, dots - in - in_length)),
                  expression(value, all.substr(last, by == std::string::npos ? by : by - last)),
                  std::nullopt};
    if (by != std::string::npos) loop.by = expression(value, all.substr(by + in_length));
    loop.name = add_name(value, all.substr(0, in));
    return loop;
  }

  ScheduleRule read_rule(const YamlValue& value, bool among_steps, int depth) {
    if (depth > max_nesting) {
      value.fail(fmt::format("nested deeper than {}", max_nesting), "fewer loops in loops");
    }
    if (!among_steps && has_arrow(value)) return read_transfers(value);
    const YamlMapping mapping =
        among_steps ? value.mapping({"phase", "for", "let", "if", "lane", "do", "steps"})
                    : value.mapping({"for", "let", "if", "lane", "do"});
    const std::size_t known = names_.size();
    ScheduleRule rule;
    rule.place = value.position();
    if (among_steps) {
      if (const auto phase = mapping.find("phase")) rule.phase = phase->string();
    }
    if (const auto loop = mapping.find("for")) rule.loop = read_loop(*loop);
    if (const auto lets = mapping.find("let")) read_lets(*lets, rule);
    if (const auto condition = mapping.find("if")) rule.condition = expression(*condition);
    if (const auto lane = mapping.find("lane")) rule.lane = expression(*lane);
    const auto steps = among_steps ? mapping.find("steps") : std::nullopt;
    if (steps && mapping.find("do")) value.fail("do and steps in one part", "one of them");
    rule.is_step = among_steps && !steps;
    for (const YamlValue& part : (steps ? *steps : mapping.at("do")).sequence()) {
      rule.parts.push_back(read_rule(part, static_cast<bool>(steps), depth + 1));
    }
    names_.resize(known);
    return rule;
  }

  void read_lets(const YamlValue& value, ScheduleRule& rule) {
    const YamlMapping mapping = value.free_mapping();
    for (const auto& [key, written] : mapping.entries()) {
      PlacedExpression meant = expression(written);
      rule.lets.emplace_back(add_name(key, key.string()), std::move(meant));
    }
  }

  static bool has_arrow(const YamlValue& value) {
    if (!value.is_mapping()) value.fail("a transfer", "such as: 0 -> 1: chunk 2, reduce");
    const YamlMapping mapping = value.free_mapping();
    const auto& entries = mapping.entries();
    return !entries.empty() && entries.front().first.string().find(arrow) != std::string::npos;
  }

  ScheduleRule read_transfers(const YamlValue& value) const {
    ScheduleRule rule;
    rule.place = value.position();
    const YamlMapping mapping = value.free_mapping();
    for (const auto& [key, meant] : mapping.entries()) {
      rule.transfers.push_back(read_transfer(key, meant));
    }
    return rule;
  }

  /// "0 -> 1": "chunk 2, reduce", "chunks 0..3, copy".
  TransferRule read_transfer(const YamlValue& key, const YamlValue& value) const {
    const std::string ends = key.string();
    const std::size_t at = ends.find(arrow);
    if (at == std::string::npos) {
      key.fail(fmt::format("'{}' among transfers", ends), "FROM -> TO, such as r -> (r + 1) % N");
    }
    const std::string what = value.string();
    const std::size_t comma = what.rfind(',');
    const std::string_view kind = comma == std::string::npos
                                      ? std::string_view{}
                                      : trimmed(std::string_view(what).substr(comma + 1));
    constexpr std::string_view accepted = "chunk C or chunks FIRST..LAST, then reduce or copy";
    if (kind != "reduce" && kind != "copy")
      value.fail(fmt::format("'{}'", what), std::string(accepted));
    std::string_view chunks = trimmed(std::string_view(what).substr(0, comma));
    constexpr std::string_view one = "chunk ";
    constexpr std::string_view several = "chunks ";
    const bool many = chunks.starts_with(several);
    if (!many && !chunks.starts_with(one))
      value.fail(fmt::format("'{}'", what), std::string(accepted));
    chunks.remove_prefix(many ? several.size() : one.size());
    const std::size_t dots = chunks.find("..");
    if (many != (dots != std::string_view::npos)) {
      value.fail(fmt::format("'{}'", what), std::string(accepted));
    }
    TransferRule rule{expression(key, std::string_view(ends).substr(0, at)),
                      expression(key, std::string_view(ends).substr(at + arrow.size())),
                      expression(value, chunks.substr(0, dots)), std::nullopt, kind == "reduce"};
    if (many) rule.last_chunk = expression(value, chunks.substr(dots + 2));
    return rule;
  }

  YamlValue root_;
  std::vector<std::string> names_{"N", "P", "root"};
  std::size_t max_names_ = 3;
};

}  // namespace

WrittenSchedule read_schedule_yaml(const TextFile& text) {
  return ScheduleReader(read_yaml(text, "schedule")).read(text.name);
}

}  // namespace collsim
