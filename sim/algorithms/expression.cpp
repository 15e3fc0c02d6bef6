#include "sim/algorithms/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <utility>

#include "sim/base/number.h"

namespace collsim {

namespace {

using Value = Expression::Value;
using Kind = Expression::Term::Kind;

/// Values beyond are refused, so that no operator overflows unseen.
constexpr Value max_value = Value{1} << 62;
constexpr std::size_t max_length = 1000;
constexpr int max_depth = 50;

Value limited(Value value, bool overflows = false) {
  if (overflows || value > max_value || value < -max_value) {
    throw ExpressionError("a number of more than 62 bits", "smaller numbers");
  }
  return value;
}

Value product(Value a, Value b) {
  Value result = 0;
  const bool overflows = __builtin_mul_overflow(a, b, &result);
  return limited(result, overflows);
}

Value sum(Value a, Value b) {
  Value result = 0;
  const bool overflows = __builtin_add_overflow(a, b, &result);
  return limited(result, overflows);
}

Value power(Value base, Value exponent) {
  if (exponent < 0 || exponent > 62) {
    throw ExpressionError(fmt::format("the power {} of {}", exponent, base), "0 to 62");
  }
  Value result = 1;
  for (Value i = 0; i < exponent; ++i) result = product(result, base);
  return result;
}

Value checked_shift(Value by) {
  if (by < 0 || by > 62) throw ExpressionError(fmt::format("a shift by {}", by), "0 to 62");
  return by;
}

/// The remainder that goes with a quotient rounded down.
Value remainder(Value a, Value b) {
  if (b == 0) throw ExpressionError("a division by zero", "another number");
  const Value rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::uint64_t bits_of(std::string_view function, Value value) {
  if (value > 0) return static_cast<std::uint64_t>(value);
  throw ExpressionError(fmt::format("{} of {}", function, value), "a number above zero");
}

struct BinaryOperator {
  std::string_view sign;
  int level;  ///< those of a higher one bind tighter
  Value (*of)(Value a, Value b);
};

/// `not` stands between `and` and the comparisons.
constexpr int level_of_not = 2;
/// From the right, and tighter than the minus before a number.
constexpr int level_of_power = 9;

/// Of signs that begin alike the longer comes first.
constexpr auto operators = std::to_array<BinaryOperator>({
    {"or", 0, [](Value a, Value b) -> Value { return a != 0 || b != 0 ? 1 : 0; }},
    {"and", 1, [](Value a, Value b) -> Value { return a != 0 && b != 0 ? 1 : 0; }},
    {"==", 2, [](Value a, Value b) -> Value { return a == b ? 1 : 0; }},
    {"!=", 2, [](Value a, Value b) -> Value { return a != b ? 1 : 0; }},
    {"<=", 2, [](Value a, Value b) -> Value { return a <= b ? 1 : 0; }},
    {">=", 2, [](Value a, Value b) -> Value { return a >= b ? 1 : 0; }},
    {"<<", 6, [](Value a, Value b) { return product(a, power(2, checked_shift(b))); }},
    {">>", 6, [](Value a, Value b) { return a >> checked_shift(b); }},
    {"<", 2, [](Value a, Value b) -> Value { return a < b ? 1 : 0; }},
    {">", 2, [](Value a, Value b) -> Value { return a > b ? 1 : 0; }},
    {"|", 3, [](Value a, Value b) { return limited(a | b); }},
    {"^", 4, [](Value a, Value b) { return limited(a ^ b); }},
    {"xor", 4, [](Value a, Value b) { return limited(a ^ b); }},
    {"&", 5, [](Value a, Value b) { return limited(a & b); }},
    {"+", 7, sum},
    {"-", 7, [](Value a, Value b) { return sum(a, -b); }},
    {"**", level_of_power, power},
    {"*", 8, product},
    {"/", 8, [](Value a, Value b) { return (a - remainder(a, b)) / b; }},
    {"%", 8, remainder},
});

struct NamedFunction {
  std::string_view name;
  Kind kind;  ///< unary or binary
  Value (*of)(Value a, Value b);
};

constexpr auto functions = std::to_array<NamedFunction>({
    {"min", Kind::binary, [](Value a, Value b) { return std::min(a, b); }},
    {"max", Kind::binary, [](Value a, Value b) { return std::max(a, b); }},
    {"log2", Kind::unary,
     [](Value a, Value) -> Value {
       return static_cast<Value>(std::bit_width(bits_of("log2", a))) - 1;
     }},
    {"lowbit", Kind::unary,
     [](Value a, Value) {
       const std::uint64_t bits = bits_of("lowbit", a);
       return static_cast<Value>(bits & (~bits + 1));
     }},
});

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Reads an expression by recursive descent, and writes its terms down in reverse Polish order.
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, std::span<const std::string> names)
      : text_(text), rest_(text), names_(names) {}

