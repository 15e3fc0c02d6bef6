// Random programs on several communicators. Ranks that follow one order do not hang, however far
// each has come. A disorder that is planted in one rank's program is found, with the rank.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/collsim/hang/hang_analysis.h"
#include "tools/collsim/hang/watchdog_text.h"

namespace collsim {
namespace {

constexpr std::size_t ordered_programs = 10'000;
constexpr std::size_t planted_disorders = 10'000;
constexpr std::int64_t timeout_ms = 600'000;
constexpr std::int64_t timeout_ns = timeout_ms * 1'000'000;
constexpr std::int64_t begin_ns = 1'700'000'000'000'000'000;

/// Numbers that are the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}
  std::size_t below(std::size_t bound) { return generator_() % bound; }
  bool coin() { return below(2) == 0; }

 private:
  std::mt19937_64 generator_;
};

/// A call of a program.
struct ScriptStep {
  std::size_t communicator = 0;
  std::string operation;
  std::int64_t elements = 0;
  std::string type;
  std::int64_t line = 0;  ///< of the Python program
  bool is_alike(const ScriptStep& other) const {
    return operation == other.operation && elements == other.elements && type == other.type;
  }
};

using Script = std::vector<ScriptStep>;

/// A job: who is in which communicator, and what each rank does.
struct World {
  std::vector<std::vector<std::uint32_t>> communicators;
  std::vector<Script> programs;
};

const std::vector<std::string> scripted_operations{"all_reduce", "broadcast", "_reduce_oop"};
const std::vector<std::string> types{"Float", "BFloat16", "Long"};

bool contains(const std::vector<std::uint32_t>& ranks, std::size_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

World random_world(Draw& draw) {
  World world;
  const std::size_t ranks = 2 + draw.below(7);
  world.communicators.emplace_back();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) world.communicators[0].push_back(rank);
  const std::size_t more = draw.below(4);
  while (world.communicators.size() <= more) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (draw.coin()) members.push_back(rank);
    }
    if (members.size() > 1) world.communicators.push_back(members);
  }
  world.programs.resize(ranks);
  const std::size_t steps = 4 + draw.below(20);
  for (std::size_t i = 0; i < steps; ++i) {
    const ScriptStep step{draw.below(world.communicators.size()),
                          scripted_operations[draw.below(3)], 1000 + static_cast<std::int64_t>(i),
                          types[draw.below(3)], static_cast<std::int64_t>(i) + 1};
    for (const std::uint32_t rank : world.communicators[step.communicator]) {
      world.programs[rank].push_back(step);
    }
  }
  return world;
}

/// Which of the calls on its communicator a rank's step is, from 1 on.
std::int64_t number_of(const Script& program, std::size_t step) {
  return std::count_if(
      program.begin(), program.begin() + static_cast<std::ptrdiff_t>(step) + 1,
      [&](const ScriptStep& each) { return each.communicator == program[step].communicator; });
}

/// The step that is a rank's call of that number, if it is among its first `issued` ones.
const ScriptStep* find_step(const Script& program, std::size_t issued, std::size_t communicator,
                            std::int64_t number) {
  for (std::size_t i = 0; i < issued; ++i) {
    if (program[i].communicator == communicator && --number == 0) return &program[i];
  }
  return nullptr;
}

/// Whether a rank's call has completed when every rank has issued so many steps.
bool completes(const World& world, const std::vector<std::size_t>& issued, std::size_t rank,
               std::size_t step, bool mismatch_runs) {
  const ScriptStep& own = world.programs[rank][step];
  const std::int64_t number = number_of(world.programs[rank], step);
  for (const std::uint32_t member : world.communicators[own.communicator]) {
    const ScriptStep* const other =
        find_step(world.programs[member], issued[member], own.communicator, number);
    if (other == nullptr) return false;
    if (!mismatch_runs && !other->is_alike(own)) return false;
  }
  return true;
}

