#include "tools/recorder/run_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>

#include "sim/base/input_error.h"

namespace collsim::recorder {

namespace {

constexpr std::string_view first_line = "collsim-runs 1";
constexpr std::array<std::string_view, 10> collectives{
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
    "send_recv",  "all_to_all", "gather",         "scatter",   "launch"};

/// One line, taken apart word by word.
class Line {
 public:
  Line(const std::string& text, SourcePosition position)
      : words_(text), position_(std::move(position)) {}

  [[noreturn]] void fail(const std::string& wrong, const std::string& accepted) const {
    throw InputError(position_, wrong, accepted);
  }
  std::string word(const std::string& accepted) {
    std::string word;
    if (!(words_ >> word)) fail("the line ends too early", accepted);
    return word;
  }
  bool more() { return (words_ >> std::ws).good(); }
  std::string rest() {
    words_ >> std::ws;
    return {std::istreambuf_iterator<char>(words_), {}};
  }
  template <typename Number>
  Number number(const std::string& accepted, Number least, Number most) {
    const std::string text = word(accepted);
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() ||
        !(value >= least && value <= most)) {
      fail("'" + text + "'", accepted);
    }
    return value;
  }

 private:
  std::istringstream words_;
  SourcePosition position_;
};

constexpr std::int64_t max_bytes = std::int64_t{1} << 40;
constexpr std::int64_t max_bits = 1'000'000'000'000'000;

bool flag(Line& line, std::string_view no, std::string_view yes) {
  const std::string accepted = std::string(no) + " or " + std::string(yes);
  const std::string word = line.word(accepted);
  if (word != no && word != yes) line.fail("'" + word + "'", accepted);
  return word == yes;
}

Case read_case(Line& line) {
  Case c;
  c.collective = line.word("a collective");
  if (std::find(collectives.begin(), collectives.end(), c.collective) == collectives.end()) {
    line.fail("'" + c.collective + "' is no collective", "all_reduce, all_gather ... or launch");
  }
  c.bytes = line.number<std::int64_t>("bytes", 0, max_bytes);
  c.in_place = flag(line, "out", "in");
  c.graph = flag(line, "plain", "graph");
  return c;
}

Hosts read_hosts(Line& line) {
  Hosts hosts;
  hosts.count = line.number("hosts, 2 to 250", 2, 250);
  hosts.gpus = line.number("GPUs of a host, 1 to 64", 1, 64);
  hosts.bits_per_second = line.number<std::int64_t>("bits per second", 1, max_bits);
  hosts.burst = line.number<std::int64_t>("bytes of burst", 1, max_bytes);
  while (line.more()) {
    const std::string accepted = "slow HOST BITS or uplink BITS";
    const std::string what = line.word(accepted);
    if (what == "slow") {
      const int host = line.number("a host's number", 0, hosts.count - 1);
      hosts.slow = SlowHost{host, line.number<std::int64_t>("bits per second", 1, max_bits)};
    } else if (what == "uplink") {
      hosts.uplink_bits_per_second = line.number<std::int64_t>("bits per second", 1, max_bits);
    } else {
      line.fail("'" + what + "'", accepted);
    }
  }
  return hosts;
}

void read_environment(Line& line, Run& run) {
  const std::string text = line.rest();
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) line.fail("'" + text + "'", "NAME=VALUE");
  run.environment[text.substr(0, equals)] = text.substr(equals + 1);
}

void read_fact(const std::string& key, Line& line, Run& run) {
  constexpr int many = 1'000'000'000;
  if (key == "ranks") {
    run.ranks = line.number("ranks, 1 to 64", 1, 64);
  } else if (key == "gpus") {
    while (line.more()) run.gpus.push_back(line.number("a GPU's number", 0, 1023));
  } else if (key == "hosts") {
    run.hosts = read_hosts(line);
  } else if (key == "env") {
    read_environment(line, run);
  } else if (key == "allow_nvls") {
    run.allow_nvls = true;
  } else if (key == "registered") {
    run.buffers = Buffers::registered;
  } else if (key == "user_registered") {
    run.buffers = Buffers::user_registered;
  } else if (key == "warmup") {
    run.warmup = line.number("calls", 0, many);
  } else if (key == "iterations") {
    run.iterations = line.number("calls, 1 or more", 1, many);
  } else if (key == "repeats") {
    run.repeats = line.number("repeats, 1 or more", 1, many);
  } else if (key == "case_seconds") {
    run.case_seconds = line.number("seconds", 0.0, 1e6);
  } else if (key == "stall_seconds") {
    run.stall_seconds = line.number("seconds", 1.0, 1e6);
  } else if (key == "case") {
    run.cases.push_back(read_case(line));
  } else {
    line.fail("'" + key + "'",
              "run, ranks, gpus, hosts, env, allow_nvls, registered, user_registered, warmup, "
              "iterations, "
              "repeats, case_seconds, stall_seconds or case");
  }
}

