#include "sim/plan/schedule_writer.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace collsim {

namespace {

constexpr std::uint32_t largest_group_id = (1U << 24) - 1;

}  // namespace

ScheduleWriter::ScheduleWriter(Rank ranks, std::uint32_t lanes, std::uint32_t chunks,
                               std::vector<SwitchReducer> agents) {
  assert(ranks > 0 && lanes > 0 && chunks > 0);
  schedule_.ranks_ = ranks;
  schedule_.agents_ = std::move(agents);
  schedule_.lanes_ = lanes;
  schedule_.chunks_ = chunks;
  schedule_.programs_.resize(std::size_t{schedule_.participants()} * lanes);
  schedule_.group_begin_ = {0, 0};
  group_ids_[{}] = 0;
}

void ScheduleWriter::phase(std::string_view name) {
  auto& names = schedule_.phases_;
  const auto found = std::find(names.begin(), names.end(), name);
  phase_ = static_cast<PhaseId>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  assert(names.size() <= 256);
}

ConnectionId ScheduleWriter::connection(const Connection& wanted) {
  assert(wanted.src < schedule_.participants() && wanted.dst < schedule_.participants());
  const auto [entry, added] =
      connection_ids_.try_emplace({wanted.src, wanted.dst, wanted.lane},
                                  static_cast<ConnectionId>(schedule_.connections_.size()));
  if (added) schedule_.connections_.push_back(wanted);
  return entry->second;
}

PeerGroupId ScheduleWriter::group(std::span<const Connection> members) {
  std::vector<ConnectionId> ids;
  for (const Connection& member : members) ids.push_back(connection(member));
  const auto next = static_cast<PeerGroupId>(schedule_.group_begin_.size() - 1);
  const auto [entry, added] = group_ids_.try_emplace(ids, next);
  if (added) {
    assert(next <= largest_group_id);
    schedule_.group_members_.insert(schedule_.group_members_.end(), ids.begin(), ids.end());
    schedule_.group_begin_.push_back(static_cast<std::uint32_t>(schedule_.group_members_.size()));
  }
  return entry->second;
}

void ScheduleWriter::append(Rank participant, std::uint32_t lane, PrimitiveKind kind,
                            ChunkRange chunks, PeerGroupId receive_group, PeerGroupId send_group,
                            const Repeats& repeats) {
  assert(receives(kind) == (receive_group != 0) && sends(kind) == (send_group != 0));
  assert(chunks.first + chunks.count <= schedule_.chunks_);
  assert(repeats.chunk_stride < schedule_.chunks_);
  assert(!schedule_.is_agent(participant) || kind == PrimitiveKind::recv_send);
  if (schedule_.phases_.empty()) phase("");
  Primitive primitive;
  primitive.first_chunk = chunks.first;
  primitive.chunk_count = chunks.count;
  primitive.receive_group = receive_group & largest_group_id;
  primitive.kind = kind;
  primitive.send_group = send_group & largest_group_id;
  primitive.phase = phase_;
  schedule_.programs_[std::size_t{participant} * schedule_.lanes_ + lane].append(
      Run{primitive, repeats.count, repeats.chunk_stride}, schedule_.chunks_);
}

Schedule ScheduleWriter::build() && {
  return std::move(schedule_);
}

}  // namespace collsim
