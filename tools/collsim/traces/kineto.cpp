#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/bounded_json.h"
#include "sim/base/input_error.h"
#include "tools/collsim/core/packed_file.h"
#include "tools/collsim/traces/job_trace.h"
#include "tools/collsim/traces/kineto_events.h"

namespace collsim {

namespace {

/// A trace nests five levels.
constexpr std::size_t max_kineto_depth = 64;
/// Microseconds since 1970 are below 2e15, and buffers below 2^50 elements.
constexpr double max_kineto_number = 1e18;
/// Of a word or a number, which nlohmann's reader holds as a whole.
constexpr std::size_t max_kineto_word = std::size_t{1} << 20U;
constexpr std::string_view kineto_accepted = "a trace of PyTorch's profiler, as JSON or .json.gz";

/// The letters of a file. What stands between two marks of JSON is limited, for it is held.
class KinetoText {
 public:
  explicit KinetoText(const std::string& file)
      : name_(file), file_(file, std::string(kineto_accepted)) {
    fill();
  }

  bool is_at_end() const { return next_ == size_; }
  char letter() const { return piece_[next_]; }
  void advance() {
    follow(letter());
    ++next_;
    if (next_ == size_) fill();
  }
  [[noreturn]] void fail(const std::string& wrong, std::string_view accepted) const {
    throw InputError(SourcePosition{name_, line_, 0}, wrong, std::string(accepted));
  }
  const std::string& name() const { return name_; }

 private:
  void follow(char letter) {
    if (letter == '\n') ++line_;
    const bool is_mark = in_text_
                             ? letter == '"' && !escaped_
                             : std::string_view("\",:{}[]").find(letter) != std::string_view::npos;
    if (is_mark && letter == '"') in_text_ = !in_text_;
    escaped_ = in_text_ && letter == '\\' && !escaped_;
    word_ = is_mark ? 0 : word_ + 1;
    if (word_ > max_kineto_word) fail("a word of more than 1 MiB", kineto_accepted);
  }
  void fill() {
    next_ = 0;
    size_ = file_.read(piece_.data(), piece_.size());
  }

  std::string name_;
  PackedFile file_;
  std::vector<char> piece_ = std::vector<char>(std::size_t{1} << 16U);
  std::size_t next_ = 0;
  std::size_t size_ = 0;
  std::size_t word_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;
  int line_ = 1;
};

/// Follows nlohmann's reader through a trace and keeps one event at a time.
class KinetoReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  KinetoReader(const KinetoText& text, RankTrace& trace)
      : text_(text), trace_(trace), collector_(trace) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t number) override { return take(static_cast<double>(number)); }
  bool number_unsigned(std::uint64_t number) override { return take(static_cast<double>(number)); }
  bool number_float(double number, const std::string&) override { return take(number); }
  bool string(std::string& text) override {
    if (std::string* const target = text_target()) *target = std::move(text);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool key(std::string& text) override {
    keys_.back() = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override {
    if (keys_.size() == 1 && keys_[0] == "traceEvents") has_events_ = true;
    return open();
  }
  bool end_array() override { return close(); }
  bool end_object() override {
    if (is_event()) {
      collector_.take(event_);
      event_ = {};
    }
    return close();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    text_.fail("not JSON", kineto_accepted);
  }

  void finish() {
    if (!has_events_) text_.fail("no traceEvents", kineto_accepted);
    collector_.finish();
  }

 private:
  bool is_event() const { return keys_.size() == 3 && keys_[0] == "traceEvents"; }
  bool is_argument() const {
    return keys_.size() >= 4 && keys_[0] == "traceEvents" && keys_[2] == "args";
  }

  bool open() {
    if (keys_.size() == max_kineto_depth) text_.fail("nested too deep", kineto_accepted);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::string* text_target() {
    if (is_event()) {
      if (keys_[2] == "ph") return &event_.phase;
      if (keys_[2] == "cat") return &event_.category;
      return keys_[2] == "name" ? &event_.name : nullptr;
    }
    if (!is_argument() || keys_.size() != 4) return nullptr;
    if (keys_[3] == "Collective name") return &event_.words.operation;
    if (keys_[3] == "Process Group Name") return &event_.words.communicator;
    if (keys_[3] == "Process Group Ranks") return &event_.words.members;
    return keys_[3] == "dtype" ? &event_.words.type : nullptr;
  }

  bool take(double number) {
    if (keys_.size() == 2 && keys_[0] == "distributedInfo") {
      if (keys_[1] == "rank") trace_.rank = static_cast<std::int64_t>(checked(number));
      if (keys_[1] == "world_size") trace_.world_size = static_cast<std::int64_t>(checked(number));
    } else if (is_event()) {
      if (keys_[2] == "ts") event_.begin_us = checked(number);
      if (keys_[2] == "dur") event_.duration_us = checked(number);
      if (keys_[2] == "tid") event_.thread = number;
    } else if (is_argument()) {
      take_argument(number);
    }
    return true;
  }

  void take_argument(double number) {
    if (keys_.size() == 5) {
      const bool is_first_of_grid = keys_[3] == "grid" && event_.blocks == 0;
      if (is_first_of_grid) event_.blocks = checked(number);
      return;
    }
    if (keys_.size() != 4) return;
    if (keys_[3] == "External id") event_.external = number;
    if (keys_[3] == "correlation") event_.correlation = number;
    if (keys_[3] == "stream") event_.stream = std::max(0.0, number);
    if (keys_[3] == "Src Rank" && number >= 0) event_.words.source = checked(number);
    if (keys_[3] == "Dst Rank" && number >= 0) event_.words.destination = checked(number);
    if (keys_[3] == "Group size") event_.words.ranks = checked(number);
    if (keys_[3] == "In msg nelems") event_.words.in_elements = checked(number);
    if (keys_[3] == "Out msg nelems") event_.words.out_elements = checked(number);
  }

  double checked(double number) const {
    if (number >= 0 && number <= max_kineto_number) return number;
    text_.fail(fmt::format("{}: {:g}", keys_.back().empty() ? "grid" : keys_.back(), number),
               "a number from 0 to 1e18");
  }

  const KinetoText& text_;
  RankTrace& trace_;
  KinetoCollector collector_;
  /// The key that is open on each level; that of an array is empty.
  std::vector<std::string> keys_;
  KinetoEvent event_;
  bool has_events_ = false;
};

/// Reads a trace of PyTorch's profiler as a stream. Throws InputError for what is no such trace,
/// for more than 1 GiB of text, and for times or sizes that no GPU has.
RankTrace read_kineto(const std::string& file) {
  RankTrace trace;
  trace.file = file;
  KinetoText text(file);
  KinetoReader reader(text, trace);
  read_json_values(text, reader);
  reader.finish();
  return trace;
}

/// Whatever is nothing else may be such a trace, and its reader says why it is none.
const TraceFormat kineto_format(
    "a profiler's trace (Kineto, Chrome)",
    [](std::string_view text) {
      const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
      if (begin == std::string_view::npos || text[begin] != '{') return FormatSign::any;
      for (const std::string_view word : {"\"traceEvents\"", "\"schemaVersion\"",
                                          "\"distributedInfo\"", "\"deviceProperties\""}) {
        if (text.find(word) != std::string_view::npos) return FormatSign::mark;
      }
      return FormatSign::any;
    },
    read_kineto);

}  // namespace

}  // namespace collsim
