#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace collsim {

/// What is wrong with an expression, and what would be accepted.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(const std::string& wrong, std::string accepted)
      : std::runtime_error(wrong), accepted_(std::move(accepted)) {}
  const std::string& accepted() const { return accepted_; }

 private:
  std::string accepted_;
};

/// Arithmetic of whole numbers as people write it in schedule files: "(r - s - 1) % N". Operators
/// by rising precedence: or; and; not; == != < <= > >=; |; xor, ^; &; << >>; + -; * / %; **;
/// functions min(a, b), max(a, b), log2(a) (rounded down) and lowbit(a) (the value of the lowest
/// set bit).
/// `%` is never negative, `/` rounds down, as in Python; truth is 1 or 0.
class Expression {
 public:
  /// `names` may stand in it; name i has the i-th of the values. Throws ExpressionError.
  Expression(std::string_view text, std::span<const std::string> names);

  /// Throws ExpressionError where it divides by zero or leaves 62 bits.
  std::int64_t value(std::span<const std::int64_t> values) const;

  enum class Operator : std::uint8_t {
    number,
    name,
    logical_or,
    logical_and,
    logical_not,
    equal,
    unequal,
    less,
    less_equal,
    greater,
    greater_equal,
    bit_or,
    bit_xor,
    bit_and,
    shift_left,
    shift_right,
    plus,
    minus,
    times,
    divided,
    modulo,
    power,
    negated,
    min,
    max,
    log2,
    lowbit,
  };
  /// In reverse Polish order. `operand`: a number, or the position of a name.
  struct Term {
    Operator what = Operator::number;
    std::int64_t operand = 0;
  };

 private:
  std::vector<Term> terms_;
};

}  // namespace collsim
