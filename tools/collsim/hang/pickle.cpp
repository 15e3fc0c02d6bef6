// Python's pickle, by the list of opcodes in CPython's Lib/pickletools.py.

#include <fmt/format.h>

#include <array>
#include <bit>

#include "sim/base/number.h"
#include "tools/collsim/hang/dump_formats.h"

namespace collsim {

namespace {

using Index = DumpValues::Index;

/// The highest protocol that Python has (3.8 and later).
constexpr unsigned highest_protocol = 5;
constexpr std::string_view accepted_pickle =
    "a Flight Recorder dump: dictionaries, lists, tuples, texts, numbers, booleans and None";

class PickleMachine {
 public:
  PickleMachine(const std::string& file, std::string_view content)
      : content_(content), values_(file, content, true) {}

  DumpValues run() {
    while (!stopped_) {
      begin_ = place_;
      step(static_cast<unsigned char>(take(1).front()));
    }
    return std::move(values_);
  }

 private:
  [[noreturn]] void fail(const std::string& wrong) const {
    values_.fail_at(begin_, wrong, std::string(accepted_pickle));
  }

  std::string_view take(std::uint64_t count) {
    if (count > content_.size() - place_) fail("the pickle is cut off");
    const std::string_view taken = content_.substr(place_, count);
    place_ += count;
    return taken;
  }

  /// Whole numbers of a pickle are little-endian.
  std::uint64_t take_number(std::size_t bytes) {
    std::uint64_t number = 0;
    std::size_t shift = 0;
    for (const char byte : take(bytes)) {
      number |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
      shift += 8;
    }
    return number;
  }

  std::string_view take_line() {
    const auto end = content_.find('\n', place_);
    if (end == std::string_view::npos) fail("the pickle is cut off");
    const std::string_view line = content_.substr(place_, end - place_);
    place_ = end + 1;
    return line;
  }

  void push(Index value) { stack_.push_back(value); }

  Index top() const {
    if (stack_.size() <= floor()) fail("an opcode without its value");
    return stack_.back();
  }

