#include "sim/base/units.h"

#include <gtest/gtest.h>

#include <string>

namespace collsim {
namespace {

TEST(Units, BytesHaveDecimalAndBinaryPrefixes) {
  EXPECT_EQ(parse_bytes("8 B").count, 8);
  EXPECT_EQ(parse_bytes("4MiB").count, 4 * 1024 * 1024);
  EXPECT_EQ(parse_bytes("  1 kB ").count, 1000);
  EXPECT_EQ(parse_bytes("1.5 KiB").count, 1536);
  EXPECT_EQ(parse_bytes("8 Gb").count, 1'000'000'000);  // bits
}

TEST(Units, RatesMayBeInBits) {
  EXPECT_DOUBLE_EQ(parse_rate("25 GB/s").value, 25e9);
  EXPECT_DOUBLE_EQ(parse_rate("400 Gb/s").value, 50e9);
  EXPECT_DOUBLE_EQ(parse_rate("1 MiB/s").value, 1048576);
}

TEST(Units, TimesGoFromPicosecondsToSeconds) {
  EXPECT_DOUBLE_EQ(parse_time("1.3 us").value, 1.3e-6);
  EXPECT_DOUBLE_EQ(parse_time("600ns").value, 6e-7);
  EXPECT_DOUBLE_EQ(parse_time("2 \u00b5s").value, 2e-6);
  EXPECT_DOUBLE_EQ(parse_time("0 s").value, 0);
}

std::string complaint(void (*parse)(std::string_view), std::string_view text) {
  try {
    parse(text);
    return "";
  } catch (const QuantityError& error) {
    return error.wrong();
  }
}

TEST(Units, ComplaintsNameTheText) {
  const auto bytes = [](std::string_view text) {
    return complaint([](std::string_view t) { parse_bytes(t); }, text);
  };
  EXPECT_EQ(bytes("25"), "'25' has no unit");
  EXPECT_EQ(bytes(""), "'' is not a size");
  EXPECT_EQ(bytes("-1 B"), "'-1 B' is negative");
  EXPECT_EQ(bytes("-0 B"), "'-0 B' is negative");
  EXPECT_EQ(bytes("nan B"), "'nan B' is not finite");
  EXPECT_EQ(bytes("0.3 B"), "'0.3 B' is not a whole number of bytes");
  EXPECT_EQ(bytes("8 EiB"), "'8 EiB' is larger than 8 EiB");
  EXPECT_EQ(bytes("1 GB/s"), "'1 GB/s': 'GB/s' is not a unit of size");
  EXPECT_EQ(bytes("1 iB"), "'1 iB': 'iB' is not a unit of size");
  EXPECT_EQ(bytes("0x10 B"), "'0x10 B': 'x10 B' is not a unit of size");
}

TEST(Units, AreWrittenWithTheLargestUnitThatFits) {
  EXPECT_EQ(to_string(Bytes{4 << 20}), "4 MiB");
  EXPECT_EQ(to_string(Bytes{0}), "0 B");
  EXPECT_EQ(to_string(Bytes{1'000'000}), "1 MB");
  EXPECT_EQ(to_string(Bytes{1536}), "1.5 KiB");
  EXPECT_EQ(to_string(gigabytes_per_second(25)), "25 GB/s");
  EXPECT_EQ(to_string(unlimited), "unlimited");
  EXPECT_EQ(to_string(microseconds(1.3)), "1.3 us");
  EXPECT_EQ(to_string(Seconds{0}), "0 s");
  EXPECT_EQ(to_string(Seconds{999.99999999e-6}), "1 ms");
}

TEST(Units, WhatIsWrittenReadsBack) {
  for (const std::int64_t count : {1L, 1023L, 1024L, 65'536L, 3L << 30, 5'000'000L}) {
    EXPECT_EQ(parse_bytes(to_string(Bytes{count})).count, count);
  }
  for (const double rate : {1.0, 999.0, 1e3, 2.5e10, 6.25e8}) {
    EXPECT_DOUBLE_EQ(parse_rate(to_string(BytesPerSecond{rate})).value, rate);
  }
}

}  // namespace
}  // namespace collsim
