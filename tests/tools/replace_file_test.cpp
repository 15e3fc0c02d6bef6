// A file is replaced as a whole, and nothing else ever has a name beside it.

#include "tools/collsim/core/replace_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "sim/base/input_error.h"
#include "sim/base/read_files.h"
#include "sim/base/text_file.h"
#include "tests/support/temporary_file.h"

namespace collsim::command {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

// Whenever the process is killed while it writes 256 MiB, the folder has what it had before.
TEST(ReplaceFile, writes_a_file_that_has_no_name_until_it_is_whole) {
  const test::TemporaryFile other("other", "");
  const fs::path folder = other.path().parent_path();
  std::atomic<bool> done = false;
  std::set<std::string> seen;
  std::thread watcher([&] {
    while (!done) seen.merge(names_in(folder));
  });
  replace_file(folder / "new", std::string(std::size_t{256} << 20, 'x'));
  done = true;
  watcher.join();
  seen.insert("new");
  EXPECT_EQ(seen, (std::set<std::string>{"new", "other"}));
  EXPECT_EQ(fs::file_size(folder / "new"), std::uintmax_t{256} << 20);
}

TEST(ReplaceFile, takes_the_place_of_a_file_of_the_longest_name) {
  const test::TemporaryFile file(std::string(255, 'n'), "before");
  replace_file(file.path(), "after");
  EXPECT_EQ(read_text_file(file.path(), "a file").content, "after");
  EXPECT_EQ(names_in(file.path().parent_path()).size(), 1U);
}

TEST(ReplaceFile, follows_a_link_and_leaves_it_one) {
  const test::TemporaryFile file("file", "before");
  const fs::path link = file.path().parent_path() / "link";
  fs::create_symlink("file", link);
  replace_file(link, "after");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_text_file(file.path(), "a file").content, "after");
}

TEST(ReplaceFile, knows_an_input_by_any_path) {
  const test::TemporaryFile file("file", "input");
  const fs::path link = file.path().parent_path() / "link";
  fs::create_hard_link(file.path(), link);
  forget_read_files();
  EXPECT_NO_THROW(check_not_input(link));
  static_cast<void>(read_text_file(file.path(), "a file"));
  EXPECT_THROW(check_not_input(link), InputError);
  forget_read_files();
  EXPECT_NO_THROW(check_not_input(link));
}

}  // namespace
}  // namespace collsim::command
