#pragma once

#include <cstdint>
#include <string_view>

namespace collsim {

/// `count` consecutive chunks from `first`. A collective's buffer is cut into Schedule::chunks()
/// chunks; how many bytes each has is bound late, by DataPartition.
struct ChunkRange {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  constexpr bool operator==(const ChunkRange&) const = default;
};

/// What one primitive does, in NCCL's words: receive, reduce with the own buffer, copy into the own
/// buffer, send on, in this order. `recv_send` leaves the own buffer out: it adds up what came,
/// which may be one message, and sends that on.
enum class PrimitiveKind : std::uint8_t {
  send,
  copy_send,
  recv,
  recv_copy_send,
  recv_reduce_send,
  recv_reduce_copy,
  recv_reduce_copy_send,
  recv_send,
};

constexpr bool receives(PrimitiveKind kind) {
  return kind != PrimitiveKind::send && kind != PrimitiveKind::copy_send;
}
constexpr bool sends(PrimitiveKind kind) {
  return kind != PrimitiveKind::recv && kind != PrimitiveKind::recv_reduce_copy;
}
/// Whether what comes is added up. Of a `recv_send` it need not be more than one message.
constexpr bool reduces(PrimitiveKind kind) {
  return kind == PrimitiveKind::recv_reduce_send || kind == PrimitiveKind::recv_reduce_copy ||
         kind == PrimitiveKind::recv_reduce_copy_send || kind == PrimitiveKind::recv_send;
}
/// Whether it reads the rank's own buffer.
constexpr bool reads_own(PrimitiveKind kind) {
  return kind == PrimitiveKind::send || kind == PrimitiveKind::copy_send ||
         (reduces(kind) && kind != PrimitiveKind::recv_send);
}
/// Whether the result stays in the own buffer (a bare `recv` stores what came).
constexpr bool stores(PrimitiveKind kind) {
  return kind != PrimitiveKind::send && kind != PrimitiveKind::recv_reduce_send &&
         kind != PrimitiveKind::recv_send;
}
std::string_view to_string(PrimitiveKind kind);

/// A list of connections that one primitive uses together (a tree's children); 0 is the empty one.
using PeerGroupId = std::uint32_t;
using PhaseId = std::uint8_t;

/// One instruction of a rank's program: wait for one message on every connection of
/// `receive_group`, combine, send one message on every connection of `send_group`. A primitive that
/// stores its result gives the received messages' credits back before it sends; one that does not,
/// after. `phase` is that of its sends, if it has any, else that of its receives.
struct Primitive {
  std::uint32_t first_chunk = 0;
  std::uint32_t chunk_count = 1;
  std::uint32_t receive_group : 24 = 0;
  PrimitiveKind kind : 8 = PrimitiveKind::send;
  std::uint32_t send_group : 24 = 0;
  std::uint32_t phase : 8 = 0;

  constexpr ChunkRange chunks() const { return {first_chunk, chunk_count}; }
};
static_assert(sizeof(Primitive) == 16);

}  // namespace collsim
