#include "tools/collsim/diagnose/place_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "sim/topologies/name_run.h"

namespace collsim {

namespace {

/// Runs of names that differ in their last number alone, by rising numbers.
std::vector<NameRun> runs_of(const std::vector<std::string>& names) {
  std::vector<NameRun> all;
  all.reserve(names.size());
  std::transform(names.begin(), names.end(), std::back_inserter(all),
                 [](const std::string& name) { return run_of(name); });
  std::sort(all.begin(), all.end(), [](const NameRun& a, const NameRun& b) {
    return std::tie(a.stem, a.first) < std::tie(b.stem, b.first);
  });
  std::vector<NameRun> runs;
  for (const NameRun& each : all) {
    const bool goes_on = !runs.empty() && each.first >= 0 && runs.back().stem == each.stem &&
                         runs.back().last + 1 == each.first;
    if (goes_on) {
      runs.back().last = each.first;
    } else {
      runs.push_back(each);
    }
  }
  return runs;
}

/// The devices of each node that has places, and the nodes that have the same ones.
using NodesOfDevices = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add(const std::string& devices, std::string node, NodesOfDevices& all) {
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == devices; });
  if (known == all.end()) {
    all.push_back({devices, {std::move(node)}});
  } else {
    known->second.push_back(std::move(node));
  }
}

}  // namespace

std::string places_text(const std::vector<std::string>& places) {
  std::vector<std::string> texts;
  NodesOfDevices nodes;
  for (const NameRun& run : runs_of(places)) {
    const std::string text = run.text();
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) {
      texts.push_back(text);
    } else {
      add(text.substr(slash + 1), text.substr(0, slash), nodes);
    }
  }
  for (const auto& [devices, names] : nodes) {
    for (const NameRun& run : runs_of(names)) {
      texts.push_back(fmt::format("{}/{}", run.text(), devices));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace collsim
