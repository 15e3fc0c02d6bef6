#include "sim/plan/schedule_builder.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace collsim {

namespace {

constexpr std::uint32_t largest_group_id = (1U << 24) - 1;

bool overlap(ChunkRange a, ChunkRange b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

// FNV-1a over whole ids: equal lists have to meet, unequal ones are compared anyway.
std::uint64_t hash_of(std::span<const ConnectionId> members) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const ConnectionId member : members) hash = (hash ^ member) * 0x100000001b3;
  return hash;
}

PrimitiveKind with_send(PrimitiveKind receive) {
  return receive == PrimitiveKind::recv ? PrimitiveKind::recv_copy_send
                                        : PrimitiveKind::recv_reduce_copy_send;
}

}  // namespace

void ScheduleBuilder::TransfersByRank::clear() {
  for (const Rank rank : touched_) first_[rank] = 0;
  touched_.clear();
  next_.clear();
}

// Transfers are appended in order, each to one list.
void ScheduleBuilder::TransfersByRank::append(Rank rank, std::uint32_t transfer) {
  next_.push_back(0);
  assert(next_.size() == transfer + 1);
  if (first_[rank] == 0) {
    first_[rank] = transfer + 1;
    touched_.push_back(rank);
  } else {
    next_[last_[rank]] = transfer + 1;
  }
  last_[rank] = transfer;
}

Primitive& ScheduleBuilder::ProgramEnd::append(ChunkRange chunks) {
  Primitive& primitive = back.emplace_back();
  primitive.first_chunk = chunks.first;
  primitive.chunk_count = chunks.count;
  return primitive;
}

/// What the receiving steps before the last have left can no more be changed.
void ScheduleBuilder::ProgramEnd::open(std::uint32_t step, std::uint32_t chunks) {
  const auto last = back.begin() + open_begin;
  for (auto each = back.begin(); each != last; ++each) front.append(*each, chunks);
  back.erase(back.begin(), last);
  open_begin = static_cast<std::uint32_t>(back.size());
  open_step = step;
}

/// As if the last step had come so many times more: each leaves what it has left, turned.
void ScheduleBuilder::ProgramEnd::repeat(std::uint32_t times, const ChunkTurn& turn,
                                         std::uint32_t chunks) {
  const auto turned = [&](const Primitive& primitive, std::uint32_t turns) {
    Primitive later = primitive;
    later.first_chunk = turn.turned(primitive.chunks(), turns).first;
    return later;
  };
  const bool turns_all = turn.first == 0 && turn.of * turn.width == chunks;
  if (open_begin == 1 && turns_all) {
    front.append(Run{back.front(), times, turn.by * turn.width % chunks}, chunks);
  } else {
    for (std::uint32_t i = 0; i < times; ++i) {
      for (std::uint32_t k = 0; k < open_begin; ++k) front.append(turned(back[k], i), chunks);
    }
  }
  for (Primitive& primitive : back) primitive = turned(primitive, times);
  open_step += times;
}

void ScheduleBuilder::ProgramEnd::close(std::uint32_t chunks) {
  for (const Primitive& primitive : back) front.append(primitive, chunks);
  back.clear();
}

ScheduleBuilder::ScheduleBuilder(Rank ranks, std::uint32_t chunks)
    : by_rank_(ranks), programs_(1, std::vector<ProgramEnd>(ranks)), recent_(ranks, end_of_list) {
  assert(ranks > 0 && ranks < (1U << 28) && chunks > 0);
  schedule_.ranks_ = ranks;
  schedule_.chunks_ = chunks;
  schedule_.group_begin_ = {0, 0};
}

void ScheduleBuilder::phase(std::string_view name) {
  auto& names = schedule_.phases_;
  const auto found = std::find(names.begin(), names.end(), name);
  phase_ = static_cast<PhaseId>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  assert(names.size() <= 256);
}

void ScheduleBuilder::lane(std::uint32_t lane) {
  assert(lane < no_lane);
  if (lane > 0 && producer_.empty()) track_producers();
  while (programs_.size() <= lane) programs_.emplace_back(schedule_.ranks_);
  lane_ = static_cast<std::uint8_t>(lane);
}

