// What nccl-tests writes with -J (2.17.3 and later). Numbers may stand in quotes.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "models/recordings/listed_ranks.h"
#include "models/recordings/named_rows.h"
#include "models/recordings/readers.h"
#include "models/recordings/time_unit.h"
#include "sim/base/bounded_json.h"
#include "sim/base/clean_text.h"
#include "sim/base/json_text.h"

namespace collsim {

namespace {

using nlohmann::json;

/// Where the text is no JSON any more, if that is where a second object begins: profilers and
/// NCCL's inspector write objects one after the other.
bool begins_second_object(std::string_view text, std::size_t place) {
  return place < text.size() && text[place] == '{' && json::accept(text.substr(0, place));
}

json parse(const TextFile& text) {
  const auto refuse = [&](const std::string& wrong) {
    throw InputError(SourcePosition{text.name, 0, 0}, wrong, "what nccl-tests writes with -J");
  };
  try {
    return parse_bounded<json>(text.content, {}, refuse);
  } catch (const json::parse_error& error) {
    const std::size_t place = std::max<std::size_t>(error.byte, 1) - 1;
    const SourcePosition position = position_at(text.name, text.content, place);
    if (begins_second_object(text.content, place)) {
      throw InputError(position,
                       "a second object: this is JSON Lines, as profilers and NCCL's inspector "
                       "write",
                       "one object a file, which nccl-tests writes with -J FILE");
    }
    throw InputError(position, "not JSON", "what nccl-tests writes with -J");
  }
}

class JsonReader {
 public:
  explicit JsonReader(const TextFile& text) : file_(text.name), root_(parse(text)) {
    read_run();
    const json& results = at(root_, "results", "");
    if (!results.is_array()) fail("results", "not a list", "a list of results");
    for (std::size_t i = 0; i < results.size(); ++i) {
      read_result(results[i], fmt::format("results[{}]", i));
    }
    name_rows();
    read_footer();
  }

  Recording take() { return std::move(recording_); }

 private:
  [[noreturn]] void fail(const std::string& place, const std::string& wrong,
                         const std::string& accepted) const {
    throw InputError(SourcePosition{file_, 0, 0}, fmt::format("{}: {}", place, wrong), accepted);
  }

  const json& at(const json& object, const char* key, const std::string& place) const {
    if (!object.is_object() || !object.contains(key)) {
      fail(place.empty() ? "file" : place, fmt::format("no '{}'", key),
           "what nccl-tests writes with -J");
    }
    return object[key];
  }

  /// A string as it is, a number as written.
  static std::string text_of(const json& value) {
    return value.is_string() ? clean_text(value.get<std::string>()) : json_text(value);
  }

  double number(const json& value, const std::string& place) const {
    const auto read = decimal_number(text_of(value));
    if (!read)
      fail(place, fmt::format("{} is not a number", json_text(value)), "a number of 0 or more");
    return *read;
  }

  std::int64_t whole(const json& value, const std::string& place) const {
    const auto read = whole_number(text_of(value));
    if (!read) fail(place, fmt::format("{} is no whole number", json_text(value)), "0 or more");
    return *read;
  }

  /// A number of iterations.
  static std::uint32_t clamped(std::int64_t iterations) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(iterations, 1'000'000'000));
  }

  void read_run() {
    if (root_.contains("args")) benchmark_ = benchmark_name(json_text(root_["args"]));
    if (root_.contains("nccl_version")) read_version(text_of(root_["nccl_version"]));
    if (root_.contains("env")) read_environment(root_["env"]);
    const json& config = at(root_, "config", "");
    if (config.contains("iterations")) {
      common_.iterations = clamped(whole(config["iterations"], "config.iterations"));
    }
    if (config.contains("graph") && whole(config["graph"], "config.graph") > 0) {
      common_.mode = CallMode::graph;
    }
    if (config.contains("devices")) read_devices(config["devices"]);
  }

  // "2.28.9+cuda13.0", or 22809.
  void read_version(const std::string& version) {
    const auto code = whole_number(version);
    recording_.machine["nccl"] =
        code ? fmt::format("{}.{}.{}", *code / 10000, *code / 100 % 100, *code % 100)
             : version.substr(0, version.find('+'));
  }

  // An object, or a list of "NAME=VALUE".
  void read_environment(const json& environment) {
    for (const auto& [key, value] : environment.items()) {
      const std::string text = text_of(value);
      const auto equals = text.find('=');
      const bool listed = environment.is_array();
      if (listed && equals == std::string::npos) continue;
      const std::string name = listed ? text.substr(0, equals) : key;
      if (!name.starts_with("NCCL_") || !changes_what_nccl_does(name)) continue;
      common_.variables[name] = listed ? text.substr(equals + 1) : text;
    }
  }

