#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/yaml/yaml_reader.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

/// A file of the test's own, gone at the end.
class YamlTestFile {
 public:
  explicit YamlTestFile(std::string_view text)
      : path_(std::filesystem::temp_directory_path() /
              ("collsim-yaml-" + std::to_string(getpid()) + ".yaml")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~YamlTestFile() { std::filesystem::remove(path_); }
  YamlTestFile(const YamlTestFile&) = delete;
  YamlTestFile& operator=(const YamlTestFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The message without the file's name, or "" if the file is fine.
std::string complaint(const std::filesystem::path& path) {
  const std::string error = test::error_of([&] { return load_yaml(path, "test"); });
  return error.empty() ? "" : error.substr(path.string().size() + 1);
}

std::string complaint_about(std::string_view text) {
  return complaint(YamlTestFile(text).path());
}

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  text.reserve(piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(YamlReading, ValuesKnowTheirPlace) {
  const YamlTestFile file("collsim: test/1\na:\n  - x\n  - {b: 4 MiB}\n");
  const YamlValue root = load_yaml(file.path(), "test");
  const YamlValue list = root.mapping({"a"}).at("a");
  const YamlValue size = list.sequence()[1].mapping({"b"}).at("b");
  EXPECT_EQ(size.position().line, 4);
  EXPECT_EQ(size.position().column, 9);  // "  - {b: 4" : the 4 is the ninth character
  EXPECT_EQ(size.bytes(), Bytes{4 << 20});
}

TEST(YamlReading, HundredLevelsAreReadAndMoreAreNot) {
  // The root is one level, so 99 lists fit inside it.
  const auto nested = [](std::size_t depth) {
    return "collsim: test/1\na: " + repeated("[", depth) + repeated("]", depth) + "\n";
  };
  EXPECT_EQ(complaint_about(nested(99)), "");
  // "a: " is three characters; the 100th bracket stands in column 103.
  EXPECT_EQ(complaint_about(nested(100)),
            "2:103: nested deeper than 100 levels; files are a few levels deep");
}

TEST(YamlReading, MegabytesOfNestingAreRefused) {
  constexpr std::size_t size = 7'000'000;
  EXPECT_EQ(complaint_about(repeated("[", size)),
            "1:101: nested deeper than 100 levels; files are a few levels deep");
  EXPECT_EQ(complaint_about(repeated("{a: ", size / 4)),
            "1:401: nested deeper than 100 levels; files are a few levels deep");
  EXPECT_EQ(complaint_about(repeated("[\n", size / 2)),
            "101:1: nested deeper than 100 levels; files are a few levels deep");
  EXPECT_EQ(complaint_about(repeated("- ", size / 2)),
            "1:201: nested deeper than 100 levels; files are a few levels deep");
  std::string block;
  for (std::size_t depth = 0; depth < 3000; ++depth) block += std::string(depth, ' ') + "a:\n";
  EXPECT_EQ(complaint_about(block),
            "101:101: nested deeper than 100 levels; files are a few levels deep");
}

TEST(YamlReading, TenMegabytesAreTooMany) {
  EXPECT_EQ(
      complaint_about(repeated("[", 10'000'000)),
      " this input is larger than 8 MiB; a text of at most 8 MiB; of a log, the lines that matter");
}

TEST(YamlReading, MissingFilesAndDirectoriesAreNamed) {
  EXPECT_EQ(complaint("/nowhere/file.yaml"), " no such file; the path of a YAML file");
  EXPECT_EQ(complaint(std::filesystem::temp_directory_path()),
            " this is a directory; the path of a YAML file");
}

TEST(YamlReading, PunctuationInsideTextIsText) {
  EXPECT_EQ(complaint_about("collsim: test/1\n"
                            "a: \"[[ {{ * & ! | > #\"\n"
                            "b: it's 5 * 3 & more [see] a|b, \"quoted\"\n"
                            "c: ['[', x-y, it's]  # [[ * &\n"),
            "");
}

TEST(YamlReading, RangesInsideBracesNeedQuotes) {
  EXPECT_EQ(complaint_about("collsim: test/1\nlist:\n  - { id: gpu[0..3], kind: gpu }\n"),
            "3:11: 'gpu[0..3]' without quotes inside braces or brackets; \"gpu[0..3]\"");
  EXPECT_EQ(complaint_about("collsim: test/1\nlist: [node[0..1]/nic[0..1], x]\n"),
            "2:8: 'node[0..1]/nic[0..1]' without quotes inside braces or brackets; "
            "\"node[0..1]/nic[0..1]\"");
  EXPECT_EQ(complaint_about("collsim: test/1\nid: gpu[0..3]\nlist: { a: [b], c: {d: [e]} }\n"), "");
}

TEST(YamlReading, WhatIsNotClosedIsNamedWhereItIsOpened) {
  EXPECT_EQ(complaint_about("collsim: test/1\nlist:\n  - { id: a\n  - { id: b }\n"),
            "3:5: '{' is opened here and not closed; a '}' before the text ends");
  EXPECT_EQ(complaint_about("collsim: test/1\na: { b: [1, 2 }\n"),
            "2:9: '[' is opened here and not closed; a ']' before the '}' in line 2, column 15");
  EXPECT_EQ(complaint_about("collsim: test/1\na: [1]]\n"),
            "2:7: ']' closes a bracket that was not opened; remove it, or open one before it");
  EXPECT_EQ(complaint_about("collsim: test/1\na: 'b\n"),
            "2:4: a text in quotes is not closed; a ' at its end");
}

TEST(YamlReading, OptionsAreMappingsWithBracesOrWithout) {
  for (const char* text : {"a: 1, b: x", "{a: 1, b: x}", " { a: 1, b: x } "}) {
    const YamlMapping mapping = read_yaml_option("--o", text).mapping({"a", "b"});
    EXPECT_EQ(mapping.at("a").integer(0, 9), 1) << text;
    EXPECT_EQ(mapping.at("b").string(), "x") << text;
  }
}

/// What is said of an option's text.
std::string complaint_of_option(std::string_view text) {
  return test::error_of(
      [&] { return read_yaml_option("--o", text).mapping({"a"}).at("a").time(); });
}

TEST(YamlReading, PlacesInOptionsAreColumnsOfTheirText) {
  EXPECT_EQ(complaint_of_option("a: 1 s, bb: 2"), "--o:1:9: unknown key 'bb'; keys here are a");
  EXPECT_EQ(complaint_of_option("{a: 1 s, bb: 2}"), "--o:1:10: unknown key 'bb'; keys here are a");
  EXPECT_EQ(complaint_of_option("b[0..1]: 2"),
            "--o:1:1: 'b[0..1]: 2' without quotes inside braces or brackets; \"b[0..1]: 2\"");
  EXPECT_EQ(complaint_of_option("{a: 1 s"),
            "--o:1:1: '{' is opened here and not closed; a '}' before the text ends");
  EXPECT_EQ(complaint_of_option("a: 1 s}"),
            "--o:1:7: '}' closes a bracket that was not opened; remove it, or open one before it");
  EXPECT_EQ(complaint_of_option(""), "--o:1:1: key 'a' is missing; add 'a: ...'");
}

TEST(YamlReading, FractionsMayBePercentages) {
  const YamlTestFile file("collsim: test/1\na: 10%\nb: 0.25\nc: 0%\nd: 110%\ne: much\n");
  const YamlMapping root = load_yaml(file.path(), "test").free_mapping();
  EXPECT_DOUBLE_EQ(root.at("a").fraction(), 0.1);
  EXPECT_DOUBLE_EQ(root.at("b").fraction(), 0.25);
  EXPECT_THROW(root.at("c").fraction(), InputError);
  EXPECT_THROW(root.at("d").fraction(), InputError);
  EXPECT_DOUBLE_EQ(root.at("d").fraction(2), 1.1);
  EXPECT_THROW(root.at("e").fraction(), InputError);
  EXPECT_DOUBLE_EQ(root.at("a").share(), 0.1);
  EXPECT_EQ(root.at("c").share(), 0);
  EXPECT_THROW(root.at("d").share(), InputError);
  EXPECT_THROW(root.at("e").share(), InputError);
}

/// Whatever a file holds, reading it ends in a value or an InputError.
TEST(YamlReading, EveryTruncationAndByteFlipIsSurvived) {
  const std::string text =
      "collsim: test/1\nname: \"a b\"\nlist: [1, {x: 'y'}, [z]]\nmap:\n  k: v # note\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_NO_FATAL_FAILURE(complaint_about(std::string_view(text).substr(0, i)));
    for (const char c : {'\0', '\t', '\n', '[', '}', ':', '"', '\'', '-', '%', '\xff', '?'}) {
      std::string changed = text;
      changed[i] = c;
      EXPECT_NO_THROW(complaint_about(changed)) << i << " " << static_cast<int>(c);
    }
  }
}

}  // namespace
}  // namespace collsim