void ScheduleBuilder::step() {
  if (transfers_.empty()) return;
  end_step();
  ++step_;
}

void ScheduleBuilder::reduce(Rank from, Rank to, ChunkRange chunks) {
  add(from, to, chunks, true);
}

void ScheduleBuilder::copy(Rank from, Rank to, ChunkRange chunks) {
  add(from, to, chunks, false);
}

void ScheduleBuilder::add(Rank from, Rank to, ChunkRange chunks, bool reduce) {
  assert(from < schedule_.ranks_ && to < schedule_.ranks_ && from != to);
  if (turns_ > 0) chunks = turn_.turned(chunks, turns_);
  assert(chunks.count > 0 && chunks.first + chunks.count <= schedule_.chunks_);
  if (schedule_.phases_.empty()) phase("");
  transfers_.push_back({from, to, chunks, connection(from, to), lane_, phase_, reduce});
}

// Two steps show what every further one does: sends meet the receives of the step before, on
// connections that the step before has used.
void ScheduleBuilder::repeat(std::uint32_t times, const ChunkTurn& turn,
                             const std::function<void()>& transfers) {
  assert(turns_ == 0 && "repeated steps within repeated steps");
  turn_ = turn;
  for (std::uint32_t i = 0; i < times; ++i) {
    const bool alike = i == 2 && producer_.empty() && every_sender_receives();
    step();
    if (alike && i + 1 < times) {
      repeat_last_step(times - 1 - i, turn);
      i = times - 1;
    }
    turns_ = i;
    transfers();
  }
  turns_ = 0;
}

bool ScheduleBuilder::every_sender_receives() {
  by_rank_.clear();
  for (std::uint32_t i = 0; i < transfers_.size(); ++i) by_rank_.append(transfers_[i].to, i);
  return std::all_of(transfers_.begin(), transfers_.end(),
                     [&](const Transfer& transfer) { return by_rank_.has(transfer.from); });
}

/// Its receivers, who are its senders too, stand in by_rank_ still.
void ScheduleBuilder::repeat_last_step(std::uint32_t times, const ChunkTurn& turn) {
  for (const Rank rank : by_rank_.ranks()) {
    ProgramEnd& program = programs_.front()[rank];
    for (const Primitive& received : program.open_receives()) {
      for (const ConnectionId id : schedule_.peers(received.receive_group)) {
        uses_[id].last_send_step = step_ - 1 + times;
      }
    }
    program.repeat(times, turn, schedule_.chunks_);
  }
  step_ += times;
}

ConnectionId ScheduleBuilder::connection(Rank from, Rank to) {
  auto& connections = schedule_.connections_;
  const Connection wanted{from, to, lane_};
  if (recent_[from] != end_of_list && connections[recent_[from]] == wanted) return recent_[from];
  const std::uint64_t key = (std::uint64_t{from} << 36) | (std::uint64_t{to} << 8) | lane_;
  const auto [entry, added] =
      connection_ids_.try_emplace(key, static_cast<ConnectionId>(connections.size()));
  if (added) {
    connections.push_back(wanted);
    uses_.emplace_back();
  }
  return recent_[from] = entry->second;
}

void ScheduleBuilder::end_step() {
  const auto count = static_cast<std::uint32_t>(transfers_.size());
  by_rank_.clear();
  for (std::uint32_t i = 0; i < count; ++i) by_rank_.append(transfers_[i].from, i);
  for (const Rank rank : by_rank_.ranks()) lower_sends(rank);
  by_rank_.clear();
  for (std::uint32_t i = 0; i < count; ++i) by_rank_.append(transfers_[i].to, i);
  for (const Rank rank : by_rank_.ranks()) lower_receives(rank);
  transfers_.clear();
}

void ScheduleBuilder::lower_sends(Rank rank) {
  std::uint32_t i = by_rank_.first(rank);
  while (i != end_of_list) {
    const Transfer& first = transfers_[i];
    const std::uint8_t lane = lane_of_send(first);
    members_.clear();
    for (; i != end_of_list; i = by_rank_.next(i)) {
      const Transfer& transfer = transfers_[i];
      if (!(transfer.chunks == first.chunks) || transfer.phase != first.phase ||
          lane_of_send(transfer) != lane) {
        break;
      }
      members_.push_back(transfer.connection);
    }
    place_send(rank, lane, first);
  }
}