/// Steps that ranks issue which wait for each call, until none can go on.
std::vector<std::size_t> run_blocking(const World& world, bool mismatch_runs) {
  std::vector<std::size_t> issued(world.programs.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < issued.size(); ++rank) {
      const std::size_t at = issued[rank];
      if (at == world.programs[rank].size()) continue;
      if (at > 0 && !completes(world, issued, rank, at - 1, mismatch_runs)) continue;
      ++issued[rank];
      moved = true;
    }
  }
  return issued;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  return fmt::format("{}", fmt::join(ranks, ", "));
}

FlightEntry entry_of(const World& world, const std::vector<std::size_t>& issued, std::size_t rank,
                     std::size_t step, bool mismatch_runs) {
  const ScriptStep& own = world.programs[rank][step];
  FlightEntry entry;
  entry.group = std::to_string(own.communicator);
  entry.group_id = static_cast<std::int64_t>(own.communicator);
  entry.record = static_cast<std::int64_t>(step);
  entry.collective_sequence = number_of(world.programs[rank], step);
  entry.shape = {own.operation, {own.elements}, {own.elements}, {own.type}, {own.type}};
  entry.is_completed = completes(world, issued, rank, step, mismatch_runs);
  entry.created_ns = begin_ns + own.line * 1'000'000;
  if (entry.is_completed) entry.completed_ns = entry.created_ns + 50'000;
  entry.timeout_ms = timeout_ms;
  entry.frame = FlightFrame{"step", "train.py", own.line};
  return entry;
}

/// The dumps of a world, written so long after it began. `kept` is how many calls a dump holds.
Job dumps_of(const World& world, const std::vector<std::size_t>& issued, bool mismatch_runs,
             std::int64_t written_after_ns, std::size_t kept = 1000) {
  std::vector<FlightRecord> records;
  for (std::size_t rank = 0; rank < world.programs.size(); ++rank) {
    FlightRecord record;
    record.file = fmt::format("rank_{}", rank);
    record.rank = static_cast<std::uint32_t>(rank);
    for (std::size_t i = 0; i < world.communicators.size(); ++i) {
      if (!contains(world.communicators[i], rank)) continue;
      const std::string name = std::to_string(i);
      record.groups[name] = {name, {}, world.communicators[i]};
    }
    const std::size_t first = issued[rank] > kept ? issued[rank] - kept : 0;
    for (std::size_t step = first; step < issued[rank]; ++step) {
      record.entries.push_back(entry_of(world, issued, rank, step, mismatch_runs));
    }
    record.written_ns = begin_ns + written_after_ns;
    records.push_back(std::move(record));
  }
  return assemble_job(std::move(records));
}

TEST(HangProperty, ranks_that_follow_one_order_do_not_hang) {
  for (std::size_t seed = 0; seed < ordered_programs; ++seed) {
    Draw draw(seed);
    const World world = random_world(draw);
    std::vector<std::size_t> issued;
    for (const Script& program : world.programs) issued.push_back(draw.below(program.size() + 1));
    const std::size_t kept = draw.coin() ? 1000 : 1 + draw.below(6);
    const Job job = dumps_of(world, issued, false, timeout_ns / 2, kept);
    const HangAnalysis analysis = analyse_hang(job);
    ASSERT_FALSE(is_hang(analysis.verdict))
        << "seed " << seed << ": " << to_string(analysis.verdict);
  }
}

TEST(HangProperty, programs_that_end_are_no_hang) {
  for (std::size_t seed = 0; seed < 1000; ++seed) {
    Draw draw(seed);
    const World world = random_world(draw);
    const Job job = dumps_of(world, run_blocking(world, false), false, 2 * timeout_ns);
    ASSERT_EQ(analyse_hang(job).verdict, HangVerdict::no_hang) << "seed " << seed;
  }
}

enum class Disorder { drop, swap, operation, size, type, communicator, exit };

/// A disorder in one rank's program.
struct Planted {
  Disorder disorder = Disorder::drop;
  std::size_t rank = 0;
  std::size_t communicator = 0;  ///< of the first wrong call
  std::int64_t number = 0;
  std::size_t members = 0;
  bool is_planted = false;
};

