#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/settings/function.h"
#include "models/nccl/settings/version.h"

namespace collsim {

/// What one list of NCCL_ALGO or NCCL_PROTO names.
struct Selection {
  bool exclude = false;  ///< "^": all but these
  std::vector<std::size_t> members;

  bool allows(std::size_t member) const;
};

/// Reads "ring,tree", "^LL128" and, from NCCL 2.24 on, "^LL128;allreduce:LL,LL128": lists for all
/// functions or, after a function's name and a colon, for one; only the first may lack a name
/// (NCCL src/graph/tuning.cc). Returns nothing for functions that no list is about. `find` says
/// which member a name means. Throws InputError, naming the variable and what it takes.
PerFunction<std::optional<Selection>> parse_selection_list(
    const std::string& variable, const std::string& text, NcclVersion version,
    const std::function<std::optional<std::size_t>(std::string_view)>& find,
    std::string_view members);

}  // namespace collsim
