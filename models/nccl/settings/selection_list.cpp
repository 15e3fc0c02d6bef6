#include "models/nccl/settings/selection_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/input_error.h"
#include "sim/base/text.h"

namespace collsim {

bool Selection::allows(std::size_t member) const {
  return (std::find(members.begin(), members.end(), member) != members.end()) != exclude;
}

PerFunction<std::optional<Selection>> parse_selection_list(
    const std::string& variable, const std::string& text, NcclVersion version,
    const std::function<std::optional<std::size_t>(std::string_view)>& find,
    std::string_view members) {
  const auto reject = [&](const std::string& why, std::string_view accepted) {
    throw InputError(fmt::format("{}={}: {}", variable, text, why), std::string(accepted));
  };
  PerFunction<std::optional<Selection>> result;
  const auto entries = split(text, ';');
  if (entries.empty()) reject("empty", members);
  for (const std::string& entry : entries) {
    std::string_view list = entry;
    std::optional<NcclFunction> only;
    const std::size_t colon = entry.find(':');
    if (colon != std::string_view::npos) {
      if (version < NcclVersion{2, 24}) {
        reject("functions can be named from NCCL 2.24 on", "one list for all functions");
      }
      only = find_nccl_function(list.substr(0, colon));
      list.remove_prefix(colon + 1);
      if (!only) {
        reject(fmt::format("there is no function '{}'", entry.substr(0, colon)),
               "AllReduce, AllGather, ReduceScatter, Broadcast, Reduce");
      }
    } else if (&entry != &entries.front()) {
      reject("only the first list may be without a function", "function:list after each ;");
    }
    Selection selection;
    selection.exclude = list.starts_with('^');
    if (selection.exclude) list.remove_prefix(1);
    for (const std::string& name : split(list, ',')) {
      const auto member = find(name);
      if (!member) {
        reject(fmt::format("there is no '{}'", name), members);
      } else {
        selection.members.push_back(*member);
      }
    }
    if (selection.members.empty()) reject("empty list", members);
    for (const NcclFunction function : all_nccl_functions) {
      if (!only || *only == function) result[index_of(function)] = selection;
    }
  }
  return result;
}

}  // namespace collsim
