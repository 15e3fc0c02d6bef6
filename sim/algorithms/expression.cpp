#include "sim/algorithms/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <optional>
#include <utility>

#include "sim/base/number.h"

namespace collsim {

namespace {

using Operator = Expression::Operator;

/// Values beyond are refused, so that no operator overflows unseen.
constexpr std::int64_t max_value = std::int64_t{1} << 62;
constexpr std::size_t max_length = 1000;
constexpr int max_depth = 50;

struct BinaryOperator {
  std::string_view sign;
  Operator what;
};

/// From the loosest to the tightest. Of signs that begin alike the longer comes first.
constexpr std::array<BinaryOperator, 2> or_and{
    {{"or", Operator::logical_or}, {"and", Operator::logical_and}}};
constexpr std::array<BinaryOperator, 6> comparisons{{{"==", Operator::equal},
                                                     {"!=", Operator::unequal},
                                                     {"<=", Operator::less_equal},
                                                     {">=", Operator::greater_equal},
                                                     {"<", Operator::less},
                                                     {">", Operator::greater}}};
constexpr std::array<BinaryOperator, 1> bit_or{{{"|", Operator::bit_or}}};
constexpr std::array<BinaryOperator, 2> bit_xor{
    {{"^", Operator::bit_xor}, {"xor", Operator::bit_xor}}};
constexpr std::array<BinaryOperator, 1> bit_and{{{"&", Operator::bit_and}}};
constexpr std::array<BinaryOperator, 2> shift_signs{
    {{"<<", Operator::shift_left}, {">>", Operator::shift_right}}};
constexpr std::array<BinaryOperator, 2> sum_signs{{{"+", Operator::plus}, {"-", Operator::minus}}};
constexpr std::array<BinaryOperator, 3> product_signs{
    {{"*", Operator::times}, {"/", Operator::divided}, {"%", Operator::modulo}}};
constexpr std::array<std::span<const BinaryOperator>, 9> levels{std::span(or_and).first(1),
                                                                std::span(or_and).last(1),
                                                                comparisons,
                                                                bit_or,
                                                                bit_xor,
                                                                bit_and,
                                                                shift_signs,
                                                                sum_signs,
                                                                product_signs};
/// `not` stands between `and` and the comparisons.
constexpr std::size_t level_of_not = 2;

struct NamedFunction {
  std::string_view name;
  Operator what;
  int operands;
};
constexpr std::array<NamedFunction, 4> functions{{{"min", Operator::min, 2},
                                                  {"max", Operator::max, 2},
                                                  {"log2", Operator::log2, 1},
                                                  {"lowbit", Operator::lowbit, 1}}};

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Reads an expression by recursive descent, and writes its terms down in reverse Polish order.
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, std::span<const std::string> names)
      : text_(text), names_(names) {}

  std::vector<Expression::Term> read() && {
    if (text_.size() > max_length) {
      throw ExpressionError(fmt::format("an expression of {} letters", text_.size()),
                            fmt::format("at most {}", max_length));
    }
    read_level(0);
    skip_space();
    if (at_ < text_.size()) fail();
    return std::move(terms_);
  }

 private:
  [[noreturn]] void fail() const {
    const std::string_view rest = text_.substr(at_);
    throw ExpressionError(rest.empty() ? fmt::format("'{}' ends too soon", text_)
                                       : fmt::format("'{}' in '{}'", rest, text_),
                          fmt::format("numbers, {}, + - * / % ** ^ & | << >>, comparisons, and, "
                                      "or, not, min(), max(), log2(), lowbit()",
                                      fmt::join(names_, ", ")));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  /// Whether the sign is next, which is then passed. A word ends where no letter follows.
  bool take(std::string_view sign) {
    skip_space();
    if (!text_.substr(at_).starts_with(sign)) return false;
    const std::size_t end = at_ + sign.size();
    if (is_letter(sign.front()) && end < text_.size() && is_letter(text_[end])) return false;
    // ** is no product of products.
    if (sign == "*" && text_.substr(end).starts_with('*')) return false;
    at_ = end;
    return true;
  }

  std::optional<Operator> take_operator(std::span<const BinaryOperator> level) {
    for (const BinaryOperator& each : level) {
      if (take(each.sign)) return each.what;
    }
    return std::nullopt;
  }

  void read_level(std::size_t level) {
    if (++depth_ > max_depth * static_cast<int>(levels.size())) fail();
    if (level == level_of_not && take("not")) {
      read_level(level);
      terms_.push_back({Operator::logical_not});
    } else if (level == levels.size()) {
      read_power();
    } else {
      read_level(level + 1);
      while (const auto what = take_operator(levels.at(level))) {
        read_level(level + 1);
        terms_.push_back({*what});
      }
    }
    --depth_;
  }

  void read_power() {
    if (take("-")) {
      read_level(levels.size());
      terms_.push_back({Operator::negated});
      return;
    }
    read_operand();
    if (!take("**")) return;
    read_level(levels.size());
    terms_.push_back({Operator::power});
  }

  void read_operand() {
    if (take("(")) {
      read_level(0);
      if (!take(")")) fail();
      return;
    }
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    at_ = begin;
    if (word.empty()) fail();
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return read_number(word);
    const auto name = std::find(names_.begin(), names_.end(), word);
    if (name != names_.end()) {
      terms_.push_back({Operator::name, name - names_.begin()});
      at_ += word.size();
      return;
    }
    read_function(word);
  }

  void read_number(std::string_view word) {
    const auto number = parse_number<std::int64_t>(word);
    if (!number || *number > max_value) fail();
    terms_.push_back({Operator::number, *number});
    at_ += word.size();
  }

  void read_function(std::string_view word) {
    const auto* const function =
        std::find_if(functions.begin(), functions.end(),
                     [&](const NamedFunction& each) { return each.name == word; });
    if (function == functions.end()) fail();
    at_ += word.size();
    if (!take("(")) fail();
    read_level(0);
    if (function->operands == 2) {
      if (!take(",")) fail();
      read_level(0);
    }
    if (!take(")")) fail();
    terms_.push_back({function->what});
  }

  std::string_view text_;
  std::span<const std::string> names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Expression::Term> terms_;
};

[[noreturn]] void too_large() {
  throw ExpressionError("a number of more than 62 bits", "smaller numbers");
}

std::int64_t limited(std::int64_t value) {
  if (value > max_value || value < -max_value) too_large();
  return value;
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) too_large();
  return limited(result);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) too_large();
  return limited(result);
}

