#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/bounded_json.h"
#include "tools/collsim/hang/dump_formats.h"

namespace collsim {

namespace {

/// A dump nests six levels.
constexpr std::size_t deepest_level = 64;

/// A text, and how much of it has been read.
struct DumpText {
  std::string_view content;
  std::size_t place = 0;

  char letter() const { return content[place]; }
  void advance() { ++place; }
  bool is_at_end() const { return place == content.size(); }
};

/// Makes values of what nlohmann's reader finds.
class ValueMaker : public nlohmann::json_sax<nlohmann::json> {
 public:
  ValueMaker(DumpValues& values, const DumpText& text) : values_(values), text_(text) {}

  bool null() override { return put(values_.add(DumpKind::none, offset())); }
  bool boolean(bool truth) override { return put(values_.add_boolean(truth, offset())); }
  bool number_integer(std::int64_t number) override {
    return put(values_.add_integer(number, offset()));
  }
  bool number_unsigned(std::uint64_t number) override {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      values_.fail_at(offset(), fmt::format("{} is too large", number), "a number below 2^63");
    }
    return number_integer(static_cast<std::int64_t>(number));
  }
  bool number_float(double number, const std::string&) override {
    return put(values_.add_real(number, offset()));
  }
  bool string(std::string& text) override { return put(values_.add_own_text(text, offset())); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(DumpKind::dictionary); }
  bool key(std::string& text) override { return string(text); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(DumpKind::list); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception&) override {
    values_.fail_at(byte == 0 ? 0 : byte - 1, "not JSON",
                    "a Flight Recorder dump: a pickle, or the same as JSON");
  }

 private:
  /// Where the value begins that is read: behind the last one and what stands between.
  std::size_t offset() {
    const std::size_t before = std::exchange(last_, text_.place);
    const auto begin = text_.content.find_first_not_of(" \t\r\n,:", before);
    return begin == std::string_view::npos ? before : begin;
  }

  bool put(DumpValues::Index value) {
    if (open_.empty()) {
      values_.set_root(value);
    } else {
      values_.append(open_.back(), value);
    }
    return true;
  }

  bool open(DumpKind kind) {
    const std::size_t begin = offset();
    if (open_.size() == deepest_level) {
      values_.fail_at(begin, fmt::format("nested deeper than {} levels", deepest_level),
                      "a Flight Recorder dump, which nests six");
    }
    const DumpValues::Index container = values_.add(kind, begin);
    put(container);
    open_.push_back(container);
    return true;
  }

  bool close() {
    offset();
    open_.pop_back();
    return true;
  }

  DumpValues& values_;
  const DumpText& text_;
  std::size_t last_ = 0;
  std::vector<DumpValues::Index> open_;
};

DumpValues read_dump_json(const std::string& file, std::string_view content) {
  DumpValues values(file, content, false);
  DumpText text{content};
  ValueMaker maker(values, text);
  read_json_values(text, maker);
  return values;
}

const DumpFormat dump_json_format(
    "a dump of PyTorch's Flight Recorder",
    [](std::string_view text) {
      const auto begin = text.find_first_not_of(" \t\n");
      if (begin == std::string_view::npos || text[begin] != '{') return FormatSign::no;
      const bool has_groups = text.find("\"pg_config\"") != std::string_view::npos;
      return has_groups ? FormatSign::form : FormatSign::any;
    },
    read_dump_json);

}  // namespace

}  // namespace collsim
