// Fields set in a copy of a YAML value, and where complaints about them point.

#include "sim/yaml/yaml_draft.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_of.h"

namespace collsim {
namespace {

const TextFile drafted_text{"a.yaml",
                            "collsim: thing/1\n"
                            "sizes: { from: 8 B }\n"
                            "runs: [{ name: a }, { name: b }]\n"
                            "set: { sizes.to: 4 MiB }\n"};

class YamlDrafts : public testing::Test {
 protected:
  YamlValue root_ = read_yaml(drafted_text, "thing");
  YamlMapping set_ = root_.free_mapping().at("set").free_mapping();
  YamlValue key_ = set_.entries().front().first;
  YamlValue value_ = set_.entries().front().second;
  YamlDraft draft_{root_};

  YamlMapping keys() const { return draft_.value().free_mapping(); }
};

TEST_F(YamlDrafts, set_fields_that_are_there_and_make_those_that_are_not) {
  draft_.set(key_, "sizes.from", value_);
  draft_.set(key_, "sizes.to", value_);
  draft_.set(key_, "env.NCCL_ALGO", scalar_at(key_, "Ring"));
  const YamlMapping sizes = keys().at("sizes").mapping({"from", "to"});
  EXPECT_EQ(sizes.at("from").string(), "4 MiB");
  EXPECT_EQ(sizes.at("to").string(), "4 MiB");
  EXPECT_EQ(keys().at("env").free_mapping().at("NCCL_ALGO").string(), "Ring");
  EXPECT_EQ(root_.free_mapping().at("sizes").free_mapping().at("from").string(), "8 B");
}

TEST_F(YamlDrafts, go_into_one_entry_of_a_list_or_into_all) {
  draft_.set(key_, "runs.1.name", scalar_at(key_, "c"));
  draft_.set(key_, "runs.channels", scalar_at(key_, "2"));
  const auto runs = keys().at("runs").sequence();
  EXPECT_EQ(runs[0].free_mapping().at("name").string(), "a");
  EXPECT_EQ(runs[1].free_mapping().at("name").string(), "c");
  for (const YamlValue& run : runs) EXPECT_EQ(run.free_mapping().at("channels").string(), "2");
}

// The value stands in line 4, column 18; the key that the path makes is where the path stands.
TEST_F(YamlDrafts, complain_where_a_person_wrote) {
  draft_.set(key_, "sizes.tow", value_);
  EXPECT_EQ(test::error_of([&] { return keys().at("sizes").mapping({"from"}); }),
            "a.yaml:4:8: unknown key 'tow'; keys here are from");
  EXPECT_EQ(test::error_of([&] {
              return keys().at("sizes").mapping({"from", "tow"}).at("tow").integer(0, 9);
            }),
            "a.yaml:4:18: '4 MiB' is not a whole number; a whole number from 0 to 9");
  EXPECT_EQ(test::error_of([&] {
              draft_.set(key_, "runs.2.name", value_);
              return 0;
            }),
            "a.yaml:4:8: entry 2 of a list of 2; 0 to 1");
  EXPECT_NE(test::error_of([&] {
              draft_.set(key_, "sizes.from.bytes", value_);
              return 0;
            }).find("a.yaml:4:8: 'bytes' below the single value '8 B'"),
            std::string::npos);
}

TEST_F(YamlDrafts, keep_the_file_of_what_comes_from_another) {
  const YamlValue other = read_yaml({"b.yaml", "collsim: thing/1\nname: [x]\n"}, "thing");
  draft_.set(key_, "name", other.free_mapping().at("name"));
  EXPECT_EQ(to_string(keys().at("name").position()), "b.yaml:2:7");
  EXPECT_EQ(to_string(keys().at("name").sequence().front().position()), "b.yaml:2:8");
  EXPECT_EQ(to_string(keys().at("sizes").position()), "a.yaml:2:8");
}

TEST_F(YamlDrafts, remove_a_key) {
  draft_.remove("set");
  draft_.remove("nothing");
  EXPECT_FALSE(keys().find("set"));
  EXPECT_TRUE(keys().find("runs"));
}

}  // namespace
}  // namespace collsim
