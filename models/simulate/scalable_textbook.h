#pragma once

#include <optional>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"

namespace collsim {

/// Where everybody sends to everybody, most of what begins or ends changes most of the rates on
/// full cables: of so many ranks a message takes as many times this (all_to_all on 80, 112 GPUs of
/// abci-a100-x16: 14, 41 us a message).
inline constexpr double seconds_per_rank_of_exchange = 3e-7;

/// Whether a textbook's call may be extrapolated from one of fewer ranks with as many bytes on
/// every hop: rings, and schedules in which every pair talks, that cut the buffer by ranks. Each
/// further rank is a further step of theirs.
bool is_scalable_textbook(const CallCompiler& compiler);

/// Whether every pair of ranks is a connection of the textbook's schedule: its layout alone takes
/// seconds on hundreds of ranks.
bool joins_every_pair(const CallCompiler& compiler);

/// Whether the call is a textbook's all_to_all.
bool is_textbook_exchange(const CallCompiler& compiler);

/// A textbook's ring without a root.
bool is_textbook_ring(const CallCompiler& compiler);

/// Whether no chunk of a textbook's call is smaller than another, nor any slice of one.
bool has_like_chunks(const CallCompiler& compiler, Bytes size);

/// Messages that a call of a scalable textbook sends, each slice one: known without a plan.
double messages_of_textbook(const CallCompiler& compiler, Bytes size);

/// What a scalable textbook's call takes to simulate at the most, were none of its ranks folded.
double max_seconds_of_textbook(const CallCompiler& compiler, Bytes size);

/// What a message of a textbook's ring takes to simulate.
double seconds_per_message_of_ring(const CallCompiler& compiler, Bytes size);

/// How long cables are busy for certain, of the time that formulas say.
double busy_share_of(const Prediction& estimate);

/// What a textbook's call in which every pair talks takes to lay out and to simulate, of which
/// `share` of the ranks stand for all.
double likely_seconds_of_pairs(const CallCompiler& compiler, Bytes size, double share,
                               const Prediction& estimate);

/// The least size from the call's on that a textbook's ring cuts into chunks of one size; nothing
/// where it is such a size, or that makes more than `max_added` of it longer.
std::optional<Bytes> even_textbook_size(const CompiledCall& call, double max_added);

}  // namespace collsim
