#include <gtest/gtest.h>
#include <zlib.h>

#include <boost/archive/iterators/binary_from_base64.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"
#include "tools/collsim/core/subcommand.h"

namespace collsim::command {
namespace {

std::string content(const test::TemporaryFile& file) {
  std::ifstream stream(file.path());  // not as an input of the command
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The header of the data in a page, as tools/collsim/trace/view_data.h has it.
nlohmann::json header_of(const std::string& page) {
  const std::string begin = "type=\"application/octet-stream\">";
  const std::size_t at = page.find(begin) + begin.size();
  std::string text = page.substr(at, page.find('<', at) - at);
  text.erase(text.find_last_not_of('=') + 1);
  using namespace boost::archive::iterators;
  using Decoder = transform_width<binary_from_base64<std::string::const_iterator>, 8, 6>;
  const std::size_t size = text.size() * 6 / 8;
  std::string packed;
  Decoder decoder(text.cbegin());
  for (std::size_t i = 0; i < size; ++i) packed += *decoder++;
  constexpr std::size_t more_than_enough = 1U << 26;
  std::string bytes(more_than_enough, '\0');
  uLongf length = bytes.size();
  uncompress(reinterpret_cast<Bytef*>(bytes.data()), &length,
             reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  std::uint32_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  return nlohmann::json::parse(bytes.substr(sizeof header, header));
}

// The textbook's machine, as `collsim steps` has it: 8 ranks on 2 nodes of 4. 8 us + 1.75 * 65,536
// B / 50 GB/s = 10.29 us.
TEST(ViewCommand, TakesAMachineOfTwoNumbers) {
  const test::TemporaryFile file("two-numbers.html", "");
  const Outcome outcome =
      run(view_subcommand.run,
          {"--alpha", "1us", "--bandwidth", "50GB/s", "-n", "8", "--ranks-per-node", "4", "-a",
           "hierarchical", "-b", "64K", "--output", file.path()});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_NE(outcome.out.find(" 10.29 us"), std::string::npos) << outcome.out;
}

TEST(ViewCommand, NamesTheFaultAndACommandForTheShell) {
  const test::TemporaryFile file("fault.html", "");
  const std::string fault = "link: node3/gpu0, bandwidth: 10%";
  run(view_subcommand.run,
      {"-t", "switch-8", "-a", "ring", "-b", "64K", "--fault", fault, "--fault",
       "rank: 5, late: 1 us", "--healthy", "--output", file.path()});
  const nlohmann::json header = header_of(content(file));
  EXPECT_EQ(header["command"], "collsim view -t switch-8 -a ring -b 64K --fault '" + fault +
                                   "' --fault 'rank: 5, late: 1 us' --healthy --output " +
                                   file.path().string());
  const nlohmann::json& healthy = header["calls"][0];
  EXPECT_TRUE(healthy["faults"].empty());
  EXPECT_TRUE(healthy["faultyLinks"].empty());
  const nlohmann::json& faulty = header["calls"][1];
  EXPECT_EQ(faulty["faults"], (nlohmann::json{fault, "rank: 5, late: 1 us"}));
  EXPECT_EQ(faulty["faultyRanks"], nlohmann::json::array({5}));
  std::set<std::string> names;
  for (const nlohmann::json& link : header["machine"]["links"]) {
    for (const nlohmann::json& id : faulty["faultyLinks"]) {
      if (link["id"] == id) names.insert(link["name"].get<std::string>());
    }
  }
  EXPECT_EQ(names.size(), 2U);  // both directions of the cable
  for (const std::string& name : names) EXPECT_NE(name.find("node3/gpu0"), std::string::npos);
}

TEST(ViewCommand, WritesAPageWithTwoCalls) {
  const test::TemporaryFile file("two.html", "");
  const Outcome outcome = run(view_subcommand.run, {"-t", "switch-8", "-a", "ring,tree", "-b", "1M",
                                                    "--output", file.path()});
  EXPECT_EQ(outcome.status, exit_ok);
  // 14 hops of 1 us and 14 x 128 KiB at 50 GB/s.
  EXPECT_NE(outcome.out.find("ring Simple, 120 slices, 50.70 us"), std::string::npos);
  EXPECT_NE(outcome.out.find("tree Simple"), std::string::npos);
  const std::string page = content(file);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_EQ(page.find("@COLLSIM_DATA@"), std::string::npos);
  // Nothing that a browser would fetch.
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
}

TEST(ViewCommand, ShowsTheHealthyCallBesideTheFault) {
  const test::TemporaryFile file("slow.html", "");
  const Outcome outcome = run(view_subcommand.run, {"-t", "hgx-h200", "-a", "ring", "-b", "1M",
                                                    "--fault", "device: node0/gpu3, bandwidth: 10%",
                                                    "--healthy", "--output", file.path()});
  EXPECT_EQ(outcome.status, exit_ok);
  EXPECT_NE(outcome.out.find(": healthy, ring"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(": with faults, ring"), std::string::npos) << outcome.out;
}

TEST(ViewCommand, AsksForWhatIsMissing) {
  const auto error = [](const std::vector<std::string>& args) {
    return test::error_of([&] { return run(view_subcommand.run, args).status; });
  };
  EXPECT_NE(error({"-t", "switch-8", "-b", "1M"}).find("--output FILE.html"), std::string::npos);
  const test::TemporaryFile file("a.html", "as before");
  EXPECT_NE(error({"-t", "switch-8", "--output", file.path()}).find("-b SIZE"), std::string::npos);
  EXPECT_NE(error({"-t", "switch-8", "-a", "ring,tree,recursive_doubling", "-b", "1M", "--output",
                   file.path()})
                .find("a page shows one call, or two side by side"),
            std::string::npos);
  EXPECT_EQ(content(file), "as before");
}

}  // namespace
}  // namespace collsim::command