  Index pop() {
    const Index value = top();
    stack_.pop_back();
    return value;
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  /// The values since the last mark, which goes.
  std::vector<Index> pop_marked() {
    if (marks_.empty()) fail("an opcode without its mark");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Index> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }

  void push_container(DumpKind kind, const std::vector<Index>& parts) {
    const Index container = values_.add(kind, begin_);
    extend(container, kind, parts);
    push(container);
  }

  void extend(Index container, DumpKind kind, const std::vector<Index>& parts) {
    if (values_.kind(container) != kind) fail("an opcode for another container");
    if (kind == DumpKind::dictionary && parts.size() % 2 != 0) fail("a key without a value");
    for (const Index part : parts) values_.append(container, part);
  }

  void push_last_as_list(std::size_t count) {
    std::vector<Index> parts(count);
    for (std::size_t i = count; i > 0; --i) parts[i - 1] = pop();
    push_container(DumpKind::list, parts);
  }

  void push_text(std::size_t length_bytes) {
    const std::uint64_t length = take_number(length_bytes);
    push(values_.add_text(take(length), begin_));
  }

  void push_count(std::size_t bytes) {
    push(values_.add_integer(static_cast<std::int64_t>(take_number(bytes)), begin_));
  }

  /// Two's complement of any length; what has more than 64 bits is no number of a dump.
  void push_long(std::uint64_t length) {
    const std::string_view bytes = take(length);
    if (length > sizeof(std::uint64_t)) fail(fmt::format("a whole number of {} bytes", length));
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    const bool is_negative = !bytes.empty() && static_cast<unsigned char>(bytes.back()) >= 0x80;
    if (is_negative && length < sizeof(std::uint64_t)) number |= ~std::uint64_t{0} << (8 * length);
    push(values_.add_integer(static_cast<std::int64_t>(number), begin_));
  }

  template <typename Number>
  Number written(std::string_view line, const std::string& wrong) const {
    const auto number = parse_number<Number>(line);
    if (!number) fail(wrong);
    return *number;
  }

  void push_written_integer(std::string_view line) {
    if (line == "00" || line == "01") return push(values_.add_boolean(line == "01", begin_));
    if (line.ends_with('L')) line.remove_suffix(1);
    push(values_.add_integer(written<std::int64_t>(line, "not a whole number"), begin_));
  }

  void push_written_real(std::string_view line) {
    push(values_.add_real(written<double>(line, "not a number"), begin_));
  }

  void push_real() {
    std::uint64_t bits = 0;  // big-endian, unlike all others
    for (const char byte : take(8)) bits = bits << 8U | static_cast<unsigned char>(byte);
    push(values_.add_real(std::bit_cast<double>(bits), begin_));
  }

  std::uint64_t take_written_key() {
    return written<std::uint64_t>(take_line(), "not a key of the memo");
  }

  /// Keys count what is remembered, so none is larger than the file.
  void remember(std::uint64_t key) {
    if (key >= content_.size()) fail(fmt::format("{} as a key of the memo", key));
    if (key >= memo_.size()) memo_.resize(key + 1, DumpValues::no_value);
    if (memo_[key] == DumpValues::no_value) ++remembered_;
    memo_[key] = top();
  }

  void recall(std::uint64_t key) {
    if (key >= memo_.size() || memo_[key] == DumpValues::no_value) {
      fail(fmt::format("nothing in the memo at {}", key));
    }
    push(memo_[key]);
  }

  void append_last() {
    const Index value = pop();
    extend(top(), DumpKind::list, {value});
  }

  void set_last() {
    const Index value = pop();
    const Index key = pop();
    extend(top(), DumpKind::dictionary, {key, value});
  }

  void append_marked(DumpKind kind) {
    const std::vector<Index> parts = pop_marked();
    extend(top(), kind, parts);
  }

  void begin_protocol() {
    const std::uint64_t protocol = take_number(1);
    if (protocol > highest_protocol) fail(fmt::format("protocol {} of pickle", protocol));
  }

  void stop() {
    values_.set_root(pop());
    stopped_ = true;
  }

  using Machine = PickleMachine;
  struct Opcode {
    unsigned char byte = 0;
    void (*obey)(Machine& m) = nullptr;
  };

  void step(unsigned char opcode) {
    static const std::array obeyed = by_byte();
    if (obeyed[opcode] == nullptr) {
      fail(fmt::format("opcode 0x{:02x} is not of plain data, and is not obeyed", opcode));
    }
    obeyed[opcode](*this);
  }

  static std::array<void (*)(Machine&), 256> by_byte() {
    std::array<void (*)(Machine&), 256> obeyed{};
    for (const Opcode& each : opcodes()) obeyed[each.byte] = each.obey;
    return obeyed;
  }

  static std::vector<Opcode> opcodes() {
    return {
        {'N', [](Machine& m) { m.push(m.values_.add(DumpKind::none, m.begin_)); }},
        {0x88, [](Machine& m) { m.push(m.values_.add_boolean(true, m.begin_)); }},
        {0x89, [](Machine& m) { m.push(m.values_.add_boolean(false, m.begin_)); }},
        {'I', [](Machine& m) { m.push_written_integer(m.take_line()); }},
        {'L', [](Machine& m) { m.push_written_integer(m.take_line()); }},
        {'F', [](Machine& m) { m.push_written_real(m.take_line()); }},
        {'G', [](Machine& m) { m.push_real(); }},
        {'K', [](Machine& m) { m.push_count(1); }},
        {'M', [](Machine& m) { m.push_count(2); }},
        {'J', [](Machine& m) { m.push_long(4); }},
        {0x8a, [](Machine& m) { m.push_long(m.take_number(1)); }},
        {0x8b, [](Machine& m) { m.push_long(m.take_number(4)); }},
        {0x8c, [](Machine& m) { m.push_text(1); }},
        {'U', [](Machine& m) { m.push_text(1); }},
        {'C', [](Machine& m) { m.push_text(1); }},
        {'X', [](Machine& m) { m.push_text(4); }},
        {'T', [](Machine& m) { m.push_text(4); }},
        {'B', [](Machine& m) { m.push_text(4); }},
        {0x8d, [](Machine& m) { m.push_text(8); }},
        {0x8e, [](Machine& m) { m.push_text(8); }},
        {'V', [](Machine& m) { m.push(m.values_.add_text(m.take_line(), m.begin_)); }},
        {'}', [](Machine& m) { m.push_container(DumpKind::dictionary, {}); }},
        {']', [](Machine& m) { m.push_container(DumpKind::list, {}); }},
        {')', [](Machine& m) { m.push_container(DumpKind::list, {}); }},
        {'d', [](Machine& m) { m.push_container(DumpKind::dictionary, m.pop_marked()); }},
        {'l', [](Machine& m) { m.push_container(DumpKind::list, m.pop_marked()); }},
        {'t', [](Machine& m) { m.push_container(DumpKind::list, m.pop_marked()); }},
        {0x85, [](Machine& m) { m.push_last_as_list(1); }},
        {0x86, [](Machine& m) { m.push_last_as_list(2); }},
        {0x87, [](Machine& m) { m.push_last_as_list(3); }},
        {'a', [](Machine& m) { m.append_last(); }},
        {'e', [](Machine& m) { m.append_marked(DumpKind::list); }},
        {'s', [](Machine& m) { m.set_last(); }},
        {'u', [](Machine& m) { m.append_marked(DumpKind::dictionary); }},
        {0x80, [](Machine& m) { m.begin_protocol(); }},
        {0x95, [](Machine& m) { m.take(8); }},  // a frame's length, which says nothing new
        {'(', [](Machine& m) { m.marks_.push_back(m.stack_.size()); }},
        {'0', [](Machine& m) { m.pop(); }},
        {'1', [](Machine& m) { m.pop_marked(); }},
        {'2', [](Machine& m) { m.push(m.top()); }},
        {'q', [](Machine& m) { m.remember(m.take_number(1)); }},
        {'r', [](Machine& m) { m.remember(m.take_number(4)); }},
        {'p', [](Machine& m) { m.remember(m.take_written_key()); }},
        {0x94, [](Machine& m) { m.remember(m.remembered_); }},
        {'h', [](Machine& m) { m.recall(m.take_number(1)); }},
        {'j', [](Machine& m) { m.recall(m.take_number(4)); }},
        {'g', [](Machine& m) { m.recall(m.take_written_key()); }},
        {'.', [](Machine& m) { m.stop(); }},
    };
  }

  std::string_view content_;
  DumpValues values_;
  std::size_t place_ = 0;
  std::size_t begin_ = 0;  ///< of the opcode
  bool stopped_ = false;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;  ///< sizes of the stack
  std::vector<Index> memo_;
  std::uint64_t remembered_ = 0;  ///< values in the memo
};

}  // namespace

namespace {

const DumpFormat pickle_format(
    "a pickle, as PyTorch's Flight Recorder writes",
    [](std::string_view text) { return is_pickle(text) ? FormatSign::mark : FormatSign::no; },
    read_pickle);

}  // namespace

bool is_pickle(std::string_view content) {
  return content.size() >= 2 && static_cast<unsigned char>(content.front()) == 0x80 &&
         static_cast<unsigned char>(content[1]) <= highest_protocol;
}

DumpValues read_pickle(const std::string& file, std::string_view content) {
  return PickleMachine(file, content).run();
}

}  // namespace collsim