// Until now there was lane 0 only, so what was received there is all that was written.
void ScheduleBuilder::track_producers() {
  producer_.assign(std::size_t{schedule_.ranks_} * schedule_.chunks_, no_lane);
  for (Rank rank = 0; rank < schedule_.ranks_; ++rank) {
    const ProgramEnd& end = programs_.front()[rank];
    const auto note = [&](const Primitive& primitive) {
      if (receives(primitive.kind)) set_producer(rank, primitive.chunks(), 0);
    };
    for (const Primitive& primitive : Program(end.front, schedule_.chunks_)) note(primitive);
    for (const Primitive& primitive : end.back) note(primitive);
  }
}

void ScheduleBuilder::set_producer(Rank rank, ChunkRange chunks, std::uint8_t lane) {
  if (producer_.empty()) return;
  const std::size_t begin = std::size_t{rank} * schedule_.chunks_ + chunks.first;
  std::fill_n(producer_.begin() + static_cast<std::ptrdiff_t>(begin), chunks.count, lane);
}

std::uint8_t ScheduleBuilder::lane_of_send(const Transfer& transfer) const {
  if (producer_.empty()) return transfer.lane;
  const auto* const begin =
      producer_.data() + std::size_t{transfer.from} * schedule_.chunks_ + transfer.chunks.first;
  std::uint8_t lane = no_lane;
  for (const auto* producer = begin; producer != begin + transfer.chunks.count; ++producer) {
    if (*producer == no_lane) continue;
    assert((lane == no_lane || lane == *producer) && "a send needs values of several lanes");
    lane = *producer;
  }
  return lane == no_lane ? transfer.lane : lane;
}

void ScheduleBuilder::place_send(Rank rank, std::uint8_t lane, const Transfer& transfer) {
  ProgramEnd& program = programs_[lane][rank];
  Primitive* primitive = find_receive_to_fuse(program, transfer.chunks);
  if (primitive != nullptr) {
    primitive->kind = with_send(primitive->kind);
  } else {
    primitive = &program.append(transfer.chunks);
  }
  primitive->send_group = group_of_members() & largest_group_id;
  primitive->phase = transfer.phase;
  mark_sent(lane);
}

Primitive* ScheduleBuilder::find_receive_to_fuse(ProgramEnd& program, ChunkRange chunks) {
  for (std::uint32_t i = program.open_end; i-- > program.open_begin;) {
    Primitive& candidate = program.back[i];
    if (!receives(candidate.kind) || !overlap(candidate.chunks(), chunks)) continue;
    if (!(candidate.chunks() == chunks) || sends(candidate.kind)) return nullptr;
    const bool last = i + 1 == program.back.size();
    return last || members_idle_since(program.open_step) ? &candidate : nullptr;
  }
  return nullptr;
}

bool ScheduleBuilder::members_idle_since(std::uint32_t step) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](ConnectionId id) { return uses_[id].last_send_step < step; });
}

void ScheduleBuilder::mark_sent(std::uint8_t lane) {
  for (const ConnectionId id : members_) {
    assert((uses_[id].send_lane == no_lane || uses_[id].send_lane == lane) &&
           "a connection is used from several lanes of its sender");
    uses_[id].send_lane = lane;
    uses_[id].last_send_step = step_;
  }
}

void ScheduleBuilder::lower_receives(Rank rank) {
  std::uint32_t i = by_rank_.first(rank);
  while (i != end_of_list) {
    const Transfer& first = transfers_[i];
    members_.clear();
    do {
      members_.push_back(transfers_[i].connection);
      i = by_rank_.next(i);
    } while (i != end_of_list && first.reduce && transfers_[i].reduce &&
             transfers_[i].chunks == first.chunks && transfers_[i].lane == first.lane);
    append_receive(rank, first);
  }
}

