#include "models/validation/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "models/nccl/settings/function.h"
#include "sim/base/median.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

std::string recorded_algorithm(const RecordedRow& row) {
  return nccl_report_name(*row.algorithm);
}

std::optional<std::string> variable(const RecordedRow& row, const char* name) {
  const auto found = row.variables.find(name);
  if (found == row.variables.end()) return std::nullopt;
  return found->second;
}

std::string algorithm_of(const ValidatedRow& row) {
  if (row.recorded.algorithm) return recorded_algorithm(row.recorded);
  if (!function_of(*row.recorded.collective)) return row.algorithm;  // "p2p"
  return lower_case(variable(row.recorded, "NCCL_ALGO").value_or("auto"));
}

std::string protocol_of(const ValidatedRow& row) {
  if (row.recorded.protocol) return lower_case(to_string(*row.recorded.protocol));
  return lower_case(variable(row.recorded, "NCCL_PROTO").value_or("auto"));
}

std::uint32_t forced_channels(const RecordedRow& row) {
  const auto least = variable(row, "NCCL_MIN_NCHANNELS");
  const auto most = variable(row, "NCCL_MAX_NCHANNELS");
  if (!least || least != most || least->empty() || least->size() > 3) return 0;
  std::uint32_t channels = 0;
  for (const char digit : *least) {
    if (std::isdigit(static_cast<unsigned char>(digit)) == 0) return 0;
    channels = 10 * channels + static_cast<std::uint32_t>(digit - '0');
  }
  return channels;
}

/// Which network is used: said by the shape, or the same for a whole recording.
constexpr std::array<std::string_view, 4> network_variables{"NCCL_IB_DISABLE", "NCCL_MNNVL_ENABLE",
                                                            "NCCL_NET", "NCCL_SOCKET_IFNAME"};

/// What else was set and tells families apart. NVLS off is said by the algorithm.
std::string environment_of(const RecordedRow& row) {
  std::string environment;
  for (const auto& [name, value] : row.variables) {
    if (name == "NCCL_ALGO" || name == "NCCL_PROTO" || name == "NCCL_NVLS_ENABLE" ||
        name.ends_with("_NCHANNELS") ||
        std::find(network_variables.begin(), network_variables.end(), name) !=
            network_variables.end()) {
      continue;
    }
    environment += environment.empty() ? "" : " ";
    environment += fmt::format("{}={}", name.starts_with("NCCL_") ? name.substr(5) : name, value);
  }
  return environment;
}

FamilyScore score_rows(const ValidationFamily& family,
                       const std::vector<const ValidatedRow*>& rows) {
  std::array<std::vector<double>, size_band_count> bands;
  std::vector<double> all;
  std::vector<double> nccl;
  for (const ValidatedRow* row : rows) {
    bands[size_band(row->recorded.size)].push_back(row->error());
    all.push_back(row->error());
    if (row->nccl_estimate) {
      nccl.push_back(row->nccl_estimate->value / row->recorded.time.value - 1);
    }
  }
  FamilyScore scores{family, {}, score(all), score(nccl)};
  for (std::size_t band = 0; band < size_band_count; ++band) {
    scores.bands[band] = score(bands[band]);
  }
  return scores;
}

void count(Agreement& agreement, bool same) {
  ++agreement.rows;
  if (same) ++agreement.same;
}

}  // namespace

Score score(const std::vector<double>& errors) {
  Score score;
  score.rows = errors.size();
  if (errors.empty()) return score;
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    score.mean += sizes.back();
    score.bias += error;
  }
  std::sort(sizes.begin(), sizes.end());
  const std::size_t n = sizes.size();
  score.median = median(sizes);
  score.mean /= static_cast<double>(n);
  score.bias /= static_cast<double>(n);
  score.p90 = sizes[(9 * n + 9) / 10 - 1];  // nearest rank: ceil(0.9 n)
  score.worst = sizes.back();
  return score;
}

std::size_t size_band(Bytes size) {
  if (size < Bytes{64 << 10}) return 0;
  if (size < Bytes{1 << 20}) return 1;
  return size < Bytes{64 << 20} ? 2 : 3;
}

ValidationFamily family_of(const ValidatedRow& row) {
  const RecordedRow& recorded = row.recorded;
  return {*recorded.collective,     recorded.nodes,   recorded.ranks,
          algorithm_of(row),        protocol_of(row), forced_channels(recorded),
          environment_of(recorded), recorded.mode};
}

ValidationFamily family_of_any_channels(const ValidatedRow& row) {
  ValidationFamily family = family_of(row);
  family.channels = 0;
  return family;
}

std::string shape_of(std::uint32_t nodes, Rank ranks) {
  return nodes == 1 ? fmt::format("{}", ranks) : fmt::format("{}x{}", nodes, ranks / nodes);
}

std::map<ValidationFamily, std::vector<const ValidatedRow*>> by_family(
    const std::vector<ValidatedRow>& rows, const FamilyOf& family) {
  std::map<ValidationFamily, std::set<std::string>> files;
  for (const ValidatedRow& row : rows) files[family(row)].insert(row.recorded.file);
  std::map<ValidationFamily, std::vector<const ValidatedRow*>> families;
  for (const ValidatedRow& row : rows) {
    ValidationFamily own = family(row);
    if (files[own].size() > 1) own.recording = row.recorded.file;
    families[own].push_back(&row);
  }
  return families;
}

std::vector<FamilyScore> family_scores(const std::vector<ValidatedRow>& rows,
                                       const FamilyOf& family_of_row) {
  const auto families = by_family(rows, family_of_row);
  std::vector<FamilyScore> scores;
  scores.reserve(families.size());
  for (const auto& [family, members] : families) scores.push_back(score_rows(family, members));
  return scores;
}

FamilyScore total_score(const std::vector<ValidatedRow>& rows) {
  std::vector<const ValidatedRow*> members;
  members.reserve(rows.size());
  for (const ValidatedRow& row : rows) members.push_back(&row);
  return score_rows({}, members);
}

ChoiceAgreement choice_agreement(const std::vector<ValidatedRow>& rows) {
  ChoiceAgreement agreement;
  for (const ValidatedRow& row : rows) {
    const RecordedRow& recorded = row.recorded;
    if (!recorded.algorithm || !recorded.protocol) continue;
    const bool same_algorithm = recorded_algorithm(recorded) == row.algorithm;
    const bool same_protocol = *recorded.protocol == row.protocol;
    if (!variable(recorded, "NCCL_ALGO")) count(agreement.algorithm, same_algorithm);
    if (!variable(recorded, "NCCL_PROTO")) count(agreement.protocol, same_protocol);
    if (recorded.channels && forced_channels(recorded) == 0 && same_algorithm && same_protocol) {
      count(agreement.channels, *recorded.channels == row.channels);
    }
  }
  return agreement;
}

}  // namespace collsim
