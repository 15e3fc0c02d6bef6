#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "tools/collsim/hang/dump_formats.h"

namespace collsim {

namespace {

/// A dump nests six levels.
constexpr std::size_t deepest_level = 64;

/// Reads a text letter by letter and says how far it has come.
class FollowedLetter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  FollowedLetter(const char* place, const char** furthest) : place_(place), furthest_(furthest) {}
  reference operator*() const { return *place_; }
  FollowedLetter& operator++() {
    ++place_;
    *furthest_ = place_;
    return *this;
  }
  FollowedLetter operator++(int) {
    const FollowedLetter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const FollowedLetter& other) const { return place_ == other.place_; }
  bool operator!=(const FollowedLetter& other) const { return place_ != other.place_; }

 private:
  const char* place_;
  const char** furthest_;
};

/// Makes values of what nlohmann's reader finds.
class ValueMaker : public nlohmann::json_sax<nlohmann::json> {
 public:
  ValueMaker(DumpValues& values, std::string_view content)
      : values_(values), content_(content), furthest_(content.data()) {}

  const char** furthest() { return &furthest_; }

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
    const auto before = static_cast<std::size_t>(last_ - content_.data());
    last_ = furthest_;
    const auto begin = content_.find_first_not_of(" \t\r\n,:", before);
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
  std::string_view content_;
  const char* furthest_;
  const char* last_ = content_.data();
  std::vector<DumpValues::Index> open_;
};

}  // namespace

DumpValues read_dump_json(const std::string& file, std::string_view content) {
  DumpValues values(file, content, false);
  ValueMaker maker(values, content);
  const FollowedLetter begin(content.data(), maker.furthest());
  const FollowedLetter end(content.data() + content.size(), maker.furthest());
  nlohmann::json::sax_parse(begin, end, &maker);
  return values;
}

}  // namespace collsim
