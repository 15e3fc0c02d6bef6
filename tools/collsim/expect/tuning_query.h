#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "models/nccl/choice.h"
#include "sim/base/text_file.h"
#include "sim/plan/collective.h"

namespace collsim::command {

/// What a communicator of NCCLX says that it will run: the answer of ncclQueryCollTuning, as
/// torchcomms' query_coll_tuning() gives it to Python and json.dump() writes it.
struct TuningQuery {
  Rank ranks = 1;
  Rank ranks_per_node = 1;
  /// By collective what runs from a size on; nothing where none of NCCL's algorithms does.
  std::map<Collective, std::map<Bytes, std::optional<Candidate>>> choices;

  /// What runs at a size. Nothing where the communicator does not say.
  std::optional<Candidate> choice(Collective collective, Bytes size) const;
};

bool is_tuning_query(std::string_view text);
/// Reads such a query. Throws InputError.
TuningQuery read_tuning_query(const TextFile& text);

}  // namespace collsim::command
