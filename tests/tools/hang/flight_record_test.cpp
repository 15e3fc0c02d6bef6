// Reading of dumps: pickle and JSON, ranks, what is refused and where.

#include "tools/collsim/hang/flight_record.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"
#include "tools/collsim/hang/dump_files.h"
#include "tools/collsim/hang/dump_formats.h"

namespace collsim {
namespace {

using test::error_of;
using namespace std::string_literals;

const std::string data = COLLSIM_SOURCE_DIR "/tests/data/flight-recorder/";

/// A dump of one call, with parts of it replaced.
std::string dump(const std::string& from = {}, const std::string& to = {}) {
  std::string text = R"({"version": "2.10",
 "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
 "entries": [
  {"record_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"],
   "collective_seq_id": 7, "p2p_seq_id": 0, "profiling_name": "nccl:all_reduce",
   "input_sizes": [[4, 8], [3]], "input_dtypes": ["Float", "Float"],
   "output_sizes": [[4, 8], [3]], "output_dtypes": ["Float", "Float"],
   "state": "scheduled", "time_created_ns": 5, "timeout_ms": 6000, "is_p2p": false,
   "frames": [{"name": "all_reduce", "filename": "torch/distributed/c10d.py", "line": 9},
              {"name": "step", "filename": "src/train.py", "line": 88}]}]})";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

FlightRecord read(const std::string& content) {
  return read_flight_record("dump_rank1.json", content);
}

TEST(FlightRecord, has_the_calls_of_a_rank) {
  const FlightRecord record = read(dump());
  EXPECT_EQ(record.rank, 1U);
  ASSERT_EQ(record.entries.size(), 1U);
  const FlightEntry& entry = record.entries.front();
  EXPECT_EQ(entry.shape.operation, "all_reduce");
  EXPECT_EQ(entry.shape.inputs, (std::vector<std::int64_t>{32, 3}));  // 4 * 8, and 3
  EXPECT_EQ(entry.collective_sequence, 7);
  EXPECT_FALSE(entry.is_completed);
  ASSERT_TRUE(entry.frame);
  EXPECT_EQ(*entry.frame, (FlightFrame{"step", "src/train.py", 88}));
}

TEST(FlightRecord, of_a_send_has_its_pair) {
  const FlightEntry send = read(dump("all_reduce\",\n", "send 0->3\",\n")).entries.front();
  EXPECT_EQ(send.sender, 0U);
  EXPECT_EQ(send.receiver, 3U);
  const FlightEntry receive = read(dump("all_reduce\",\n", "recv 3<-0\",\n")).entries.front();
  EXPECT_EQ(receive.sender, 0U);
  EXPECT_EQ(receive.receiver, 3U);
}

TEST(FlightRecord, is_the_same_from_pickle_and_json) {
  const DumpFiles pickles = load_dumps({data + "crossed"});
  const DumpFiles texts = load_dumps({data + "crossed-json"});
  ASSERT_EQ(pickles.records.size(), 2U);
  ASSERT_EQ(texts.records.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const FlightRecord& a = pickles.records[i];
    const FlightRecord& b = texts.records[i];
    EXPECT_EQ(a.rank, b.rank);
    ASSERT_EQ(a.entries.size(), b.entries.size());
    for (std::size_t k = 0; k < a.entries.size(); ++k) {
      EXPECT_EQ(a.entries[k].created_ns, b.entries[k].created_ns);
      EXPECT_EQ(a.entries[k].group, b.entries[k].group);
      EXPECT_EQ(a.entries[k].shape.inputs, b.entries[k].shape.inputs);
      EXPECT_EQ(a.entries[k].frame, b.entries[k].frame);
    }
  }
}

TEST(FlightRecord, takes_its_rank_from_the_name_or_the_groups) {
  EXPECT_EQ(read_flight_record("/tmp/nccl_trace_rank_1", dump()).rank, 1U);
  EXPECT_EQ(read_flight_record("node7-rank0.json", dump()).rank, 0U);
  // The only rank in all groups, whatever the name says.
  EXPECT_EQ(read_flight_record("a.json", dump("[0, 1]", "[5]")).rank, 5U);
  EXPECT_NE(error_of([] { return read_flight_record("a.json", dump()); }).find("rank"),
            std::string::npos);
  EXPECT_NE(error_of([] { return read_flight_record("rank_9", dump()); }).find("rank 9"),
            std::string::npos);
}

