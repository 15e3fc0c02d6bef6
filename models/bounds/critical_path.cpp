#include "models/bounds/critical_path.h"

#include <algorithm>

namespace collsim {

CriticalPath critical_path(const Timeline& timeline, Seconds launch) {
  CriticalPath path;
  path.launch = launch;
  if (timeline.records.empty()) return path;
  const auto last = std::max_element(
      timeline.records.begin(), timeline.records.end(),
      [](const TimelineRecord& a, const TimelineRecord& b) { return a.over < b.over; });
  auto id = static_cast<RecordId>(last - timeline.records.begin());
  path.serial = last->over - last->end;
  while (id != no_record) {
    const TimelineRecord& record = timeline.records[id];
    path.records.push_back(id);
    path.serial += record.moving - record.begin;
    path.transfer += record.end - record.moving;
    if (record.cause == Cause::message) ++path.hops;
    if (record.caused_by != no_record) {
      const TimelineRecord& cause = timeline.records[record.caused_by];
      const Seconds free = record.cause == Cause::message ? cause.end : cause.over;
      path.serial += free - cause.end;
      path.latency += record.begin - free;
    }
    id = record.caused_by;
  }
  std::reverse(path.records.begin(), path.records.end());
  return path;
}

}  // namespace collsim
