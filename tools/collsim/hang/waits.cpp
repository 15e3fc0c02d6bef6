#include "tools/collsim/hang/waits.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <optional>

namespace collsim {

namespace {

struct OldestRun {
  std::optional<std::size_t> run;
  std::vector<std::size_t> calls;
};

void add_edges(const Job& job, std::size_t record, Waits& waits) {
  std::vector<std::size_t>& edges = waits.waits_for[record];
  for (const std::size_t call : waits.calls[record]) {
    for (const Participation& part : job.calls[call].participants) {
      if (part.record == record || part.progress == Progress::completed) continue;
      const bool waits_here = part.progress == Progress::pending &&
                              std::binary_search(waits.calls[part.record].begin(),
                                                 waits.calls[part.record].end(), call);
      if (!waits_here) edges.push_back(part.record);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
}

/// All from which a way leads to one of `ends`, and the ends.
std::vector<bool> leading_to(const std::vector<std::vector<std::size_t>>& waited_by,
                             const std::vector<std::size_t>& ends) {
  std::vector<bool> reached(waited_by.size(), false);
  std::vector<std::size_t> open = ends;
  for (const std::size_t end : ends) reached[end] = true;
  while (!open.empty()) {
    const std::size_t here = open.back();
    open.pop_back();
    for (const std::size_t next : waited_by[here]) {
      if (reached[next]) continue;
      reached[next] = true;
      open.push_back(next);
    }
  }
  return reached;
}

}  // namespace

Waits find_waits(const Job& job) {
  std::vector<OldestRun> oldest(job.records.size());
  for (std::size_t i = 0; i < job.calls.size(); ++i) {
    for (const Participation& part : job.calls[i].participants) {
      if (part.progress != Progress::pending) continue;
      OldestRun& run = oldest[part.record];
      if (!run.run || part.run < *run.run) run = {part.run, {}};
      if (part.run == *run.run) run.calls.push_back(i);
    }
  }
  Waits waits;
  waits.waits_for.resize(job.records.size());
  for (OldestRun& run : oldest) waits.calls.push_back(std::move(run.calls));
  for (std::size_t i = 0; i < job.records.size(); ++i) add_edges(job, i, waits);
  return waits;
}

std::vector<WaitRoot> find_roots(const Waits& waits) {
  const std::size_t count = waits.waits_for.size();
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(count);
  std::vector<std::vector<std::size_t>> waited_by(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t next : waits.waits_for[i]) {
      boost::add_edge(i, next, graph);
      waited_by[next].push_back(i);
    }
  }
  std::vector<std::size_t> component(count);
  const std::size_t components = boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, graph)));
  std::vector<std::vector<std::size_t>> members(components);
  std::vector<bool> is_end(components, true);
  for (std::size_t i = 0; i < count; ++i) {
    members[component[i]].push_back(i);
    for (const std::size_t next : waits.waits_for[i]) {
      if (component[next] != component[i]) is_end[component[i]] = false;
    }
  }
  std::vector<WaitRoot> roots;
  for (std::size_t each = 0; each < components; ++each) {
    const std::size_t first = members[each].front();
    if (!is_end[each] || (waits.calls[first].empty() && waited_by[first].empty())) continue;
    WaitRoot root{members[each], {}};
    const std::vector<bool> leads = leading_to(waited_by, root.records);
    for (std::size_t i = 0; i < count; ++i) {
      if (leads[i] && !waits.calls[i].empty()) root.waiting.push_back(i);
    }
    roots.push_back(std::move(root));
  }
  return roots;
}

}  // namespace collsim
