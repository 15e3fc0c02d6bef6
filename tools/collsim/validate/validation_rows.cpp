// The machine-readable forms of a validation: a line or object per row.

#include <fmt/format.h>

#include "tools/collsim/report/records.h"
#include "tools/collsim/validate/validation_report.h"

namespace collsim::command {

namespace {

using nlohmann::ordered_json;

/// What ran: as recorded, else as predicted.
struct Ran {
  std::string algorithm;
  std::string protocol;
  std::uint32_t channels;
};

Ran ran(const ValidatedRow& row) {
  const RecordedRow& recorded = row.recorded;
  return {recorded.algorithm ? std::string(to_string(*recorded.algorithm)) : row.algorithm,
          std::string(to_string(recorded.protocol.value_or(row.protocol))),
          recorded.channels.value_or(row.channels)};
}

/// Rounded to nanoseconds, as in recordings.
double rounded_microseconds(Seconds time) {
  return std::stod(fmt::format("{:.3f}", in_microseconds(time)));
}

ordered_json to_json(const ValidatedRow& row) {
  const RecordedRow& recorded = row.recorded;
  const Ran what = ran(row);
  ordered_json object{{"id", recorded.id},
                      {"nranks", recorded.ranks},
                      {"collective", to_string(*recorded.collective)},
                      {"algorithm", what.algorithm},
                      {"protocol", what.protocol},
                      {"channels", what.channels},
                      {"size_bytes", recorded.size.count},
                      {"measured_us", rounded_microseconds(recorded.time)},
                      {"predicted_us", rounded_microseconds(row.predicted)},
                      {"nccl_estimate_us", nullptr},
                      {"error", row.error()},
                      {"nodes", recorded.nodes},
                      {"predicted_algorithm", row.algorithm},
                      {"predicted_protocol", to_string(row.protocol)},
                      {"predicted_channels", row.channels},
                      {"in_place", recorded.in_place},
                      {"mode", to_string(recorded.mode)},
                      {"recording", recorded.file},
                      {"machine", row.machine},
                      {"nccl_version", to_string(row.nccl_version)},
                      {"engine", row.analytic ? "analytic" : "native"},
                      {"trust", to_string(row.trust)},
                      {"medium", row.medium.name},
                      {"collsim_version", COLLSIM_VERSION}};
  if (row.nccl_estimate) object["nccl_estimate_us"] = rounded_microseconds(*row.nccl_estimate);
  return object;
}

ordered_json to_json(const Score& score) {
  return {{"rows", score.rows}, {"median", score.median}, {"mean", score.mean},
          {"p90", score.p90},   {"worst", score.worst},   {"bias", score.bias}};
}

ordered_json to_json(const ValidationFamily& family) {
  return {{"collective", to_string(family.collective)},
          {"nranks", family.ranks},
          {"nodes", family.nodes},
          {"algorithm", family.algorithm},
          {"protocol", family.protocol},
          {"channels", family.channels},
          {"mode", to_string(family.mode)},
          {"environment", family.environment}};
}

ordered_json to_json(const FamilyScore& score) {
  ordered_json object = to_json(score.family);
  for (std::size_t band = 0; band < size_band_count; ++band) {
    object["bands"][std::string(size_band_names[band])] = to_json(score.bands[band]);
  }
  object["all"] = to_json(score.all);
  object["nccl_estimate"] = to_json(score.nccl);
  return object;
}

ordered_json to_json(const Agreement& agreement) {
  return {{"rows", agreement.rows}, {"same", agreement.same}};
}

ordered_json to_json(const Crossover& crossover) {
  ordered_json object{{"first_faster_at_smallest", crossover.first_before},
                      {"first_faster_at_largest", crossover.first_after},
                      {"size_bytes", nullptr}};
  if (crossover.size) object["size_bytes"] = *crossover.size;
  return object;
}

ordered_json to_json(const Regret& regret) {
  return {{"sizes", regret.sizes},
          {"best", regret.best},
          {"mean", regret.mean},
          {"worst", regret.worst}};
}

ordered_json to_json(const Comparison& comparison) {
  ordered_json object = to_json(comparison.family);
  object.erase("algorithm");
  object.erase("protocol");
  object["pairs"] = ordered_json::array();
  for (const ComparisonPair& pair : comparison.pairs) {
    ordered_json entry{{"first", pair.first},
                       {"second", pair.second},
                       {"sizes", pair.sizes},
                       {"measured", to_json(pair.measured)},
                       {"predicted", to_json(pair.predicted)}};
    if (pair.nccl) entry["nccl_estimate"] = to_json(*pair.nccl);
    object["pairs"].push_back(entry);
  }
  object["our_regret"] = to_json(comparison.ours);
  object["nccl_regret"] = to_json(comparison.nccl);
  return object;
}

template <typename Value>
ordered_json list_of(const std::vector<Value>& values) {
  ordered_json list = ordered_json::array();
  for (const Value& value : values) list.push_back(to_json(value));
  return list;
}

}  // namespace

std::vector<Record> validation_rows(const ValidationReport& report) {
  std::vector<Record> rows;
  for (const ValidatedRow& row : report.validation.rows) rows.push_back(to_json(row));
  return rows;
}

Record no_validation_row() {
  ValidatedRow row;
  row.recorded.collective = Collective::all_reduce;
  row.recorded.time = Seconds{1};
  return to_json(row);
}

Record validation_document(const ValidationReport& report) {
  const std::vector<ValidatedRow>& rows = report.validation.rows;
  const ChoiceAgreement agreement = choice_agreement(rows);
  ordered_json root;
  root["rows"] = list_of(rows);
  root["scores"] = list_of(family_scores(rows));
  const FamilyScore total = total_score(rows);
  root["total"] = {{"all", to_json(total.all)}, {"nccl_estimate", to_json(total.nccl)}};
  root["choices"] = {{"algorithm", to_json(agreement.algorithm)},
                     {"protocol", to_json(agreement.protocol)},
                     {"channels", to_json(agreement.channels)}};
  root["comparisons"] = list_of(comparisons(rows));
  root["left_out"] = ordered_json::array();
  for (const auto& [reason, left_out] : report.validation.left_out) {
    root["left_out"].push_back(
        {{"reason", reason}, {"rows", left_out.rows}, {"first_id", left_out.first_id}});
  }
  return root;
}

}  // namespace collsim::command