  std::vector<Expression::Term> read() && {
    if (text_.size() > max_length) {
      throw ExpressionError(fmt::format("an expression of {} letters", text_.size()),
                            fmt::format("at most {}", max_length));
    }
    read_from(0);
    skip_space();
    if (!rest_.empty()) fail();
    return std::move(terms_);
  }

 private:
  [[noreturn]] void fail() const {
    throw ExpressionError(rest_.empty() ? fmt::format("'{}' ends too soon", text_)
                                        : fmt::format("'{}' in '{}'", rest_, text_),
                          fmt::format("numbers, {}, + - * / % ** ^ & | << >>, comparisons, and, "
                                      "or, not, min(), max(), log2(), lowbit()",
                                      fmt::join(names_, ", ")));
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  /// Whether a sign is next. A word ends where no letter follows.
  bool is_next(std::string_view sign) {
    skip_space();
    const bool is_word = is_letter(sign.front());
    return rest_.starts_with(sign) &&
           !(is_word && rest_.size() > sign.size() && is_letter(rest_[sign.size()]));
  }

  /// Passes the sign if it is next.
  bool take(std::string_view sign) {
    if (!is_next(sign)) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }

  void require(std::string_view sign) {
    if (!take(sign)) fail();
  }

  /// What operators of this level and of higher ones combine.
  void read_from(int level) {
    if (++depth_ > max_depth) fail();
    if (level <= level_of_not && take("not")) {
      read_from(level_of_not);
      terms_.push_back({Kind::unary, 0, [](Value a, Value) -> Value { return a == 0 ? 1 : 0; }});
    } else if (take("-")) {
      read_from(level_of_power);
      terms_.push_back({Kind::unary, 0, [](Value a, Value) { return -a; }});
    } else {
      read_operand();
    }
    while (true) {
      const auto* const next =
          std::find_if(operators.begin(), operators.end(),
                       [&](const BinaryOperator& each) { return is_next(each.sign); });
      if (next == operators.end() || next->level < level) break;
      take(next->sign);
      read_from(next->level == level_of_power ? level_of_power : next->level + 1);
      terms_.push_back({Kind::binary, 0, next->of});
    }
    --depth_;
  }

  void read_operand() {
    if (take("(")) {
      read_from(0);
      return require(")");
    }
    skip_space();
    const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), is_letter);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    const auto name = std::find(names_.begin(), names_.end(), word);
    const auto number = parse_number<Value>(word);
    const auto* const function =
        std::find_if(functions.begin(), functions.end(),
                     [&](const NamedFunction& each) { return each.name == word; });
    const bool is_name = name != names_.end();
    if (number ? *number > max_value : !is_name && function == functions.end()) fail();
    rest_.remove_prefix(word.size());
    if (number) {
      terms_.push_back({Kind::number, *number});
    } else if (is_name) {
      terms_.push_back({Kind::name, name - names_.begin()});
    } else {
      read_arguments(*function);
    }
  }

  void read_arguments(const NamedFunction& function) {
    require("(");
    read_from(0);
    if (function.kind == Kind::binary) {
      require(",");
      read_from(0);
    }
    require(")");
    terms_.push_back({function.kind, 0, function.of});
  }

  std::string_view text_;
  std::string_view rest_;
  std::span<const std::string> names_;
  int depth_ = 0;
  std::vector<Expression::Term> terms_;
};

}  // namespace

Expression::Expression(std::string_view text, std::span<const std::string> names)
    : terms_(ExpressionReader(text, names).read()) {}

Value Expression::value(std::span<const Value> values) const {
  std::vector<Value> stack;
  for (const Term& term : terms_) {
    if (term.kind == Kind::number) {
      stack.push_back(term.operand);
    } else if (term.kind == Kind::name) {
      stack.push_back(values[static_cast<std::size_t>(term.operand)]);
    } else if (term.kind == Kind::unary) {
      stack.back() = term.of(stack.back(), 0);
    } else {
      const Value right = stack.back();
      stack.pop_back();
      stack.back() = term.of(stack.back(), right);
    }
  }
  return stack.back();
}

}  // namespace collsim
