#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace collsim {

/// Walks through a text letter by letter, for nlohmann's reader; one without a text is its end. The
/// text says how far it has come: it has letter(), advance() and is_at_end().
template <typename Text>
class JsonLetter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit JsonLetter(Text* text) : text_(text) {}
  char operator*() const { return text_->letter(); }
  JsonLetter& operator++() {
    text_->advance();
    return *this;
  }
  bool operator==(const JsonLetter& other) const { return is_at_end() == other.is_at_end(); }
  bool operator!=(const JsonLetter& other) const { return !(*this == other); }

 private:
  bool is_at_end() const { return text_ == nullptr || text_->is_at_end(); }

  Text* text_;
};

/// Reads such a text and shows each value to a handler of nlohmann's.
template <typename Text, typename Handler>
void read_json_values(Text& text, Handler& handler) {
  nlohmann::json::sax_parse(JsonLetter<Text>(&text), JsonLetter<Text>(nullptr), &handler);
}

/// How much of JSON is taken. What is much deeper would be freed and printed by recursion.
struct JsonLimits {
  std::size_t depth = 64;
  std::size_t values = 8'000'000;  ///< some 60 bytes each
};

/// Builds values as nlohmann's reader does, and counts them. A callback of its parse() could count
/// as well, but each of its calls goes through all that came before in the same list.
template <typename Json, typename Refuse>
class BoundedJson : public nlohmann::detail::json_sax_dom_parser<Json> {
  using Values = nlohmann::detail::json_sax_dom_parser<Json>;

 public:
  BoundedJson(Json& into, const JsonLimits& limits, const Refuse& refuse)
      : Values(into), limits_(limits), refuse_(refuse) {}

  bool null() { return count() && Values::null(); }
  bool boolean(bool value) { return count() && Values::boolean(value); }
  bool number_integer(std::int64_t number) { return count() && Values::number_integer(number); }
  bool number_unsigned(std::uint64_t number) { return count() && Values::number_unsigned(number); }
  bool number_float(double number, const std::string& text) {
    return count() && Values::number_float(number, text);
  }
  bool string(std::string& text) { return count() && Values::string(text); }
  bool start_object(std::size_t size) { return enter() && Values::start_object(size); }
  bool start_array(std::size_t size) { return enter() && Values::start_array(size); }
  bool end_object() { return leave() && Values::end_object(); }
  bool end_array() { return leave() && Values::end_array(); }

 private:
  bool count() {
    if (++values_ > limits_.values) refuse_(fmt::format("more than {} values", limits_.values));
    return true;
  }
  bool enter() {
    if (++depth_ > limits_.depth) {
      refuse_(fmt::format("JSON nested deeper than {} levels", limits_.depth));
    }
    return count();
  }
  bool leave() {
    --depth_;
    return true;
  }

  JsonLimits limits_;
  const Refuse& refuse_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
};

/// Parses JSON within limits. Beyond them it calls `refuse`, which throws, with what is wrong.
/// Throws Json::parse_error for what is no JSON.
template <typename Json, typename Refuse>
Json parse_bounded(std::string_view text, const JsonLimits& limits, const Refuse& refuse) {
  Json value;
  BoundedJson<Json, Refuse> reader(value, limits, refuse);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return value;
}

}  // namespace collsim