std::int64_t power_of(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 || exponent > 62) {
    throw ExpressionError(fmt::format("the power {} of {}", exponent, base), "0 to 62");
  }
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) result = product(result, base);
  return result;
}

std::int64_t shifted(std::int64_t value, std::int64_t by, bool left) {
  if (by < 0 || by > 62) throw ExpressionError(fmt::format("a shift by {}", by), "0 to 62");
  return left ? product(value, power_of(2, by)) : value >> by;
}

/// The remainder and the quotient that go with a quotient rounded down.
std::int64_t divided(std::int64_t a, std::int64_t b, bool remainder) {
  if (b == 0) throw ExpressionError("a division by zero", "another number");
  std::int64_t rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return remainder ? rest : (a - rest) / b;
}

std::int64_t bits_of(Operator what, std::int64_t value) {
  if (value <= 0) {
    throw ExpressionError(
        fmt::format("{} of {}", what == Operator::log2 ? "log2" : "lowbit", value),
        "a number above zero");
  }
  const auto bits = static_cast<std::uint64_t>(value);
  return static_cast<std::int64_t>(what == Operator::log2
                                       ? static_cast<std::uint64_t>(std::bit_width(bits)) - 1
                                       : bits & (~bits + 1));
}

bool compared(Operator what, std::int64_t a, std::int64_t b) {
  switch (what) {
    case Operator::logical_or:
      return a != 0 || b != 0;
    case Operator::logical_and:
      return a != 0 && b != 0;
    case Operator::equal:
      return a == b;
    case Operator::unequal:
      return a != b;
    case Operator::less:
      return a < b;
    case Operator::less_equal:
      return a <= b;
    case Operator::greater:
      return a > b;
    default:
      return a >= b;
  }
}

std::int64_t combined(Operator what, std::int64_t a, std::int64_t b) {
  switch (what) {
    case Operator::bit_or:
      return limited(a | b);
    case Operator::bit_xor:
      return limited(a ^ b);
    case Operator::bit_and:
      return limited(a & b);
    case Operator::shift_left:
    case Operator::shift_right:
      return shifted(a, b, what == Operator::shift_left);
    case Operator::plus:
      return sum(a, b);
    case Operator::minus:
      return sum(a, -b);
    case Operator::times:
      return product(a, b);
    case Operator::divided:
    case Operator::modulo:
      return divided(a, b, what == Operator::modulo);
    case Operator::power:
      return power_of(a, b);
    case Operator::min:
      return std::min(a, b);
    case Operator::max:
      return std::max(a, b);
    default:
      return compared(what, a, b) ? 1 : 0;
  }
}

}  // namespace

Expression::Expression(std::string_view text, std::span<const std::string> names)
    : terms_(ExpressionReader(text, names).read()) {}

std::int64_t Expression::value(std::span<const std::int64_t> values) const {
  std::vector<std::int64_t> stack;
  for (const Term& term : terms_) {
    if (term.what == Operator::number) {
      stack.push_back(term.operand);
    } else if (term.what == Operator::name) {
      stack.push_back(values[static_cast<std::size_t>(term.operand)]);
    } else if (term.what == Operator::negated) {
      stack.back() = -stack.back();
    } else if (term.what == Operator::logical_not) {
      stack.back() = stack.back() == 0 ? 1 : 0;
    } else if (term.what == Operator::log2 || term.what == Operator::lowbit) {
      stack.back() = bits_of(term.what, stack.back());
    } else {
      const std::int64_t right = stack.back();
      stack.pop_back();
      stack.back() = combined(term.what, stack.back(), right);
    }
  }
  return stack.back();
}

}  // namespace collsim
