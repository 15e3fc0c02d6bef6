#include "sim/yaml/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <unordered_set>

#include "sim/base/clean_text.h"
#include "sim/base/number.h"
#include "sim/base/words.h"
#include "sim/yaml/yaml_document.h"
#include "sim/yaml/yaml_text_check.h"

namespace collsim {

namespace {

std::string_view described(YamlKind kind) {
  return word_for(kind, {{YamlKind::nothing, "nothing"},
                         {YamlKind::scalar, "a single value"},
                         {YamlKind::sequence, "a list"},
                         {YamlKind::mapping, "a mapping"}});
}

/// Builds a YamlDocument from the parser's events.
class DocumentReader final : public YAML::EventHandler {
 public:
  /// Lines of what is parsed may stand above the text that a person wrote.
  DocumentReader(YamlDocument& document, int lines_above)
      : document_(document), lines_above_(lines_above) {}

  SourcePosition position(const YAML::Mark& mark) const {
    return {document_.file, mark.line + 1 - lines_above_, mark.column + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      fail(mark, "a second YAML document begins here", "a file holds one document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    add(YamlKind::nothing, mark);
    if (open_.empty()) return;
    // The parser marks what follows; the key that has no value is where a person looks.
    const YamlNode& parent = document_.nodes[open_.back()];
    const bool is_value = parent.kind == YamlKind::mapping && parent.children.size() % 2 == 0;
    if (!is_value) return;
    const YamlNode& key = document_.nodes[parent.children[parent.children.size() - 2]];
    document_.nodes.back().line = key.line;
    document_.nodes.back().column = key.column;
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "YAML's aliases (*) are not supported", "write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    add(YamlKind::scalar, mark);
    document_.nodes.back().text = value;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(YamlKind::sequence, mark);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(YamlKind::mapping, mark);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& wrong,
                         const std::string& accepted) const {
    throw InputError(position(mark), wrong, accepted);
  }

  void add(YamlKind kind, const YAML::Mark& mark) {
    const auto id = static_cast<std::uint32_t>(document_.nodes.size());
    if (!open_.empty()) document_.nodes[open_.back()].children.push_back(id);
    const SourcePosition place = position(mark);
    document_.nodes.push_back({kind, place.line, place.column});
  }

  void open(YamlKind kind, const YAML::Mark& mark) {
    if (open_.size() >= yaml_depth_limit) {
      fail(mark, fmt::format("nested deeper than {} levels", yaml_depth_limit),
           "files are a few levels deep");
    }
    add(kind, mark);
    open_.push_back(static_cast<std::uint32_t>(document_.nodes.size() - 1));
  }

  YamlDocument& document_;
  int lines_above_;
  std::vector<std::uint32_t> open_;
  int documents_ = 0;
};

void parse(const std::string& text, YamlDocument& document, int lines_above = 0) {
  DocumentReader reader(document, lines_above);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& error) {
    const SourcePosition position =
        error.mark.is_null() ? SourcePosition{document.file} : reader.position(error.mark);
    throw InputError(position, fmt::format("not YAML ({})", error.msg),
                     "a mapping of keys to values");
  }
}

std::string joined(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

YamlValue::YamlValue(std::shared_ptr<const YamlDocument> document, std::uint32_t node)
    : document_(std::move(document)), node_(node) {}

SourcePosition YamlValue::position() const {
  const YamlNode& node = document_->nodes[node_];
  return {node.file ? *node.file : document_->file, node.line, node.column};
}

bool YamlValue::is_scalar() const {
  return document_->nodes[node_].kind == YamlKind::scalar;
}
bool YamlValue::is_sequence() const {
  return document_->nodes[node_].kind == YamlKind::sequence;
}
bool YamlValue::is_mapping() const {
  return document_->nodes[node_].kind == YamlKind::mapping;
}

void YamlValue::fail(const std::string& wrong, const std::string& accepted) const {
  throw InputError(position(), wrong, accepted);
}

std::string YamlValue::string() const {
  const YamlNode& node = document_->nodes[node_];
  if (node.kind != YamlKind::scalar) {
    fail(fmt::format("{} where a single value belongs", described(node.kind)), "write one value");
  }
  // Escapes such as "\0" can still make them.
  const bool layout = node.text.find_first_of("\n\t") != std::string::npos;
  if (layout || clean_text(node.text) != node.text)
    fail("this value has a control character", "plain text");
  return node.text;
}

std::int64_t YamlValue::integer(std::int64_t least, std::int64_t most) const {
  const std::string text = string();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string accepted = fmt::format("a whole number from {} to {}", least, most);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    fail(fmt::format("'{}' is not a whole number", text), accepted);
  }
  if (error != std::errc{} || number < least || number > most) {
    fail(fmt::format("{} is out of range", text), accepted);
  }
  return number;
}

bool YamlValue::boolean() const {
  const std::string text = string();
  if (text == "true") return true;
  if (text == "false") return false;
  fail(fmt::format("'{}' is neither true nor false", text), "write true or false");
}

Bytes YamlValue::bytes() const {
  try {
    return parse_bytes(string());
  } catch (const QuantityError& error) {
    fail(error.wrong(), error.accepted());
  }
}

BytesPerSecond YamlValue::rate() const {
  try {
    const std::string text = string();
    const BytesPerSecond rate = parse_rate(text);
    if (rate.value <= 0) fail(fmt::format("'{}' is zero", text), "a rate above zero");
    return rate;
  } catch (const QuantityError& error) {
    fail(error.wrong(), error.accepted());
  }
}

Seconds YamlValue::time() const {
  try {
    return parse_time(string());
  } catch (const QuantityError& error) {
    fail(error.wrong(), error.accepted());
  }
}

double YamlValue::fraction(double most) const {
  const std::string accepted = fmt::format("a share above 0 up to {}, like 0.1 or 10%", most);
  const double number = number_or_percent(accepted);
  if (number <= 0 || number > most) fail(fmt::format("{} is out of range", string()), accepted);
  return number;
}

double YamlValue::share(double most) const {
  const std::string accepted = fmt::format("a share from 0 to {}, like 0.1 or 10%", most);
  const double number = number_or_percent(accepted);
  if (number < 0 || number > most) fail(fmt::format("{} is out of range", string()), accepted);
  return number;
}

double YamlValue::number_or_percent(const std::string& accepted) const {
  const std::string text = string();
  std::string_view rest = text;
  const double number = take_number<double>(rest).value_or(std::nan(""));
  const bool percent = rest == "%";
  if (!std::isfinite(number) || (!rest.empty() && !percent)) {
    fail(fmt::format("'{}' is not a share", text), accepted);
  }
  return percent ? number / 100 : number;
}

std::vector<YamlValue> YamlValue::sequence() const {
  const YamlNode& node = document_->nodes[node_];
  if (node.kind != YamlKind::sequence) {
    fail(fmt::format("{} where a list belongs", described(node.kind)),
         "write [ ... ] or lines that begin with '- '");
  }
  std::vector<YamlValue> values;
  values.reserve(node.children.size());
  for (const std::uint32_t child : node.children) values.emplace_back(document_, child);
  return values;
}

void YamlValue::collect_entries(YamlMapping& mapping) const {
  const YamlNode& node = document_->nodes[node_];
  if (node.kind != YamlKind::mapping) {
    fail(fmt::format("{} where a mapping belongs", described(node.kind)),
         "write { key: value, ... } or lines of 'key: value'");
  }
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < node.children.size(); i += 2) {
    const YamlValue key(document_, node.children[i]);
    if (!seen.insert(key.string()).second) {
      key.fail(fmt::format("duplicate key '{}'", key.string()), "a mapping has each key once");
    }
    mapping.entries_.emplace_back(key, YamlValue(document_, node.children[i + 1]));
  }
}

YamlMapping YamlValue::mapping(std::initializer_list<std::string_view> allowed_keys) const {
  return mapping(std::span(allowed_keys.begin(), allowed_keys.size()));
}

YamlMapping YamlValue::mapping(std::span<const std::string_view> allowed_keys) const {
  YamlMapping mapping = free_mapping();
  for (const auto& [key, value] : mapping.entries_) {
    const std::string name = key.string();
    const bool header = node_ == 0 && name == "collsim";
    if (!header &&
        std::find(allowed_keys.begin(), allowed_keys.end(), name) == allowed_keys.end()) {
      key.fail(fmt::format("unknown key '{}'", name),
               fmt::format("keys here are {}", joined(allowed_keys)));
    }
  }
  return mapping;
}

YamlMapping YamlValue::free_mapping() const {
  YamlMapping mapping(*this);
  collect_entries(mapping);
  return mapping;
}

std::optional<YamlValue> YamlMapping::find(std::string_view key) const {
  for (const auto& [name, value] : entries_) {
    if (name.string() == key) return value;
  }
  return std::nullopt;
}

YamlValue YamlMapping::at(std::string_view key) const {
  if (const auto value = find(key)) return *value;
  self_.fail(fmt::format("key '{}' is missing", key), fmt::format("add '{}: ...'", key));
}

std::string YamlMapping::string_or(std::string_view key, std::string_view otherwise) const {
  const auto value = find(key);
  return value ? value->string() : std::string(otherwise);
}

std::int64_t YamlMapping::integer_or(std::string_view key, std::int64_t least, std::int64_t most,
                                     std::int64_t otherwise) const {
  const auto value = find(key);
  return value ? value->integer(least, most) : otherwise;
}

Seconds YamlMapping::time_or(std::string_view key, Seconds otherwise) const {
  const auto value = find(key);
  return value ? value->time() : otherwise;
}

double YamlMapping::fraction_or(std::string_view key, double otherwise) const {
  const auto value = find(key);
  return value ? value->fraction() : otherwise;
}

double YamlMapping::share_or(std::string_view key, double most, double otherwise) const {
  const auto value = find(key);
  return value ? value->share(most) : otherwise;
}

YamlValue load_yaml(const std::filesystem::path& path, std::string_view kind) {
  return read_yaml(read_text_file(path, "a YAML file"), kind);
}

YamlValue read_yaml(const TextFile& text, std::string_view kind) {
  const auto document = std::make_shared<YamlDocument>();
  document->file = text.name;
  check_yaml_text(text.name, text.content);
  parse(text.content, *document);
  const std::string header = fmt::format("collsim: {}/1", kind);
  if (document->nodes.empty() || document->nodes.front().kind == YamlKind::nothing) {
    throw InputError({document->file, 1, 1}, "the file is empty",
                     fmt::format("a file that begins with '{}'", header));
  }
  YamlValue root(document, 0);
  const auto version = root.free_mapping().find("collsim");
  if (!version) {
    root.fail("key 'collsim' is missing", fmt::format("begin the file with '{}'", header));
  }
  if (version->string() != header.substr(9)) {
    version->fail(fmt::format("this is a file of kind '{}'", version->string()),
                  fmt::format("a file that begins with '{}'", header));
  }
  return root;
}

YamlValue read_json(const TextFile& text) {
  const auto document = std::make_shared<YamlDocument>();
  document->file = text.name;
  std::string content = text.content;
  std::replace(content.begin(), content.end(), '\t', ' ');  // JSON may be indented with tabs
  check_yaml_text(text.name, content);
  parse(content, *document);
  if (document->nodes.empty()) {
    throw InputError({document->file, 1, 1}, "the file is empty", "a JSON object");
  }
  return {document, 0};
}

YamlValue read_yaml_option(std::string_view option, std::string_view text) {
  const auto document = std::make_shared<YamlDocument>();
  document->file = option;
  const auto first = text.find_first_not_of(" \n");
  const bool braces = first != std::string_view::npos && text[first] == '{';
  check_yaml_text(document->file, text, !braces);
  // On a line of its own, so that columns stay those of the option.
  if (braces) {
    parse(std::string(text), *document);
  } else {
    parse(fmt::format("{{\n{}\n}}", text), *document, 1);
  }
  document->nodes.front().line = 1;  // the brace that we added has no line there
  return {document, 0};
}

}  // namespace collsim