TEST(FlightRecord, refuses_what_is_wrong_with_its_place) {
  // Line 5 begins with three blanks; "collective_seq_id": ends in column 23.
  EXPECT_EQ(error_of([] { return read(dump(": 7,", ": [],")); }),
            "dump_rank1.json:5:25: 'collective_seq_id' is a list; a whole number");
  EXPECT_NE(error_of([] { return read(dump("scheduled", "lost")); }).find("'state' is 'lost'"),
            std::string::npos);
  EXPECT_NE(error_of([] { return read(dump("\"2.10\"", "\"1.5\"")); }).find("1:13: 'version'"),
            std::string::npos);
  EXPECT_NE(error_of([] { return read(dump("[4, 8]", "[4, -8]")); }).find("'input_sizes' is -8"),
            std::string::npos);
  EXPECT_NE(error_of([] { return read("{\"version\": "); }).find("not JSON"), std::string::npos);
  EXPECT_NE(error_of([] { return read("hello"); }).find("neither"), std::string::npos);
  EXPECT_NE(
      error_of([] { return read(std::string(100, '[').insert(0, "{\"a\":")); }).find("deeper"),
      std::string::npos);
}

DumpValues unpickle(std::string_view content) {
  return read_pickle("a.pickle", content);
}

TEST(Pickle, gives_plain_data) {
  // {'a': [-2, 300]}: an integer of one byte by LONG1, one of two by BININT2.
  const std::string content =
      "\x80\x02}U\x01"
      "a](\x8a\x01\xfeM\x2c\x01"
      "es.";
  const DumpValues values = unpickle(content);
  const auto list = values.find(values.root(), "a");
  ASSERT_NE(list, DumpValues::no_value);
  ASSERT_EQ(values.parts(list).size(), 2U);
  EXPECT_EQ(values.integer(values.parts(list)[0]), -2);
  EXPECT_EQ(values.integer(values.parts(list)[1]), 300);
}

TEST(Pickle, constructs_nothing) {
  // os.system('id') by GLOBAL and REDUCE, as in any guide to evil pickles.
  const std::string evil =
      "\x80\x02"
      "cos\nsystem\nU\x02id\x85R.";
  EXPECT_NE(error_of([&] { return unpickle(evil); }).find("byte 2: opcode 0x63"), std::string::npos)
      << error_of([&] { return unpickle(evil); });
}

TEST(Pickle, that_is_cut_off_or_torn_is_refused) {
  const std::string whole =
      "\x80\x02}q\x00U\x01"
      "aK\x01s."s;
  EXPECT_EQ(unpickle(whole).kind(unpickle(whole).root()), DumpKind::dictionary);
  for (std::size_t length = 2; length < whole.size(); ++length) {
    EXPECT_NE(error_of([&] { return unpickle(whole.substr(0, length)); }), "") << length;
  }
  for (const std::string& torn : {"\x80\x02s."s, "\x80\x02u."s, "\x80\x02h\x07."s,
                                  "\x80\x02]K\x01"
                                  "a}(K\x01u."s,
                                  "\x80\x02N(0."s}) {
    EXPECT_NE(error_of([&] { return unpickle(torn); }), "");
  }
}

TEST(Pickle, may_hold_itself) {
  // a = []; a.append(a)
  const DumpValues values = unpickle(
      "\x80\x02]q\x00h\x00"
      "a."s);
  EXPECT_EQ(values.parts(values.root()).front(), values.root());
}

/// Opcodes of pickles.
std::string text_of(const std::string& text) {
  std::string length(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 255U);
  return "X" + length + text;
}

