// Files as other systems write them: ends of line of Windows, a byte-order mark, no last end of
// line.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temporary_file.h"
#include "tests/tools/command_outcome.h"

namespace collsim::command {
namespace {

/// A file, and a command that reads it in place of "FILE".
struct ReadFile {
  std::string file;
  std::vector<std::string> command;
};

std::vector<ReadFile> read_files() {
  const std::string seeds = "tests/fuzz/seeds/";
  const std::vector<std::string> validate{"validate", "FILE",     "-t",       "dgx-h100",
                                          "--engine", "analytic", "--format", "csv"};
  const std::vector<std::string> import{"topo", "import", "FILE"};
  return {
      {seeds + "recording.csv", validate},
      {"recordings/h200x4/one-gpu.yaml", validate},
      {"recordings/published/l40sx2-pcie-node-allreduce-ring-nccl2.29.2.yaml", validate},
      {seeds + "run.json", validate},
      {seeds + "inspector.jsonl", validate},
      {seeds + "tags.log", validate},
      {seeds + "info.log", {"diagnose", "FILE", "-t", "dgx-h100", "--no-causes"}},
      {seeds + "machine.yaml", {"topo", "check", "FILE"}},
      {seeds + "scenario.yaml", {"run", "FILE", "--format", "csv"}},
      {seeds + "two-rows-sweep.yaml", {"sweep", "FILE", "--format", "csv"}},
      {seeds + "settings.txt",
       {"advise", "dgx-h100", "-b", "1M", "-e", "1M", "--settings", "FILE"}},
      {seeds + "counts.router", {"moe", "dgx-h100", "--skew", "FILE"}},
      {seeds + "sizes.matrix", {"moe", "dgx-h100", "-n", "2", "--matrix", "FILE"}},
      {"tests/data/programs/two-communicators.yaml", {"check", "FILE"}},
      {"tests/data/msccl/allreduce-ring-4.xml", {"check", "-a", "FILE"}},
      {"docs/learn/schedules/exercise-1.yaml", {"check", "-a", "FILE"}},
      {"tests/data/nccl-dumps/h100-4-twin-cpus.xml", import},
      {"tests/data/nvidia-smi/dgx-h100.html", import},
      {"tests/data/nvidia-smi/hgx-h200.txt", import},
      {"tests/data/lstopo/v100-4-nvml.xml", import},
      {"tests/data/flight-recorder/crossed-json/crossed-rank0.json", {"hang", "FILE"}},
      {"tests/data/kineto/small/every-event.json", {"replay", "FILE"}},
      {"tests/data/chakra/small/small_chakra.0.json", {"replay", "FILE"}},
      {"models/data/prices.yaml", {"plan", "dgx-h100", "--bytes", "1M", "--prices", "FILE"}},
      {"models/data/calibrations/h100.yaml",
       {"run", "dgx-h100", "-b", "1M", "-e", "1M", "--calibration", "FILE", "--format", "csv"}},
      {"tests/data/nccl-machines/hgxh100_8x200g.xml",
       {"choose", "dgx-h100", "--env", "NCCL_TOPO_FILE=FILE"}},
  };
}

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

std::string with_windows_lines(const std::string& text) {
  std::string lines;
  for (const char letter : text)
    lines += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  return lines;
}

/// The exit code and all that is printed, with the file's path as FILE.
std::string answer(const ReadFile& of, const std::string& content) {
  const std::filesystem::path source(of.file);
  const test::TemporaryFile file(source.filename(), content);
  std::vector<std::string> words = of.command;
  const auto replace = [&](std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  for (std::string& word : words) replace(word, "FILE", file.path().string());
  const Outcome outcome = run(words);
  std::string text = std::to_string(outcome.status) + "\n" + outcome.out + outcome.err;
  replace(text, file.path().string(), "FILE");
  replace(text, file.path().parent_path().string(), "FOLDER");
  return text;
}

TEST(LineEnds, every_reader_answers_alike) {
  for (const ReadFile& each : read_files()) {
    SCOPED_TRACE(each.command.front() + " " + each.file);
    std::string content = content_of(std::filesystem::path(COLLSIM_SOURCE_DIR) / each.file);
    ASSERT_FALSE(content.empty());
    while (content.ends_with('\n')) content.pop_back();
    const std::string plain = answer(each, content + "\n");
    EXPECT_NE(plain.front(), '3') << plain;
    EXPECT_EQ(answer(each, content), plain);
    EXPECT_EQ(answer(each, with_windows_lines(content + "\n")), plain);
    EXPECT_EQ(answer(each, "\xEF\xBB\xBF" + content + "\n"), plain);
    EXPECT_EQ(answer(each, "\xEF\xBB\xBF" + with_windows_lines(content)), plain);
  }
}

}  // namespace
}  // namespace collsim::command