void change(ScriptStep& step, Disorder disorder) {
  if (disorder == Disorder::operation) {
    step.operation = step.operation == "all_reduce" ? "broadcast" : "all_reduce";
  } else if (disorder == Disorder::size) {
    step.elements /= 2;
  } else {
    step.type = step.type == "Float" ? "Half" : "Float";
  }
}

/// Another communicator of the rank, or none.
std::size_t other_communicator(const World& world, std::size_t rank, std::size_t own, Draw& draw) {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < world.communicators.size(); ++i) {
    if (i != own && contains(world.communicators[i], rank)) others.push_back(i);
  }
  return others.empty() ? own : others[draw.below(others.size())];
}

Planted plant(World& world, Disorder disorder, Draw& draw) {
  Planted planted{disorder, draw.below(world.programs.size()), 0, 0, 0, false};
  Script& program = world.programs[planted.rank];
  if (program.size() < 2) return planted;
  const std::size_t at = draw.below(program.size() - (disorder == Disorder::swap ? 1 : 0));
  planted.communicator = program[at].communicator;
  planted.number = number_of(program, at);
  planted.members = world.communicators[planted.communicator].size();
  const auto place = program.begin() + static_cast<std::ptrdiff_t>(at);
  planted.is_planted = true;
  switch (disorder) {
    case Disorder::drop:
      program.erase(place);
      break;
    case Disorder::swap:
      std::swap(program[at], program[at + 1]);
      break;
    case Disorder::communicator: {
      const std::size_t other = other_communicator(world, planted.rank, planted.communicator, draw);
      planted.is_planted = other != planted.communicator;
      place->communicator = other;
      break;
    }
    case Disorder::exit:
      program.erase(place, program.end());
      break;
    default:
      change(*place, disorder);
  }
  return planted;
}

bool has_all_completed(const World& world, const std::vector<std::size_t>& issued) {
  for (std::size_t rank = 0; rank < issued.size(); ++rank) {
    if (issued[rank] != world.programs[rank].size()) return false;
    for (std::size_t step = 0; step < issued[rank]; ++step) {
      if (!completes(world, issued, rank, step, false)) return false;
    }
  }
  return true;
}

bool names(const HangFinding& finding, std::size_t rank) {
  return contains(finding.suspects, rank);
}

/// Whether a finding or one of the calls that it lists is on the communicator.
bool is_about(const Job& job, const HangFinding& finding, std::size_t communicator) {
  const std::string name = std::to_string(communicator);
  const auto is_on = [&](std::size_t call) {
    return job.communicators[job.calls[call].communicator].name == name;
  };
  return is_on(finding.call) ||
         std::any_of(finding.groups.begin(), finding.groups.end(),
                     [&](const HangGroup& group) { return is_on(group.call); });
}

/// What another operation, size or type must give: the very call, with the rank alone, or with both
/// ranks where the communicator has two.
void expect_exact(const Job& job, const HangFinding& found, const Planted& planted,
                  HangVerdict verdict) {
  EXPECT_EQ(found.verdict, verdict);
  EXPECT_EQ(job.calls[found.call].sequence, planted.number);
  EXPECT_EQ(found.suspects.size(), planted.members == 2 ? 2U : 1U) << ranks_text(found.suspects);
}

bool is_disagreement(HangVerdict verdict) {
  return verdict == HangVerdict::missing_call || verdict == HangVerdict::other_operation ||
         verdict == HangVerdict::other_order || verdict == HangVerdict::other_type ||
         verdict == HangVerdict::other_size;
}

