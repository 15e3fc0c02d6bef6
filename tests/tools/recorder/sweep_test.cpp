#include "tools/recorder/sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tools/recorder/row_message.h"

namespace collsim::recorder {
namespace {

/// A sweep whose ranks only pretend: rank 0 tells a row for every case, of as many microseconds as
/// bytes. What `mischief` does happens on rank 1 before that.
class Sweep : public ::testing::Test {
 protected:
  using Mischief = std::function<void(const Case&)>;

  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    run_.name = "a/2";
    run_.ranks = 2;
    run_.gpus = {0, 1};
    run_.stall_seconds = 60;
    run_.cases = {{"all_reduce", 8, false, false},
                  {"all_reduce", 16, false, false},
                  {"reduce", 8, false, false}};
  }

  SweepEnd record(const Mischief& mischief) {
    const RankWork work{
        [](SharedState&, const RankWork::Tell& tell) { tell("done"); },
        [&](const recorder::Run& run, const std::string&, int rank, SharedState& shared,
            const RankWork::Tell& tell) { pretend(run, rank, shared, tell, mischief); }};
    const SweepOptions options{folder_ / "out.yaml", folder_, "no-script", [] { return false; }};
    std::ostringstream progress;
    return sweep({run_}, Machine{}, options, work, progress);
  }
  std::string output() const {
    std::ifstream file(folder_ / "out.yaml");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int count(const std::string& text) const {
    const std::string all = output();
    int found = 0;
    for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++found;
    return found;
  }

  std::filesystem::path folder_;
  recorder::Run run_;

 private:
  static void pretend(const recorder::Run& run, int rank, SharedState& shared,
                      const RankWork::Tell& tell, const Mischief& mischief) {
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
      shared.wait_for_all();
      if (rank == 0) shared.current_case = static_cast<std::int64_t>(i);
      shared.wait_for_all();
      if (rank == 1) mischief(run.cases[i]);
      shared.wait_for_all();
      Row row;
      const double seconds = 1e-6 * static_cast<double>(run.cases[i].bytes);
      row.seconds = {seconds, seconds, seconds, seconds};
      if (rank == 0) tell(row_message(i, row));
    }
    if (rank == 0) tell("done");
  }
};

TEST_F(Sweep, RecordsEveryCaseOnce) {
  EXPECT_EQ(record([](const Case&) {}), SweepEnd::done);
  EXPECT_EQ(count("      - ["), 3);
  EXPECT_EQ(count("[all_reduce, 16, out, plain, none, none, none, none, 0, 0, 16.000,"), 1);
  const std::string once = output();
  EXPECT_EQ(record([](const Case&) {}), SweepEnd::done);
  EXPECT_EQ(output(), once);
}

// The second size fails; other sizes of that call are not tried again, other calls are.
TEST_F(Sweep, GoesOnAfterACaseThatFails) {
  EXPECT_EQ(record([](const Case& c) {
              if (c.bytes == 16) throw std::runtime_error("broken link");
            }),
            SweepEnd::some_failed);
  EXPECT_EQ(count("      - ["), 2);
  EXPECT_EQ(count("end: \"failed in all_reduce of 16 bytes, out of place: rank 1: broken link\""),
            1);
  EXPECT_EQ(count("[reduce, 8, "), 1);
  EXPECT_EQ(count("end: \"done\""), 1);
}

TEST_F(Sweep, GoesOnAfterAProcessThatDies) {
  EXPECT_EQ(record([](const Case& c) {
              if (c.bytes == 16) raise(SIGKILL);
            }),
            SweepEnd::some_failed);
  EXPECT_EQ(count("      - ["), 2);
  EXPECT_EQ(count("rank 1 died of signal 9"), 1);
}

TEST_F(Sweep, GoesOnAfterACaseThatHangs) {
  run_.stall_seconds = 0.3;
  EXPECT_EQ(record([](const Case& c) {
              if (c.bytes == 16) pause();
            }),
            SweepEnd::some_failed);
  EXPECT_EQ(count("      - ["), 2);
  EXPECT_EQ(count("no progress for 0.3"), 1);
}

TEST_F(Sweep, NotesRunsWhoseHostsCannotBePlayed) {
  run_.hosts = Hosts{2, 1, 5'000'000'000, 65536, {}, {}};
  EXPECT_EQ(record([](const Case&) {}), SweepEnd::some_failed);
  EXPECT_EQ(count("rows: []"), 1);
  EXPECT_EQ(count("end: \"no-script up ended with 127\""), 1);
}

TEST(RowMessage, ComesBack) {
  Row row;
  row.choice = NcclChoice{"tree", "ll128", 0, 15};
  row.iterations = 20;
  row.repeats = 10;
  row.seconds = {1.25e-5, 1e-5, 3e-5, 2.5e-5};
  row.slowest_rank_seconds = 1.5e-5;
  row.estimate_seconds = 0.1;
  row.wrong = 7;
  const auto read = read_row_message(row_message(5, row));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first, 5U);
  EXPECT_EQ(read->second.choice->protocol, "ll128");
  EXPECT_EQ(read->second.choice->last_channel, 15);
  EXPECT_EQ(read->second.seconds.p99, 2.5e-5);
  EXPECT_EQ(read->second.estimate_seconds, 0.1);
  EXPECT_EQ(read->second.wrong, 7U);
  EXPECT_FALSE(read_row_message("fact gpu x"));
  EXPECT_FALSE(read_row_message("row 5 ring"));
}

}  // namespace
}  // namespace collsim::recorder
