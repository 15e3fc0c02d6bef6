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
  using Value = std::int64_t;

  /// `names` may stand in it; name i has the i-th of the values. Throws ExpressionError.
  Expression(std::string_view text, std::span<const std::string> names);

  /// Throws ExpressionError where it divides by zero or leaves 62 bits.
  Value value(std::span<const Value> values) const;

  /// One token of an expression in reverse Polish order.
  struct Term {
    enum class Kind : std::uint8_t { number, name, unary, binary };
    Kind kind = Kind::number;
    Value operand = 0;                        ///< a number, or the position of a name
    Value (*of)(Value a, Value b) = nullptr;  ///< of an operator
  };

 private:
  std::vector<Term> terms_;
};

}  // namespace collsim