void expect_found(const Job& job, const HangAnalysis& analysis, const Planted& planted) {
  ASSERT_TRUE(is_hang(analysis.verdict)) << to_string(analysis.verdict);
  const HangFinding& found = analysis.findings.front();
  EXPECT_TRUE(names(found, planted.rank))
      << to_string(found.verdict) << " names " << ranks_text(found.suspects);
  const JobCall& call = job.calls[found.call];
  const auto issued =
      std::count_if(call.participants.begin(), call.participants.end(),
                    [](const Participation& part) { return part.entry != nullptr; });
  if (is_disagreement(found.verdict) && issued > 2) {
    EXPECT_EQ(found.suspects.size(), 1U) << ranks_text(found.suspects);
  }
  const bool is_elsewhere =
      planted.disorder == Disorder::swap || planted.disorder == Disorder::communicator;
  EXPECT_TRUE(is_elsewhere || is_about(job, found, planted.communicator))
      << to_string(found.verdict);
  switch (planted.disorder) {
    case Disorder::operation:
      return expect_exact(job, found, planted, HangVerdict::other_operation);
    case Disorder::size:
      return expect_exact(job, found, planted, HangVerdict::other_size);
    case Disorder::type:
      return expect_exact(job, found, planted, HangVerdict::other_type);
    case Disorder::exit:
      EXPECT_EQ(found.verdict, HangVerdict::cpu_side);
      EXPECT_EQ(found.suspects.size(), 1U);
      return;
    default:
      return;
  }
}

TEST(HangProperty, a_planted_disorder_is_found_with_its_rank) {
  std::set<HangVerdict> seen;
  std::size_t planted_count = 0;
  for (std::size_t seed = 0; seed < planted_disorders; ++seed) {
    Draw draw(1'000'000 + seed);
    World world = random_world(draw);
    const auto disorder = static_cast<Disorder>(seed % 7);
    const Planted planted = plant(world, disorder, draw);
    if (!planted.is_planted) continue;
    const bool mismatch_runs = draw.coin();
    const std::vector<std::size_t> issued = run_blocking(world, mismatch_runs);
    const Job job = dumps_of(world, issued, mismatch_runs, 2 * timeout_ns);
    const HangAnalysis analysis = analyse_hang(job);
    SCOPED_TRACE(fmt::format("seed {}, disorder {}, rank {}, call {} of {}", seed, seed % 7,
                             planted.rank, planted.number, planted.communicator));
    if (disorder == Disorder::swap && has_all_completed(world, issued)) {
      // Two communicators that share no other rank: their order is free.
      ASSERT_EQ(analysis.verdict, HangVerdict::no_hang);
      continue;
    }
    ++planted_count;
    seen.insert(analysis.verdict);
    expect_found(job, analysis, planted);
    if (HasFailure()) return;
  }
  EXPECT_GT(planted_count, planted_disorders * 8 / 10);
  for (const HangVerdict each :
       {HangVerdict::missing_call, HangVerdict::other_order, HangVerdict::other_operation,
        HangVerdict::other_type, HangVerdict::other_size, HangVerdict::other_communicator,
        HangVerdict::cycle, HangVerdict::cpu_side}) {
    EXPECT_TRUE(seen.contains(each)) << to_string(each);
  }
}

/// A rank's lines of the watchdog, in the words of some release.
std::string watchdog_lines(std::size_t rank, std::int64_t call, std::size_t wording) {
  const std::string group = wording == 0 ? "PG 1 Rank" : "PG ID 0 PG GUID 0(default_pg) Rank";
  const std::string nccl = wording == 0 ? "NCCL " : "";
  return fmt::format(
      "step 7 loss 2.1\n{3}[{1} {0}] Watchdog caught collective operation timeout: WorkNCCL("
      "SeqNum={4}, OpType=ALLREDUCE, NumelIn=6, NumelOut=6, Timeout(ms)=600000) ran for 600060 "
      "milliseconds before timing out.\n{3}[{1} {0}] failure detected by watchdog at work: {4}, "
      "last enqueued {2}work: {5}, last completed {2}work: {6}\n",
      rank, group, nccl, wording == 2 ? fmt::format("host-3: [rank{}]:[E] ", rank) : "", call,
      call + 2, call - 1);
}

/// The desync report of a rank that stays behind.
std::string desync_lines(std::size_t ranks, std::size_t behind, std::int64_t call) {
  std::vector<std::size_t> others;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank != behind) others.push_back(rank);
  }
  return fmt::format(
      "x: \t - Snapshot of ranks' latest states:\nx: \t   #{0} finished ranks:\nx: \t     [{1}] "
      "finished ALLREDUCE\nx: \t   #{2} started ranks:\nx: \t     [{3}] started BROADCAST\n",
      call - 1, behind, call + 2, fmt::join(others, ", "));
}