std::string times(std::size_t count, const std::string& piece) {
  std::string text;
  text.reserve(count * piece.size());
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

const std::string remember = "q\x00"s;
const std::string recall = "h\x00"s;

/// A call that has such further pairs.
std::string call_with(const std::string& pairs = {}) {
  return "}(" + text_of("process_group") + text_of("0") + "\x85" + text_of("collective_seq_id") +
         "K\x01" + text_of("profiling_name") + text_of("nccl:all_reduce") + text_of("state") +
         text_of("scheduled") + pairs + "u";
}

std::string dump_with(const std::string& key, const std::string& value) {
  return "\x80\x02}(" + text_of("version") + text_of("2.10") + text_of(key) + value + "u.";
}

std::string dump_of_calls(const std::string& calls) {
  return dump_with("entries", "](" + calls + "e");
}

/// A dictionary with so many other keys.
std::string keys(std::size_t count) {
  std::string pairs;
  for (std::size_t i = 0; i < count; ++i) pairs += text_of(std::to_string(i)) + "N";
  return pairs;
}

/// Small pickles that mean large values many times.
std::vector<std::string> bombs() {
  const std::string name(200'000, 'a');
  std::string ranks = "0";
  for (int i = 1; i < 10'000; ++i) ranks += "," + std::to_string(i);
  std::string groups;
  for (int i = 0; i < 10'000; ++i) groups += text_of(std::to_string(i)) + recall;
  const std::string shared_groups =
      "}(" + text_of("a") + "}" + text_of("ranks") + text_of(ranks) + "s" + remember + groups + "u";
  std::string many_groups;
  for (int i = 0; i < 700'000; ++i) many_groups += text_of(std::to_string(i)) + recall;
  const std::string sized = text_of("input_sizes") + "](";
  const std::string many_calls = times(10'000, recall);
  const std::string first_name = text_of(name) + remember;
  return {
      dump_of_calls(call_with() + remember + times(1'000'000, recall)),
      dump_of_calls(call_with(keys(20'000)) + remember + times(400'000, recall)),
      dump_of_calls(
          call_with(text_of("input_dtypes") + "](" + first_name + times(30'000, recall) + "e")),
      dump_of_calls(call_with(sized + times(100'000, "]") + "e") + remember + many_calls),
      dump_of_calls(call_with(sized + "](" + times(20'000, "K\x01") + "e" + remember +
                              times(1'000'000, recall) + "e") +
                    times(2, "2") + remember + times(1'000, recall)),
      dump_of_calls(call_with(text_of("frames") + "]" + "}(" + text_of("name") + text_of(name) +
                              text_of("filename") + text_of("a.py") + "ua") +
                    remember + many_calls),
      dump_of_calls(call_with(text_of("frames") + "](}(" + text_of("filename") +
                              text_of("torch/" + name) + "u" + remember + times(50'000, recall) +
                              "e")),
      dump_with("pg_config", shared_groups),
      dump_with("pg_config", "}(" + text_of("a") + "}" + remember + many_groups + "u"),
      dump_of_calls(call_with(sized + "](" + text_of(std::string(200'000, '0')) + remember +
                              times(2'000, recall) + "ee")),
  };
}

TEST(Pickle, that_means_values_too_often_is_refused) {
  for (const std::string& bomb : bombs()) {
    EXPECT_LT(bomb.size(), std::size_t{10} << 20U);
    const auto error = error_of([&] { return read_flight_record("rank_0", bomb); });
    EXPECT_TRUE(error.starts_with("rank_0: byte ")) << error.substr(0, 200);
    EXPECT_TRUE(
        error.ends_with("what is said more than once is over 256 MiB; a dump of fewer "
                        "calls, groups and ranks"))
        << error.substr(0, 200);
  }
}

TEST(Pickle, with_a_key_of_the_memo_beyond_its_length_is_refused) {
  const std::string far = "\x80\x02Nr\x00\x00\x00\x10\x94."s;
  EXPECT_EQ(error_of([&] { return unpickle(far); }).substr(0, 54),
            "a.pickle: byte 3: 268435456 as a key of the memo; a Fl");
}

TEST(Pickle, that_repeats_a_call_in_bounds_has_it_as_often) {
  const std::string calls = call_with(keys(20'000)) + remember + times(20'000, recall);
  const FlightRecord record = read_flight_record("rank_0", dump_of_calls(calls));
  ASSERT_EQ(record.entries.size(), 20'001U);
  EXPECT_EQ(record.entries.back().shape.operation, "all_reduce");
}

/// What is left of a dump, or stands in its place.
std::vector<std::string> torn() {
  const std::string text = dump();
  const std::string pickle = dump_of_calls(call_with());
  return {"",
          "\x80",
          "\x80\x02",
          "PK\x03\x04",
          pickle.substr(0, pickle.size() / 2),
          pickle.substr(0, pickle.size() - 1),
          "\x80\x02N.",
          text.substr(0, text.size() / 2),
          text.substr(0, text.size() - 1),
          "a log\n"};
}

TEST(DumpFiles, count_what_cannot_be_read_as_not_dumped) {
  const test::TemporaryFile good("rank_1.json", dump());
  const auto folder = good.path().parent_path();
  for (const std::string& content : torn()) {
    const test::TemporaryFile bad(folder / "rank_0", content);
    const DumpFiles files = load_dumps({good.path().string(), bad.path().string()});
    EXPECT_EQ(files.records.size(), 1U);
    ASSERT_EQ(files.unread.size(), 1U);
    EXPECT_EQ(files.unread.front().rank, 0U);
    EXPECT_TRUE(files.unread.front().why.starts_with(bad.path().string() + ":"));
    EXPECT_NE(error_of([&] { return load_dumps({bad.path().string()}); }), "");
  }
}

TEST(DumpFiles, passes_over_other_files_and_counts_empty_ones) {
  const test::TemporaryFile dump_file("rank_1.json", dump());
  const auto folder = dump_file.path().parent_path();
  const test::TemporaryFile log(folder / "train.log", "step 1\n");
  const test::TemporaryFile empty(folder / "rank_0.json", "");
  const DumpFiles files = load_dumps({folder.string()});
  EXPECT_EQ(files.records.size(), 1U);
  EXPECT_EQ(files.skipped.size(), 1U);
  ASSERT_EQ(files.unread.size(), 1U);
  EXPECT_EQ(files.unread.front().rank, 0U);
}

}  // namespace
}  // namespace collsim
