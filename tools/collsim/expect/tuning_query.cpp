#include "tools/collsim/expect/tuning_query.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <vector>

#include "models/nccl/settings/function.h"
#include "models/recordings/readers.h"
#include "sim/base/file_format.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim::command {

namespace {

constexpr std::int64_t max_ranks = 1 << 20;
constexpr std::int64_t max_channels = 64;   // NCCL's MAXCHANNELS since 2.25
constexpr std::int64_t max_threads = 1024;  // of a thread block

/// Nothing for functions that carry no data of a collective's: "SendRecv".
std::optional<Collective> collective_of(const std::string& function) {
  const auto named = find_nccl_function(function);
  if (!named) return std::nullopt;
  for (const Collective each : all_collectives()) {
    if (each != Collective::barrier && function_of(each) == named) return each;
  }
  return std::nullopt;
}

bool is_null(const YamlValue& value) {
  return !value.is_scalar() && !value.is_sequence() && !value.is_mapping();
}

/// [bytes, algorithm, protocol, channels, threads, microseconds]; the algorithm is null where none
/// runs.
std::pair<Bytes, std::optional<Candidate>> read_entry(const YamlValue& entry) {
  constexpr std::size_t fields = 6;
  const std::vector<YamlValue> values = entry.sequence();
  if (values.size() != fields) {
    entry.fail(fmt::format("{} values", values.size()),
               "[bytes, algorithm, protocol, channels, threads, microseconds]");
  }
  const Bytes size{values[0].integer(0, std::int64_t{1} << 50)};
  if (is_null(values[1])) return {size, std::nullopt};
  const std::string algorithm = values[1].string();
  Candidate choice;
  const auto named = find_nccl_algorithm(algorithm);
  if (!named) values[1].fail(fmt::format("'{}'", algorithm), "an algorithm of NCCL's, as Ring");
  choice.algorithm = *named;
  const auto protocol = find_nccl_protocol(values[2].string());
  if (!protocol) {
    values[2].fail(fmt::format("'{}'", values[2].string()), "LL, LL128 or Simple");
  }
  choice.protocol = *protocol;
  choice.launch = LaunchSize{static_cast<std::uint32_t>(values[3].integer(1, max_channels)),
                             static_cast<std::uint32_t>(values[4].integer(32, max_threads))};
  return {size, choice};
}

const FileFormat tuning_query_format(FileKind::tuning,
                                     "what NCCL says that it would choose (ncclQueryCollTuning)",
                                     [](std::string_view text) {
                                       return is_tuning_query(text) ? FormatSign::mark
                                                                    : FormatSign::no;
                                     });

}  // namespace

std::optional<Candidate> TuningQuery::choice(Collective collective, Bytes size) const {
  const auto found = choices.find(collective);
  if (found == choices.end() || found->second.empty()) return std::nullopt;
  const auto above = found->second.upper_bound(size);
  return above == found->second.begin() ? above->second : std::prev(above)->second;
}

bool is_tuning_query(std::string_view text) {
  return begins_with_object(text) && text.find("\"best_by_size\"") != std::string_view::npos;
}

TuningQuery read_tuning_query(const TextFile& text) {
  const YamlMapping root = read_json(text).free_mapping();
  TuningQuery query;
  query.ranks = static_cast<Rank>(root.at("n_ranks").integer(1, max_ranks));
  const YamlValue nodes = root.at("n_nodes");
  const auto hosts = static_cast<Rank>(nodes.integer(1, query.ranks));
  if (query.ranks % hosts != 0) {
    nodes.fail(fmt::format("{} nodes of {} ranks", hosts, query.ranks), "as many ranks on each");
  }
  query.ranks_per_node = query.ranks / hosts;
  const YamlMapping functions = root.at("best_by_size").free_mapping();
  for (const auto& [name, entries] : functions.entries()) {
    const auto collective = collective_of(name.string());
    if (!collective) continue;
    for (const YamlValue& entry : entries.sequence()) {
      query.choices[*collective].insert(read_entry(entry));
    }
  }
  return query;
}

}  // namespace collsim::command
