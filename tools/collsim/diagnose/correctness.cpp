#include "tools/collsim/diagnose/correctness.h"

#include <fmt/format.h>

#include <map>

#include "models/validation/recorded_call.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

using Settings = std::map<std::string, std::string>;

std::string value_of(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::string() : lower_case(found->second);
}

bool talks_over_sockets(const LogFacts& facts, const Settings& settings) {
  return facts.network == "Socket" || facts.transports.contains(LogTransport::sockets) ||
         value_of(settings, "NCCL_NET") == "socket" || value_of(settings, "NCCL_IB_DISABLE") == "1";
}

/// NCCL_PROTO lists protocols; after ^ those that are not to be used.
bool forces_ll128(const Settings& settings) {
  const std::string value = value_of(settings, "NCCL_PROTO");
  return !value.starts_with('^') && value.find("ll128") != std::string::npos;
}

}  // namespace

std::vector<std::string> corrupting_settings(const LogFacts& facts, const Settings& settings) {
  // LL128 needs stores of 128 bytes that arrive whole. NCCL's documentation (NCCL_PROTO) warns that
  // it corrupts data where they do not, so that users should not force it.
  if (!forces_ll128(settings)) return {};
  const std::string value = settings.at("NCCL_PROTO");
  if (talks_over_sockets(facts, settings)) {
    return {
        fmt::format("NCCL_PROTO={} is set, and hosts talk over sockets, which do not support "
                    "LL128: NCCL never chooses it there, and forced it corrupts data. Unset "
                    "NCCL_PROTO",
                    value)};
  }
  return {
      fmt::format("NCCL_PROTO={} is set: LL128 corrupts data on links that split stores of 128 "
                  "bytes, where NCCL does not choose it. Unset NCCL_PROTO",
                  value)};
}

Correctness correctness_of(const Recording& recording, const LogFacts& facts,
                           const ValidationOptions& options) {
  Correctness correctness;
  Settings settings = facts.variables;
  for (const RecordedRow& row : recording.rows) {
    if (!row.wrong || excluded(row, options)) continue;
    if (correctness.wrong_rows++ == 0) {
      correctness.first = fmt::format("line {}, {} B, {}", row.line, row.size.count,
                                      row.in_place ? "in place" : "out of place");
    }
    for (const auto& [name, value] : row.variables) settings[name] = value;
  }
  if (correctness.is_wrong()) correctness.causes = corrupting_settings(facts, settings);
  return correctness;
}

std::string describe(const Correctness& correctness, const Recording& recording) {
  std::string text = fmt::format(
      "{} of {} times are of wrong results (#wrong, error, or out of bounds values), the "
      "first in {}; no time of such a log counts",
      correctness.wrong_rows, recording.rows.size(), correctness.first);
  for (const std::string& cause : correctness.causes) text += ". " + cause;
  if (correctness.causes.empty()) text += ". A GPU, a link, memory or a setting corrupts data";
  return text;
}

}  // namespace collsim