void check_complete(const Run& run, const SourcePosition& position) {
  const auto fail = [&](const std::string& wrong, const std::string& accepted) {
    throw InputError(position, "run " + run.name + " " + wrong, accepted);
  };
  if (run.ranks == 0 || run.iterations == 0 || run.repeats == 0 || run.stall_seconds == 0) {
    fail("is not complete", "ranks, iterations, repeats and stall_seconds in every run");
  }
  if (run.gpus.size() != static_cast<std::size_t>(run.ranks)) {
    fail("has another number of GPUs than of ranks", "one GPU for every rank");
  }
  if (run.hosts && run.hosts->count * run.hosts->gpus != run.ranks) {
    fail("has other hosts than ranks", "hosts times GPUs of each = ranks");
  }
  check_nvls(run);
}

std::string_view place(const Case& c) {
  return c.in_place ? "in" : "out";
}

void write_hosts(std::ostream& out, const Hosts& hosts) {
  out << "hosts " << hosts.count << ' ' << hosts.gpus << ' ' << hosts.bits_per_second << ' '
      << hosts.burst;
  if (hosts.slow) out << " slow " << hosts.slow->host << ' ' << hosts.slow->bits_per_second;
  if (hosts.uplink_bits_per_second) out << " uplink " << *hosts.uplink_bits_per_second;
  out << '\n';
}

void write_run(std::ostream& out, const Run& run) {
  out << "run " << run.name << "\nranks " << run.ranks << "\ngpus";
  for (const int gpu : run.gpus) out << ' ' << gpu;
  out << '\n';
  if (run.hosts) write_hosts(out, *run.hosts);
  for (const auto& [name, value] : run.environment) out << "env " << name << '=' << value << '\n';
  if (run.allow_nvls) out << "allow_nvls\n";
  if (run.buffers == Buffers::registered) out << "registered\n";
  if (run.buffers == Buffers::user_registered) out << "user_registered\n";
  out << "warmup " << run.warmup << "\niterations " << run.iterations << "\nrepeats " << run.repeats
      << "\ncase_seconds " << run.case_seconds << "\nstall_seconds " << run.stall_seconds << '\n';
  for (const Case& c : run.cases) {
    out << "case " << c.collective << ' ' << c.bytes << ' ' << place(c) << ' '
        << (c.graph ? "graph" : "plain") << '\n';
  }
}

}  // namespace

std::string to_string(const Case& c) {
  return c.collective + " of " + std::to_string(c.bytes) + " bytes, " +
         (c.in_place ? "in place" : "out of place") + (c.graph ? ", in a graph" : "");
}

void write_run_list(std::ostream& out, const std::vector<Run>& runs) {
  out << first_line << '\n';
  for (const Run& run : runs) write_run(out, run);
}

std::vector<Run> read_run_list(std::istream& in, const std::string& file) {
  SourcePosition position{file, 1, 0};
  std::string text;
  if (!std::getline(in, text) || text != first_line) {
    throw InputError(position, "this is no run list",
                     "a first line '" + std::string(first_line) +
                         "' (collsim-recorder-plan makes one of a plan)");
  }
  std::vector<Run> runs;
  std::set<std::string> names;
  while (std::getline(in, text)) {
    ++position.line;
    Line line(text, position);
    if (!line.more() || text.front() == '#') continue;
    const std::string key = line.word("a key");
    if (key == "run") {
      if (!runs.empty()) check_complete(runs.back(), position);
      runs.emplace_back().name = line.word("a name");
      if (!names.insert(runs.back().name).second) {
        line.fail("a second run " + runs.back().name, "every run once");
      }
    } else if (runs.empty()) {
      line.fail("'" + key + "' before the first run", "run NAME");
    } else {
      read_fact(key, line, runs.back());
    }
    if (line.more()) {
      const std::string rest = line.rest();
      line.fail("'" + rest + "' is too much", "the end of the line");
    }
  }
  if (!runs.empty()) check_complete(runs.back(), position);
  return runs;
}

void check_nvls(const Run& run) {
  if (run.allow_nvls) return;
  const auto found = run.environment.find("NCCL_NVLS_ENABLE");
  if (found != run.environment.end() && found->second != "0") {
    throw InputError("run " + run.name + " sets NCCL_NVLS_ENABLE to " + found->second,
                     "0, unless the plan says allow_nvls: true");
  }
}

}  // namespace collsim::recorder
