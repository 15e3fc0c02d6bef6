#include "tools/collsim/watch/call_stream.h"

#include <algorithm>
#include <utility>

namespace collsim::command {

namespace {

constexpr std::size_t max_waiting = 64;  // calls of a communicator
constexpr std::size_t max_communicators = 4096;

StreamedCall begun_by(const RankCall& line) {
  StreamedCall call;
  call.communicator = line.communicator;
  call.collective = line.collective();
  call.number = line.number;
  call.bytes = line.size();
  call.ranks = line.ranks;
  call.nodes = line.nodes;
  call.microseconds = line.microseconds;
  call.last_rank = line.rank;
  call.last_host = line.host;
  return call;
}

void join(StreamedCall& call, const RankCall& line) {
  call.longest = std::max(call.longest, line.microseconds);
  call.written_us = std::max(call.written_us, line.written_us);
  if (!line.host.empty()) call.hosts.insert(line.host);
  if (line.microseconds >= call.microseconds) return;
  call.microseconds = line.microseconds;
  call.last_rank = line.rank;
  call.last_host = line.host;
}

}  // namespace

void CallStream::add(const RankCall& line, std::vector<StreamedCall>& done) {
  ++lines_;
  if (communicators_.size() >= max_communicators && !communicators_.contains(line.communicator)) {
    forget_the_quietest();
  }
  Communicator& communicator = communicators_[line.communicator];
  communicator.heard = lines_;
  communicator.ranks.insert(line.rank);
  if (line.number <= communicator.closed) return;  // too late: its call is done
  const auto [entry, is_new] = communicator.waiting.try_emplace(line.number);
  Waiting& waiting = entry->second;
  if (is_new) waiting.call = begun_by(line);
  join(waiting.call, line);
  waiting.spoke.insert(line.rank);
  // What came before a whole call is as whole as it will be: ranks make their calls in one order.
  if (waiting.spoke.size() == communicator.ranks.size() && communicator.ranks.size() > 1) {
    const std::int64_t whole = line.number;
    while (!communicator.waiting.empty() && communicator.waiting.begin()->first <= whole) {
      close_first(communicator, done);
    }
  }
  if (communicator.waiting.size() > max_waiting) close_first(communicator, done);
}

void CallStream::finish(std::vector<StreamedCall>& done) {
  for (auto& [id, communicator] : communicators_) {
    while (!communicator.waiting.empty()) close_first(communicator, done);
  }
}

void CallStream::close_first(Communicator& communicator, std::vector<StreamedCall>& done) {
  const auto first = communicator.waiting.begin();
  communicator.closed = first->first;
  done.push_back(std::move(first->second.call));
  communicator.waiting.erase(first);
}

void CallStream::forget_the_quietest() {
  communicators_.erase(std::min_element(
      communicators_.begin(), communicators_.end(),
      [](const auto& one, const auto& other) { return one.second.heard < other.second.heard; }));
}

}  // namespace collsim::command
