#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/collsim/moe/expert_exchange.h"
#include "tools/collsim/moe/skew.h"
#include "tools/collsim/plan/capacity_plan.h"

namespace collsim {

/// What is asked of machines that exchange the tokens of a mixture of experts.
struct ExchangePlanRequest {
  std::vector<Alternative> alternatives{};  ///< as many nodes of each as the ranks need
  std::vector<std::uint32_t> ranks{};       ///< that the experts are spread over
  std::vector<std::uint32_t> tokens{};      ///< of a rank
  std::optional<KernelFamily> family{};     ///< nothing: the quickest that such machines have
  ExpertLayer layer{};
  std::uint32_t experts = 256;
  std::uint32_t top_k = 8;
  std::uint32_t hosts_per_token = 4;
  Skew skew{};
};

/// One machine, one number of ranks, one number of tokens, by the quickest kernels.
struct ExchangePlanRow {
  std::size_t alternative = 0;
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  std::uint32_t tokens = 1;
  KernelFamily family = KernelFamily::deepep;
  Seconds dispatch{};  ///< with what comes before it (nvlink-two-sided's prepare)
  Seconds combine{};
  Seconds ports{};           ///< in which ports are full, of both
  std::string port{};        ///< the busiest of the dispatch
  double error = 0;          ///< of layer(): the median to expect, as a share
  std::string taken_over{};  ///< what is another machine's of the constants; empty: nothing
  bool best = false;         ///< the highest rate of as many ranks and tokens
  bool ties = false;         ///< within the error it might be the best
  Seconds layer() const { return dispatch + combine; }
  /// Tokens of a rank that a layer exchanges in a second.
  double rate() const { return tokens / layer().value; }
};

/// The answer, by alternative, ranks and tokens.
struct ExchangePlan {
  std::vector<ExchangePlanRow> rows{};
  std::set<std::string> warnings{};  ///< of machines that are left out
};

/// Predicts the exchange of a layer on every machine. Machines that no kernel runs on are left out
/// with a warning. Throws InputError where nothing is left, and for experts that do not fit.
ExchangePlan plan_exchange(const ExchangePlanRequest& request);

}  // namespace collsim
