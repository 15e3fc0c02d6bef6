#include "tests/fuzz/mutation.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace collsim {
namespace {

constexpr std::size_t size_limit = 65'536;

/// The first ones are numbers.
constexpr std::size_t number_words = 16;
constexpr std::array dictionary = std::to_array<std::string_view>(
    {"0", "-1", "1", "16", "255", "65536", "2147483647", "2147483648", "-9223372036854775808",
     "99999999999999999999", "1e308", "-0.0", "nan", "inf", "0x", "0xffffffffffffffff", "\"", "<",
     ">", "/>", "<pci busid=\"0000:01:00.0\" class=\"0x060400\">", "</pci>",
     "<pci busid=\"0000:02:00.0\" class=\"0x030200\"><gpu dev=\"9\" sm=\"90\"/></pci>",
     "<cpu numaid=\"1\" arch=\"x86_64\" vendor=\"AuthenticAMD\">", "</cpu>",
     "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/>",
     "<nvlink target=\"0000:07:00.0\" count=\"4\" tclass=\"0x030200\"/>",
     "<nvlink target=\"0\" count=\"2\" tclass=\"0x068001\"/>", "<c2c bw=\"37500\" count=\"10\"/>",
     "<nic><net dev=\"0\" speed=\"400000\"/><net dev=\"1\" speed=\"-1\"/></nic>", "<graphs>",
     "<system>", "<channel>", "</channel>", "<gpu dev=\"0x3\"/>", "<net dev=\"2\"/>", "&#0;",
     "&lt;", "<!--", "]]>", "\tNV4\t", "\tSYS\t", "\tPXB\t", "GPU0", "\nGPU1\t X \t", "NIC0",
     "\x1b[4m", "\xEF\xBB\xBF", "<table><tr>", "<td>", "</td>", "<pre>", "&nbsp;", "|", "|---|",
     "<topology version=\"2.0\">",
     "<object type=\"Bridge\" pci_busid=\"0000:01:00.0\" pci_type=\"0604 [1000:c010] [1000:a096] "
     "b0\">",
     "<object type=\"PCIDev\" pci_busid=\"0000:02:00.0\" pci_type=\"0302 [10de:2330] [10de:16c1] "
     "a1\"/>",
     "</object>", "<cpu host_hash=\"0x2\" numaid=\"0\" arch=\"arm64\">",
     // Of logs.
     "\n", "\r", "[1,0]<stdout>:", "[pod/worker-0/mpi] ",
     "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 iters: 4294967296 graph: 1\n", "# Using devices\n",
     "#  Rank  0 Group  0 Pid 1 on host device 0 [0x00] NVIDIA H200\n",
     "#       size         count    type   redop    root     time   algbw   busbw  #wrong\n",
     "#       size         count    type   redop     time   algbw   busbw  error\n",
     "#      bytes             N    type      op     time  algbw  busbw      res\n",
     "#        (B)    (elements)           (ms)  (GB/s)  (GB/s)\n",
     "  redop    root     time   algbw",
     "   1048576        262144   float     sum      -1    41.05   25.54   44.70       0\n", "N/A",
     "# Out of bounds values : 1 FAILED\n", " NCCL INFO ",
     "NCCL INFO NCCL_ALGO set by environment to Tree.\n",
     "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n",
     "NCCL INFO comm 0x1 rank 0 nRanks 4294967297 nNodes 0 localRanks 8\n",
     "NCCL version 2.99.9999999999+cuda1.0\n", "all_gather_perf", "NCCL_",
     // Of YAML, JSON and CSV.
     ": ", "\n- ", "\n  ", "{", "}", "[", "]", ",", "\"\\u009b31m\"", "\"\\xff\"", "none", "true",
     "16 MiB", "400 Gb/s", "1 us", "{ from: 1 B, to: 1 TiB }", "collsim: ", "{}", "null",
     "../../../../etc/passwd",
     // What no terminal and no JSON may get.
     "\x1b]0;title\x07", "\xff", "\xed\xa0\x80", "\xc2\x9b", "\xe2\x80\xae"});

/// What a change has at hand besides the text.
struct Means {
  std::span<const TextFile> seeds;
  Dice& dice;
};

/// Some bytes from a place on, at most 200.
std::size_t some_length(const std::string& text, std::size_t place, Dice& dice) {
  return std::min(text.size() - place, 1 + dice.below(200));
}

void set_byte(std::string& text, std::size_t place, Means& means) {
  if (place < text.size()) text[place] = static_cast<char>(means.dice.below(256));
}

void flip_bit(std::string& text, std::size_t place, Means& means) {
  if (place < text.size())
    text[place] = static_cast<char>(text[place] ^ (1 << means.dice.below(8)));
}

void erase_piece(std::string& text, std::size_t place, Means& means) {
  text.erase(place, some_length(text, place, means.dice));
}

/// A piece is there up to 20 times, now and then as often as fits.
void repeat_piece(std::string& text, std::size_t place, Means& means) {
  const std::string piece = text.substr(place, some_length(text, place, means.dice));
  if (piece.empty()) return;
  const std::size_t most = size_limit / piece.size();
  const std::size_t times = means.dice.below(8) == 0 ? most : 1 + means.dice.below(20);
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += piece;
  text.insert(place, all);
}

void insert_word(std::string& text, std::size_t place, Means& means) {
  text.insert(place, dictionary[means.dice.below(dictionary.size())]);
}

/// The next number becomes another.
void change_number(std::string& text, std::size_t place, Means& means) {
  const std::size_t begin = text.find_first_of("0123456789", place);
  if (begin == std::string::npos) return;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
  text.replace(begin, end - begin, dictionary[means.dice.below(number_words)]);
}

void insert_from_seed(std::string& text, std::size_t place, Means& means) {
  const std::string& other = means.seeds[means.dice.below(means.seeds.size())].content;
  text.insert(place, other.substr(means.dice.below(other.size()), 1 + means.dice.below(400)));
}

/// The rest of a line is cut off, or is there twice.
void tear_line(std::string& text, std::size_t place, Means& means) {
  const std::size_t end = std::min(text.find('\n', place), text.size());
  if (means.dice.below(2) == 0) {
    text.erase(place, end - place);
  } else {
    text.insert(end, text.substr(place, end - place));
  }
}

/// The next word between blanks, or between quotes, becomes another that is there.
void exchange_word(std::string& text, std::size_t place, Means& means) {
  const char* const marks = means.dice.below(2) == 0 ? "\"" : " \n";
  const auto word_at = [&](std::size_t from) {
    const std::size_t begin = std::min(text.find_first_of(marks, from), text.size());
    const std::size_t end = std::min(text.find_first_of(marks, begin + 1), text.size());
    return std::pair{begin, end - begin};
  };
  const auto [begin, length] = word_at(place);
  const auto [other, other_length] = word_at(means.dice.below(text.size() + 1));
  text.replace(begin, length, text.substr(other, other_length));
}

constexpr std::array changes{set_byte,         flip_bit,    erase_piece,
                             repeat_piece,     insert_word, change_number,
                             insert_from_seed, tear_line,   exchange_word};

}  // namespace

std::size_t Dice::below(std::size_t bound) {
  return bound == 0 ? 0 : generator_() % bound;
}

void mutate(std::string& text, std::span<const TextFile> seeds, Dice& dice) {
  Means means{seeds, dice};
  const std::size_t place = dice.below(text.size() + 1);
  changes[dice.below(changes.size())](text, place, means);
  if (text.size() > size_limit) text.resize(size_limit);
}

}  // namespace collsim
