#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace collsim {

/// A number of bytes. GB means 1e9 bytes, GiB 2^30, everywhere in collsim.
struct Bytes {
  std::int64_t count = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
};

/// A duration or a point of simulated time, in seconds.
struct Seconds {
  double value = 0;
  constexpr auto operator<=>(const Seconds&) const = default;
};

/// A data rate in bytes per second, in one direction.
struct BytesPerSecond {
  double value = 0;
  constexpr auto operator<=>(const BytesPerSecond&) const = default;
};

/// The rate of something that never limits a transfer.
inline constexpr BytesPerSecond unlimited{std::numeric_limits<double>::infinity()};

constexpr Seconds microseconds(double value) {
  return Seconds{value * 1e-6};
}
constexpr BytesPerSecond gigabytes_per_second(double value) {
  return BytesPerSecond{value * 1e9};
}
constexpr double in_microseconds(Seconds time) {
  return time.value * 1e6;
}
constexpr double in_gigabytes_per_second(BytesPerSecond rate) {
  return rate.value * 1e-9;
}

constexpr Bytes operator+(Bytes a, Bytes b) {
  return {a.count + b.count};
}
constexpr Bytes operator-(Bytes a, Bytes b) {
  return {a.count - b.count};
}
constexpr Bytes operator*(std::int64_t factor, Bytes bytes) {
  return {factor * bytes.count};
}
constexpr Bytes& operator+=(Bytes& a, Bytes b) {
  return a = a + b;
}
constexpr Seconds operator+(Seconds a, Seconds b) {
  return {a.value + b.value};
}
constexpr Seconds operator-(Seconds a, Seconds b) {
  return {a.value - b.value};
}
constexpr Seconds operator*(double factor, Seconds time) {
  return {factor * time.value};
}
constexpr Seconds& operator+=(Seconds& a, Seconds b) {
  return a = a + b;
}
constexpr BytesPerSecond operator*(double factor, BytesPerSecond rate) {
  return {factor * rate.value};
}
constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) {
  return {static_cast<double>(bytes.count) / rate.value};
}
constexpr BytesPerSecond operator/(Bytes bytes, Seconds time) {
  return {static_cast<double>(bytes.count) / time.value};
}

/// A text that is no quantity. what() is "wrong; accepted".
class QuantityError : public std::invalid_argument {
 public:
  QuantityError(std::string wrong, std::string accepted);
  const std::string& wrong() const { return wrong_; }
  const std::string& accepted() const { return accepted_; }

 private:
  std::string wrong_;
  std::string accepted_;
};

/// Read a quantity with its unit, as people write it in YAML: "4 MiB", "25 GB/s", "400 Gb/s",
/// "1.3 us". The space is optional. Decimal prefixes are powers of 1000, "Ki" and so on powers of
/// 1024; "b" is bits and "B" bytes. Throws QuantityError, which names the offending value and what
/// would be accepted: no unit, an unknown unit, a negative or not finite number.
Bytes parse_bytes(std::string_view text);
BytesPerSecond parse_rate(std::string_view text);
Seconds parse_time(std::string_view text);

/// Write a quantity with the largest unit that keeps it at 1 or more: "4 MiB", "25 GB/s", "1.3 us".
std::string to_string(Bytes bytes);
std::string to_string(BytesPerSecond rate);
std::string to_string(Seconds time);

/// A size to three digits: "1.3 MiB".
std::string rounded_size(double bytes);

}  // namespace collsim
