#include "tools/collsim/choose/symmetric_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "models/nccl/settings/function.h"

namespace collsim::command {

namespace {

constexpr std::array functions{NcclFunction::all_reduce, NcclFunction::all_gather,
                               NcclFunction::reduce_scatter};
constexpr int min_log2_size = 8;
constexpr int max_log2_size = 33;

/// From this size on.
struct SymmetricSwitch {
  Bytes from;
  SymmetricChoice choice;
};

std::vector<SymmetricSwitch> sweep(NcclFunction function, const SymmetricSetting& setting) {
  std::vector<SymmetricSwitch> switches;
  for (int log2_size = min_log2_size; log2_size <= max_log2_size; ++log2_size) {
    const Bytes size{std::int64_t{1} << log2_size};
    if (why_not_symmetric(function, size, setting)) continue;
    const SymmetricChoice choice = choose_symmetric(function, size, setting);
    if (!switches.empty()) {
      const SymmetricChoice& last = switches.back().choice;
      if (last.chosen.kernel == choice.chosen.kernel && last.used_blocks == choice.used_blocks) {
        continue;
      }
    }
    switches.push_back({size, choice});
  }
  return switches;
}

void print_function(NcclFunction function, const SymmetricSetting& setting, std::ostream& out) {
  const Bytes smallest{std::int64_t{1} << min_log2_size};
  if (const auto reason = why_not_symmetric(function, smallest, setting)) {
    fmt::print(out, "symmetric {}: none, {}\n", nccl_name(function), *reason);
    return;
  }
  std::string_view last;
  for (const SymmetricSwitch& each : sweep(function, setting)) {
    const std::string_view name = nccl_name(each.choice.chosen.kernel);
    if (name != last) {
      fmt::print(out, "{}symmetric {}: {} from {}, thread blocks", last.empty() ? "" : "\n",
                 nccl_name(function), name, to_string(each.from));
    }
    last = name;
    fmt::print(out, " {} ({}, {:.1f}us)", each.choice.used_blocks, to_string(each.from),
               each.choice.chosen.time);
  }
  fmt::print(out, "\n");
}

}  // namespace

void print_symmetric_choices(const SymmetricSetting& setting, std::ostream& out) {
  fmt::print(out, "\nkernels on symmetric memory, both buffers registered as windows\n");
  for (const NcclFunction function : functions) print_function(function, setting, out);
}

Record symmetric_record(const SymmetricSetting& setting) {
  Record rows = Record::array();
  for (const NcclFunction function : functions) {
    for (const SymmetricSwitch& each : sweep(function, setting)) {
      Record candidates = Record::array();
      for (const SymmetricCandidate& candidate : each.choice.candidates) {
        candidates.push_back({{"kernel", nccl_name(candidate.kernel)},
                              {"thread_blocks", candidate.thread_blocks},
                              {"estimate_us", candidate.time}});
      }
      rows.push_back({{"function", nccl_name(function)},
                      {"from_size_bytes", each.from.count},
                      {"kernel", nccl_name(each.choice.chosen.kernel)},
                      {"thread_blocks", each.choice.used_blocks},
                      {"estimate_us", each.choice.chosen.time},
                      {"candidates", std::move(candidates)}});
    }
  }
  return rows;
}

}  // namespace collsim::command