void ScheduleBuilder::append_receive(Rank rank, const Transfer& transfer) {
  ProgramEnd& program = programs_[transfer.lane][rank];
  if (program.open_step != step_) program.open(step_, schedule_.chunks_);
  Primitive& primitive = program.append(transfer.chunks);
  program.open_end = static_cast<std::uint32_t>(program.back.size());
  primitive.receive_group = group_of_members() & largest_group_id;
  primitive.kind = transfer.reduce ? PrimitiveKind::recv_reduce_copy : PrimitiveKind::recv;
  primitive.phase = transfer.phase;
  set_producer(rank, transfer.chunks, transfer.lane);
}

PeerGroupId ScheduleBuilder::group_of_members() {
  if (members_.size() == 1) {
    PeerGroupId& own = uses_[members_.front()].own_group;
    if (own == 0) own = append_group(members_);
    return own;
  }
  const std::uint64_t hash = hash_of(members_);
  const auto [begin, end] = groups_by_hash_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    const auto peers = schedule_.peers(entry->second);
    if (std::equal(peers.begin(), peers.end(), members_.begin(), members_.end())) {
      return entry->second;
    }
  }
  const PeerGroupId group = append_group(members_);
  groups_by_hash_.emplace(hash, group);
  return group;
}

PeerGroupId ScheduleBuilder::append_group(std::span<const ConnectionId> members) {
  auto& all = schedule_.group_members_;
  all.insert(all.end(), members.begin(), members.end());
  schedule_.group_begin_.push_back(static_cast<std::uint32_t>(all.size()));
  const std::size_t group = schedule_.group_begin_.size() - 2;
  assert(group <= largest_group_id);
  return static_cast<PeerGroupId>(group);
}

Schedule ScheduleBuilder::build() && {
  step();
  schedule_.lanes_ = static_cast<std::uint32_t>(programs_.size());
  schedule_.programs_.reserve(std::size_t{schedule_.ranks_} * schedule_.lanes_);
  for (Rank rank = 0; rank < schedule_.ranks_; ++rank) {
    for (auto& programs : programs_) {
      programs[rank].close(schedule_.chunks_);
      schedule_.programs_.push_back(std::move(programs[rank].front));
    }
  }
  return std::move(schedule_);
}

Group::Group(ScheduleBuilder& builder, std::vector<Rank> ranks, std::uint32_t first_chunk,
             std::uint32_t chunk_width)
    : builder_(&builder),
      ranks_(std::move(ranks)),
      first_chunk_(first_chunk),
      chunk_width_(chunk_width) {}

void Group::phase(std::string_view name) {
  builder_->phase(phase_prefix_ + std::string(name));
}

void Group::lane(std::uint32_t lane) {
  if (!single_lane_) builder_->lane(lane);
}

void Group::step() {
  builder_->step();
}

void Group::reduce(Rank from, Rank to, ChunkRange chunks) {
  builder_->reduce(ranks_[from], ranks_[to], outer(chunks));
}

void Group::copy(Rank from, Rank to, ChunkRange chunks) {
  builder_->copy(ranks_[from], ranks_[to], outer(chunks));
}

void Group::repeat(std::uint32_t times, std::uint32_t by, std::uint32_t of,
                   const std::function<void()>& transfers) {
  builder_->repeat(times, {by, of, first_chunk_, chunk_width_}, transfers);
}

ChunkRange Group::outer(ChunkRange chunks) const {
  return {first_chunk_ + chunks.first * chunk_width_, chunks.count * chunk_width_};
}

Group Group::subgroup(std::span<const Rank> ranks, std::uint32_t first_chunk,
                      std::uint32_t chunk_width, bool single_lane,
                      std::string_view phase_prefix) const {
  std::vector<Rank> outer_ranks;
  outer_ranks.reserve(ranks.size());
  for (const Rank rank : ranks) outer_ranks.push_back(ranks_[rank]);
  Group group(*builder_, std::move(outer_ranks), first_chunk_ + first_chunk * chunk_width_,
              chunk_width * chunk_width_);
  group.single_lane_ = single_lane_ || single_lane;
  group.phase_prefix_ = phase_prefix_ + std::string(phase_prefix);
  return group;
}

}  // namespace collsim
