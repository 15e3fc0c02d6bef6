#include "tools/collsim/crossover/nccl_variants.h"

#include <fmt/format.h>

#include <limits>

#include "models/nccl/settings/function.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "sim/nccl/nccl_plan.h"

namespace collsim {

namespace {

NcclFunction function_to_choose_for(const CallCompiler& compiler) {
  const auto function = compiler.nccl_function();
  if (!function || compiler.nccl() == nullptr) {
    throw InputError("nothing to choose from",
                     "a collective that NCCL tunes, of several ranks: all_reduce, all_gather, "
                     "reduce_scatter, broadcast or reduce");
  }
  return *function;
}

std::vector<NcclVariants::Pair> pairs_of(const CallCompiler& compiler, NcclFunction function) {
  std::vector<NcclVariants::Pair> pairs;
  const Collective planned = under_nccl(compiler.spec().collective);
  // Which pairs there are does not depend on the size.
  for (const Candidate& candidate : compiler.nccl()->choose(function, Bytes{8}).candidates) {
    if (!why_no_nccl_plan(planned, candidate.algorithm)) {
      pairs.emplace_back(candidate.algorithm, candidate.protocol);
    }
  }
  if (pairs.empty()) throw InputError("NCCL's algorithms here are not simulated", "ring or tree");
  return pairs;
}

std::vector<Way> ways_of(Predictor& predictor, const std::vector<NcclVariants::Pair>& pairs) {
  std::vector<Way> ways;
  for (const NcclVariants::Pair& pair : pairs) {
    const Candidate candidate{pair.first, pair.second, 0};
    Way way;
    way.name = fmt::format("{}/{}", report_name(pair.first), report_name(pair.second));
    way.simulate = [&predictor, candidate](Bytes size) {
      return predictor.predict(size, candidate).time.value;
    };
    way.estimate = [&predictor, candidate](Bytes size) {
      return predictor.estimate(size, candidate).time.value;
    };
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace

std::string report_name(NcclAlgorithm algorithm) {
  return nccl_report_name(algorithm);
}

std::string report_name(Protocol protocol) {
  return lower_case(to_string(protocol));
}

NcclVariants::NcclVariants(Predictor& predictor)
    : predictor_(predictor),
      function_(function_to_choose_for(predictor.compiler())),
      pairs_(pairs_of(predictor.compiler(), function_)),
      times_(ways_of(predictor, pairs_), drift_of(predictor.compiler())) {}

Trust NcclVariants::trust(std::size_t way, Bytes size) {
  return predictor_.estimate(size, Candidate{pairs_[way].first, pairs_[way].second, 0}).trust;
}

Medium NcclVariants::medium(std::size_t way, Bytes size) {
  return predictor_.estimate(size, Candidate{pairs_[way].first, pairs_[way].second, 0}).medium;
}

double NcclVariants::nccl_estimate(std::size_t way, Bytes size) const {
  const auto& [algorithm, protocol] = pairs_[way];
  const auto estimate =
      predictor_.compiler().nccl()->estimate(function_, algorithm, protocol, size);
  return estimate ? *estimate : std::numeric_limits<double>::infinity();
}

std::size_t NcclVariants::chosen(Bytes size) const {
  std::size_t chosen = 0;
  for (std::size_t way = 1; way < pairs_.size(); ++way) {
    if (nccl_estimate(way, size) < nccl_estimate(chosen, size)) chosen = way;
  }
  return chosen;
}

double drift_of(const CallCompiler& compiler) {
  constexpr double known_well = 0.05;
  constexpr double known_badly = 0.5;
  const bool badly = compiler.cost().proxy.used || !compiler.spec().faults.empty();
  return badly ? known_badly : known_well;
}

}  // namespace collsim
