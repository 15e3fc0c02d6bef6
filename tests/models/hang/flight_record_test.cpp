// Reading of dumps: pickle and JSON, ranks, what is refused and where.

#include "models/hang/flight_record.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "models/hang/dump_files.h"
#include "models/hang/dump_formats.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"

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

TEST(DumpFiles, passes_over_other_files_and_counts_empty_ones) {
  const test::TemporaryFile dump_file("rank_1.json", dump());
  const auto folder = dump_file.path().parent_path();
  const test::TemporaryFile log(folder / "train.log", "step 1\n");
  const test::TemporaryFile empty(folder / "rank_0.json", "");
  const DumpFiles files = load_dumps({folder.string()});
  EXPECT_EQ(files.records.size(), 1U);
  EXPECT_EQ(files.skipped.size(), 1U);
  EXPECT_EQ(files.empty.size(), 1U);
}

}  // namespace
}  // namespace collsim