  void read_devices(const json& devices) {
    ListedRanks listed;
    std::int64_t number = 0;
    for (const json& device : devices) {
      const auto group = device.find("group");
      const bool is_split = group != device.end() && group->is_number_integer();
      listed.add(number++, is_split ? group->get<std::int64_t>() : 0,
                 text_of(at(device, "hostname", "config.devices")));
      if (device.contains("device_info")) {
        recording_.machine["gpu"] = text_of(device["device_info"]);
      }
    }
    recording_.hosts = listed.hosts();
    common_.ranks = listed.ranks();
    common_.nodes = listed.nodes();
    if (listed.groups() > 1) {
      recording_.notes.push_back(several_groups(listed.groups(), listed.ranks()));
    }
  }

  void read_result(const json& result, const std::string& place) {
    RecordedRow row = common_;
    row.size.count = whole(at(result, "size", place), place + ".size");
    row.type = text_of(at(result, "type", place));
    row.redop = result.contains("redop") ? text_of(result["redop"]) : "none";
    if (result.contains("root")) {
      const auto root = whole_number(text_of(result["root"]));
      signs_.rooted = root.has_value();
      row.root = rank_of(root.value_or(0));
    }
    if (result.contains("actual_iterations")) {
      const auto made = whole(result["actual_iterations"], place + ".actual_iterations");
      if (made > 0) row.iterations = clamped(made);
    }
    for (const char* key : {"out_of_place", "in_place"}) {
      if (!result.contains(key) || !result[key].is_object()) continue;
      row.in_place = key == std::string_view("in_place");
      read_place(result[key], place + "." + key, row);
    }
  }

  void read_place(const json& figures, const std::string& place, RecordedRow row) {
    if (figures.contains("cpu_time")) {
      fail(place, "the CPU's times (-C 1)", "nccl-tests' wall times, without -C");
    }
    const json& time = at(figures, "time", place);
    set_time(row, text_of(time), number(time, place + ".time"));
    if (figures.contains("nwrong")) {
      row.wrong = whole_number(text_of(figures["nwrong"])).value_or(0) != 0;
    }
    check_unit(figures, place, row);
    if (figures.contains("alg_bw") && figures.contains("bus_bw")) {
      narrow(signs_.factor, text_of(figures["alg_bw"]), text_of(figures["bus_bw"]));
    }
    recording_.rows.push_back(std::move(row));
  }

  /// -J has always written microseconds.
  void check_unit(const json& figures, const std::string& place, const RecordedRow& row) const {
    if (!figures.contains("alg_bw")) return;
    const std::string time = text_of(figures["time"]);
    const std::string algbw = text_of(figures["alg_bw"]);
    const PrintedTime printed{row.size, row.ranks, time, algbw};
    if (units_that_fit(printed).microseconds) return;
    fail(place + ".time", describe_misfit(printed), "microseconds whose size / time is alg_bw");
  }

  void name_rows() {
    if (recording_.rows.empty()) {
      fail("results", "no measured times", "what nccl-tests writes with -J");
    }
    signs_.reduces = recording_.rows.back().redop != "none";
    for (RecordedRow& row : recording_.rows) {
      row.collective_name = benchmark_;
      row.collective = find_recorded_collective(benchmark_);
      row.signs = signs_;
    }
    for (std::string& note : name_table(recording_.rows, {})) {
      recording_.notes.push_back(std::move(note));
    }
    if (benchmark_ == uneven_exchange) recording_.notes.emplace_back(note_of_uneven_exchange);
    recording_.names_hosts = common_.ranks > 0;
    for (RecordedRow& row : recording_.rows) {
      row.id = row.collective_name.empty() ? "table" : row.collective_name;
    }
  }

  // { "count": 2, "okay": false }
  void read_footer() {
    if (!root_.contains("out_of_bounds") || !root_["out_of_bounds"].is_object()) return;
    const json& footer = root_["out_of_bounds"];
    const bool failed = footer.contains("okay") && footer["okay"] == false;
    std::vector<RecordedRow>& rows = recording_.rows;
    const bool is_said =
        std::any_of(rows.begin(), rows.end(), [](const RecordedRow& row) { return row.wrong; });
    if (!failed || is_said) return;
    for (RecordedRow& row : rows) row.wrong = true;  // which of them, nobody knows
  }

  std::string file_;
  json root_;
  Recording recording_;
  RecordedRow common_;
  std::string benchmark_;
  TableSigns signs_;
};

Recording read_nccl_tests_json(const TextFile& text, std::size_t*) {
  try {
    return JsonReader(text).take();
  } catch (const json::exception& error) {
    throw InputError(SourcePosition{text.name, 0, 0}, error.what(),
                     "what nccl-tests writes with -J");
  }
}

const RecordingFormat nccl_tests_json_format(
    "the JSON of nccl-tests (-J)",
    [](std::string_view text) {
      if (!begins_with_object(text)) return FormatSign::no;
      const bool has_results = text.find("\"out_of_place\"") != std::string_view::npos;
      return has_results ? FormatSign::form : FormatSign::any;
    },
    read_nccl_tests_json);

}  // namespace

}  // namespace collsim
