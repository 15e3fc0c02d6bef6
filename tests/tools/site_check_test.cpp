// tools/web/site/check.py finds links that lead nowhere and what a page would load from the
// network.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim {
namespace {

/// Exit code and output of the check of a site with one page.
std::pair<int, std::string> check_site(const std::string& page) {
  const test::TemporaryFile file("index.html", page);
  const command::Outcome outcome =
      command::run_shell("'" COLLSIM_SOURCE_DIR "/tools/web/site/check.py' '" +
                         file.path().parent_path().string() + "'");
  return {outcome.status, outcome.out};
}

TEST(SiteCheck, accepts_links_inside_and_links_that_a_reader_follows) {
  EXPECT_EQ(check_site("<h1 id=top>x</h1><a href=#top>a</a><a href=index.html>b</a>"
                       "<a href=https://example.com>c</a><img src=data:,>"),
            std::pair(0, std::string("1 pages, all links lead somewhere, nothing is loaded from "
                                     "the network\n")));
}

TEST(SiteCheck, finds_files_and_anchors_that_do_not_exist) {
  EXPECT_EQ(check_site("<a href=other.html>a</a><a href=index.html#end>b</a><iframe src=v.html>"),
            std::pair(1, std::string("index.html: other.html: there is no such file\n"
                                     "index.html: index.html#end: there is no such anchor\n"
                                     "index.html: v.html: there is no such file\n")));
}

TEST(SiteCheck, finds_what_is_loaded_from_the_network) {
  EXPECT_EQ(check_site("<link rel=stylesheet href=https://fonts.example/a.css>"
                       "<script src=//cdn.example/b.js></script>"),
            std::pair(1, std::string("index.html: loads https://fonts.example/a.css\n"
                                     "index.html: loads //cdn.example/b.js\n")));
}

}  // namespace
}  // namespace collsim
