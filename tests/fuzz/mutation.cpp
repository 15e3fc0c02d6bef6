// fuzz-importers [iterations]: mutates the descriptions of machines that the tests have and imports
// them. Whatever the text, an importer returns a machine that loads again, or throws InputError.
// Anything else ends the program with the text on stderr and exit code 1. Always the same mutants.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "models/imports/import.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/topology_writer.h"

namespace collsim {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t seed = 20'261'121;
constexpr std::size_t size_limit = 65'536;

constexpr std::array<std::string_view, 60> dictionary{
    "0",
    "-1",
    "1",
    "16",
    "255",
    "65536",
    "2147483647",
    "2147483648",
    "-9223372036854775808",
    "99999999999999999999",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "0x",
    "0xffffffffffffffff",
    "\"",
    "<",
    ">",
    "/>",
    "<pci busid=\"0000:01:00.0\" class=\"0x060400\">",
    "</pci>",
    "<pci busid=\"0000:02:00.0\" class=\"0x030200\"><gpu dev=\"9\" sm=\"90\"/></pci>",
    "<cpu numaid=\"1\" arch=\"x86_64\" vendor=\"AuthenticAMD\">",
    "</cpu>",
    "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/>",
    "<nvlink target=\"0000:07:00.0\" count=\"4\" tclass=\"0x030200\"/>",
    "<nvlink target=\"0\" count=\"2\" tclass=\"0x068001\"/>",
    "<c2c bw=\"37500\" count=\"10\"/>",
    "<nic><net dev=\"0\" speed=\"400000\"/><net dev=\"1\" speed=\"-1\"/></nic>",
    "<graphs>",
    "<system>",
    "<channel>",
    "</channel>",
    "<gpu dev=\"0x3\"/>",
    "<net dev=\"2\"/>",
    "&#0;",
    "&lt;",
    "<!--",
    "]]>",
    "\tNV4\t",
    "\tSYS\t",
    "\tPXB\t",
    "GPU0",
    "\nGPU1\t X \t",
    "NIC0",
    "\x1b[4m",
    "\xEF\xBB\xBF",
    "<table><tr>",
    "<td>",
    "</td>",
    "<pre>",
    "&nbsp;",
    "|",
    "|---|",
    "<topology version=\"2.0\">",
    "<object type=\"Bridge\" pci_busid=\"0000:01:00.0\" pci_type=\"0604 [1000:c010] [1000:a096] "
    "b0\">",
    "<object type=\"PCIDev\" pci_busid=\"0000:02:00.0\" pci_type=\"0302 [10de:2330] [10de:16c1] "
    "a1\"/>",
    "</object>",
    "<cpu host_hash=\"0x2\" numaid=\"0\" arch=\"arm64\">"};

/// Numbers below `bound`, the same on every machine, which std's distributions do not promise.
class Dice {
 public:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : generator_() % bound; }

 private:
  std::mt19937_64 generator_{seed};
};

/// One change: of a byte, a piece, a number or an attribute.
void mutate(std::string& text, const std::vector<TextFile>& seeds, Dice& dice) {
  const std::size_t place = dice.below(text.size() + 1);
  const std::size_t length = std::min(text.size() - place, 1 + dice.below(200));
  switch (dice.below(8)) {
    case 0:
      if (place < text.size()) text[place] = static_cast<char>(dice.below(256));
      break;
    case 1:
      if (place < text.size()) text[place] = static_cast<char>(text[place] ^ (1 << dice.below(8)));
      break;
    case 2:
      text.erase(place, length);
      break;
    case 3: {
      const std::string piece = text.substr(place, length);
      for (std::size_t i = 1 + dice.below(20); i > 0; --i) text.insert(place, piece);
      break;
    }
    case 4:
      text.insert(place, dictionary[dice.below(dictionary.size())]);
      break;
    case 5: {  // the next number becomes another
      const std::size_t begin = text.find_first_of("0123456789", place);
      if (begin == std::string::npos) break;
      const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
      text.replace(begin, end - begin, dictionary[dice.below(16)]);
      break;
    }
    case 6: {  // a piece of another seed
      const std::string& other = seeds[dice.below(seeds.size())].content;
      text.insert(place, other.substr(dice.below(other.size()), 1 + dice.below(400)));
      break;
    }
    default: {  // the next quoted text becomes another that is there
      const std::size_t begin = text.find('"', place);
      const std::size_t end = text.find('"', begin == std::string::npos ? begin : begin + 1);
      const std::size_t other = text.find('"', dice.below(text.size() + 1));
      const std::size_t other_end = text.find('"', other == std::string::npos ? other : other + 1);
      if (end == std::string::npos || other_end == std::string::npos) break;
      text.replace(begin, end - begin, text.substr(other, other_end - other));
    }
  }
  if (text.size() > size_limit) text.resize(size_limit);
}

std::vector<TextFile> read_seeds() {
  std::vector<fs::path> files;
  for (const char* folder : {"tests/data", "recordings/nccl"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(COLLSIM_SOURCE_DIR) / folder)) {
      const fs::path& path = entry.path();
      const std::string kind = path.parent_path().filename().string();
      const bool described = kind == "nvidia-smi" || kind == "nccl-dumps";
      const bool text = described && path.filename() != "README.md";
      if (path.extension() == ".xml" || text) files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<TextFile> seeds;
  seeds.reserve(files.size());
  for (const fs::path& file : files) seeds.push_back(read_text_file(file, "a seed"));
  return seeds;
}

/// Whether the text made a machine. Throws what no importer may throw.
bool survives(const TextFile& text, const ImportOptions& options) {
  ClusterText cluster{"fuzz", {}, {}, 1, {}};
  try {
    cluster.node = import_node(text, options).node;
  } catch (const InputError&) {
    return false;
  }
  read_topology({"what was imported", topology_text(cluster)});
  return true;
}

int fuzz(std::size_t iterations) {
  const std::vector<TextFile> seeds = read_seeds();
  const ImportOptions options{find_gpu_model("H100"), false, 0};
  Dice dice;
  std::size_t machines = 0;
  std::chrono::duration<double> longest{};
  for (std::size_t i = 0; i < iterations; ++i) {
    TextFile text = seeds[dice.below(seeds.size())];
    for (std::size_t changes = 1 + dice.below(1 + dice.below(8)); changes > 0; --changes) {
      mutate(text.content, seeds, dice);
    }
    const auto begin = std::chrono::steady_clock::now();
    try {
      machines += survives(text, options) ? 1U : 0U;
    } catch (const std::exception& error) {
      fmt::print(stderr, "mutant {} of {}: {}\n{}\n", i, text.name, error.what(), text.content);
      return 1;
    }
    longest =
        std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} mutants of {} seeds: {} machines, {} refused; longest {:.1f} ms; at most {} MiB\n",
             iterations, seeds.size(), machines, iterations - machines, 1000 * longest.count(),
             usage.ru_maxrss / 1024);
  // Mutants that were all refused, or none, would not test much.
  return iterations < 1000 || (machines > 0 && machines < iterations) ? 0 : 1;
}

}  // namespace
}  // namespace collsim

int main(int argc, char** argv) {
  std::size_t iterations = 2'000;
  if (argc > 1) {
    const std::string_view text(argv[1]);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), iterations);
    if (error != std::errc{} || end != text.data() + text.size() || argc > 2) {
      fmt::print(stderr, "usage: fuzz-importers [iterations]\n");
      return 2;
    }
  }
  return collsim::fuzz(iterations);
}