// What people paste of hangs: a log with lines of the watchdog, of all ranks but one.
TEST(HangProperty, a_rank_without_lines_is_named) {
  Draw draw(5);
  for (int i = 0; i < 300; ++i) {
    const std::size_t ranks = 3 + draw.below(62);
    const std::size_t missing = draw.below(ranks - 1);
    const auto call = static_cast<std::int64_t>(2 + draw.below(5000));
    const std::size_t wording = draw.below(3);
    std::string text;
    for (std::size_t rank = ranks; rank-- > 0;) {
      if (rank != missing) text += watchdog_lines(rank, call, wording);
    }
    const std::vector<std::uint32_t> named{static_cast<std::uint32_t>(missing)};
    ASSERT_TRUE(has_watchdog_lines(text));
    const HangAnalysis by_lines = analyse_hang(assemble_job(read_watchdog_text("log", text)));
    ASSERT_EQ(by_lines.verdict, HangVerdict::no_dump) << text;
    ASSERT_EQ(by_lines.findings.front().suspects, named) << text;
    text += desync_lines(ranks, missing, call);
    const HangAnalysis by_report = analyse_hang(assemble_job(read_watchdog_text("log", text)));
    ASSERT_EQ(by_report.verdict, HangVerdict::cpu_side) << text;
    ASSERT_EQ(by_report.findings.front().suspects, named) << text;
  }
}

/// What NCCL's RAS says of ranks that are one call behind, fewer than the others.
std::string ras_lines(std::size_t ranks, const std::vector<std::uint32_t>& behind,
                      std::int64_t call) {
  std::string text = fmt::format(
      "Warnings\n========\n\n#0-0 (cf264af53edbe986) MISMATCH\n"
      "  Communicator ranks have different collective operation counts\n"
      "  {} ranks have launched up to operation {}\n"
      "  {} ranks have launched up to operation {}\n",
      ranks - behind.size(), call, behind.size(), call - 1);
  for (const std::uint32_t rank : behind) {
    text += fmt::format("  Rank {} -- GPU {} managed by process 7{} on node 10.0.0.{}\n", rank,
                        rank % 8, rank, rank / 8);
  }
  return text + "\n#1-0 (aa) MISMATCH\n  1 ranks have launched up to operation 3\n";
}

/// What torchfrtrace prints of them.
std::string trace_lines(std::size_t ranks, const std::vector<std::uint32_t>& behind,
                        std::int64_t call) {
  std::vector<std::size_t> all(ranks);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return fmt::format(
      "Not all ranks joining collective {} at entry 4\ngroup info: 0:default_pg\n"
      "collective: nccl:all_reduce\nmissing ranks: {{{}}}\ninput sizes: [[1024]]\n"
      "expected ranks: {{{}}}\n",
      call, fmt::join(behind, ", "), fmt::join(all, ", "));
}

// What other tools say of a hang: the ranks that they name never issued the call.
TEST(HangProperty, ranks_that_other_tools_call_behind_are_named) {
  Draw draw(6);
  for (int i = 0; i < 300; ++i) {
    const std::size_t ranks = 4 + draw.below(61);
    std::set<std::uint32_t> some;
    while (some.size() < 1 + ranks / 8) some.insert(static_cast<std::uint32_t>(draw.below(ranks)));
    const std::vector<std::uint32_t> behind(some.begin(), some.end());
    const auto call = static_cast<std::int64_t>(5 + draw.below(5000));
    for (const std::string& text :
         {ras_lines(ranks, behind, call), trace_lines(ranks, behind, call)}) {
      ASSERT_TRUE(has_watchdog_lines(text));
      const HangAnalysis found = analyse_hang(assemble_job(read_watchdog_text("log", text)));
      ASSERT_EQ(found.verdict, HangVerdict::cpu_side) << text;
      ASSERT_EQ(found.findings.front().suspects, behind) << text;
    }
  }
}

}  // namespace
}  // namespace collsim
