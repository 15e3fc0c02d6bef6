#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/algorithms/msccl_names.h"
#include "sim/algorithms/msccl_xml.h"
#include "sim/base/xml_file.h"

namespace collsim {

namespace {

constexpr Rank max_gpus = 1024;
constexpr std::int64_t max_number = 1 << 16;
/// Chunks of all messages together.
constexpr std::size_t max_moved_chunks = 4'000'000;

/// One step of a thread block: what it receives, and what it sends.
struct MscclStep {
  bool receives = false;
  bool reduces = false;
  bool sends = false;
  std::uint32_t source = 0;  ///< chunk
  std::uint32_t target = 0;
  std::uint32_t count = 1;
  std::int64_t waits_for_block = -1;  ///< id; -1: none
  std::int64_t waits_for_step = -1;
  SourcePosition place;
};

struct MscclBlock {
  std::int64_t id = 0;
  std::int64_t send_peer = -1;
  std::int64_t receive_peer = -1;
  std::uint32_t channel = 0;
  std::vector<MscclStep> steps;
};

/// What a file says, before anything runs.
struct MscclProgram {
  TransferList list;                            ///< without steps
  std::vector<std::vector<MscclBlock>> blocks;  ///< [rank]
};

/// Reads the thread blocks, with chunks in our numbers.
class MscclReader {
 public:
  explicit MscclReader(const TextFile& text) : file_(text, "algo") {}

  MscclProgram read() && {
    read_head();
    for (const pugi::xml_node& gpu : file_.root().children("gpu")) read_gpu(gpu);
    if (seen_ != program_.list.ranks) {
      file_.reject(file_.root(), fmt::format("{} of {} GPUs", seen_, program_.list.ranks),
                   "a <gpu> for each");
    }
    return std::move(program_);
  }

 private:
  void read_head() {
    const std::string name = file_.text(file_.root(), "coll");
    const auto* const found =
        std::find_if(msccl_collectives.begin(), msccl_collectives.end(),
                     [&](const MscclCollective& each) { return each.name == name; });
    if (found == msccl_collectives.end()) {
      file_.reject(file_.root(), fmt::format("coll=\"{}\"", name),
                   "allreduce, allgather, reduce_scatter, broadcast or reduce");
    }
    program_.list.collective = found->collective;
    program_.list.ranks = static_cast<Rank>(file_.integer(file_.root(), "ngpus", 1, max_gpus));
    program_.list.chunks = 0;
    program_.blocks.resize(program_.list.ranks);
    read_.resize(program_.list.ranks);
  }

  void read_gpu(const pugi::xml_node& gpu) {
    const auto rank = static_cast<Rank>(file_.integer(gpu, "id", 0, program_.list.ranks - 1));
    if (read_[rank]) file_.reject(gpu, fmt::format("GPU {} twice", rank), "each once");
    read_[rank] = true;
    ++seen_;
    const auto input = static_cast<std::uint32_t>(file_.integer(gpu, "i_chunks", 0, max_number));
    const auto output = static_cast<std::uint32_t>(file_.integer(gpu, "o_chunks", 0, max_number));
    const std::uint32_t chunks = std::max(input, output);
    if (program_.list.chunks == 0) program_.list.chunks = chunks;
    const std::uint32_t of = blocks(program_.list.collective, program_.list.ranks);
    if (chunks == 0 || chunks != program_.list.chunks || chunks % of != 0) {
      file_.reject(gpu, fmt::format("{} chunks on GPU {}", chunks, rank),
                   fmt::format("as many as the others have, a multiple of {}", of));
    }
    for (const pugi::xml_node& block : gpu.children("tb")) read_block(block, rank);
  }

  void read_block(const pugi::xml_node& node, Rank rank) {
    const std::int64_t last = std::int64_t{program_.list.ranks} - 1;
    MscclBlock block;
    block.id = file_.integer(node, "id", 0, max_number);
    block.send_peer = file_.integer(node, "send", -1, last);
    block.receive_peer = file_.integer(node, "recv", -1, last);
    constexpr std::int64_t max_channel = 63;
    block.channel = static_cast<std::uint32_t>(file_.integer(node, "chan", 0, max_channel));
    for (const pugi::xml_node& step : node.children("step")) {
      block.steps.push_back(read_step(step, rank));
      const MscclStep& last_step = block.steps.back();
      if ((last_step.sends && block.send_peer < 0) ||
          (last_step.receives && block.receive_peer < 0)) {
        file_.reject(step, "a step with a peer that its thread block does not have",
                     "send and recv of the <tb>");
      }
    }
    program_.blocks[rank].push_back(std::move(block));
  }

  MscclStep read_step(const pugi::xml_node& node, Rank rank) const {
    const std::string type = file_.text(node, "type");
    MscclStep step;
    step.place = file_.position(node);
    step.waits_for_block = file_.integer(node, "depid", -1, max_number);
    step.waits_for_step = file_.integer(node, "deps", -1, max_number);
    if (type == "nop") return step;
    constexpr std::array<std::string_view, 8> known{"s",   "r",    "rcs", "rrs",
                                                    "rrc", "rrcs", "cpy", "re"};
    if (std::find(known.begin(), known.end(), type) == known.end()) {
      file_.reject(node, fmt::format("type=\"{}\"", type),
                   "s, r, rcs, rrs, rrc, rrcs, cpy, re or nop");
    }
    step.receives = type.front() == 'r' && type != "re";
    step.reduces = type.starts_with("rr");
    step.sends = type == "s" || type == "rcs" || type == "rrs" || type == "rrcs";
    step.count = static_cast<std::uint32_t>(file_.integer(node, "cnt", 1, max_number));
    // What is received is added to the source and goes to the target; rrs keeps no target.
    const bool by_target = step.receives && type != "rrs";
    step.source = chunk_of(node, rank, by_target && !step.reduces ? "dst" : "src");
    step.target = chunk_of(node, rank, by_target || !step.receives ? "dst" : "src");
    if (type == "s") step.target = step.source;
    if (step.source != step.target) {
      file_.reject(node, fmt::format("a step from chunk {} to chunk {}", step.source, step.target),
                   "one that leaves data in their chunk");
    }
    if (step.source + step.count > program_.list.chunks) {
      file_.reject(node, fmt::format("chunks {} to {}", step.source, step.source + step.count - 1),
                   fmt::format("0 to {}", program_.list.chunks - 1));
    }
    return step;
  }

  /// Of our buffer, which is input and output in one.
  std::uint32_t chunk_of(const pugi::xml_node& node, Rank rank, const std::string& end) const {
    const std::string buffer = file_.text(node, (end + "buf").c_str());
    const auto offset = static_cast<std::uint32_t>(
        file_.integer(node, (end + "off").c_str(), 0, std::int64_t{program_.list.chunks} - 1));
    if (buffer != "i" && buffer != "o") {
      file_.reject(node, fmt::format("{}buf=\"{}\"", end, buffer), "i or o: no scratch buffers");
    }
    const Collective collective = program_.list.collective;
    const bool shifted = (collective == Collective::all_gather && buffer == "i") ||
                         (collective == Collective::reduce_scatter && buffer == "o");
    return shifted ? offset + rank * (program_.list.chunks / program_.list.ranks) : offset;
  }

  XmlFile file_;
  MscclProgram program_;
  std::vector<bool> read_;
  Rank seen_ = 0;
};

/// Runs the thread blocks by a clock of unit messages, as replay_steps() does a plan's programs,
/// and notes in which step each message is received.
class MscclClock {
 public:
  explicit MscclClock(MscclProgram program) : program_(std::move(program)) {
    for (Rank rank = 0; rank < program_.list.ranks; ++rank) {
      for (std::size_t i = 0; i < program_.blocks[rank].size(); ++i) {
        state_.push_back({rank, &program_.blocks[rank][i], 0, 0, {}});
        by_id_[{rank, program_.blocks[rank][i].id}] = state_.size() - 1;
      }
    }
  }

  TransferList run() && {
    bool moved = true;
    while (moved) {
      moved = false;
      for (State& state : state_) {
        while (try_step(state)) moved = true;
      }
    }
    for (const State& state : state_) {
      if (state.next == state.block->steps.size()) continue;
      throw InputError(state.block->steps[state.next].place,
                       fmt::format("rank {} waits here for ever", state.rank),
                       "sends and receives that meet, in an order that can go on");
    }
    for (const auto& [channel, queue] : under_way_) {
      if (!queue.empty()) {
        throw InputError(queue.front().place, "a message that nobody receives",
                         "a receive at its peer");
      }
    }
    require_unchanged();
    sort_steps();
    return std::move(program_.list);
  }

 private:
  struct State {
    Rank rank = 0;
    const MscclBlock* block = nullptr;
    std::size_t next = 0;
    std::uint32_t time = 0;
    std::vector<std::uint32_t> done;  ///< [step]: when it was
  };
  struct Message {
    std::uint32_t sent = 0;  ///< time
    std::uint32_t chunk = 0;
    std::uint32_t count = 1;
    SourcePosition place;
  };
  struct Sent {
    Message message;
    Rank from = 0;
    std::uint32_t received = 0;
  };
  using Channel = std::tuple<Rank, Rank, std::uint32_t>;

  /// When what a step depends on is done; nothing if it is not.
  std::optional<std::uint32_t> ready(const State& state, const MscclStep& step) const {
    if (step.waits_for_block < 0) return 0;
    const auto other = by_id_.find({state.rank, step.waits_for_block});
    if (other == by_id_.end()) {
      throw InputError(step.place, fmt::format("depid {}", step.waits_for_block),
                       "the id of a <tb> of this GPU");
    }
    const auto& done = state_[other->second].done;
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(step.waits_for_step, 0));
    return at < done.size() ? std::optional(done[at]) : std::nullopt;
  }

  bool try_step(State& state) {
    if (state.next == state.block->steps.size()) return false;
    const MscclStep& step = state.block->steps[state.next];
    const auto since = ready(state, step);
    if (!since) return false;
    auto* const queue = step.receives ? &under_way_[{static_cast<Rank>(state.block->receive_peer),
                                                     state.rank, state.block->channel}]
                                      : nullptr;
    if (queue != nullptr && queue->empty()) return false;
    state.time = std::max(state.time, *since);
    if (queue != nullptr) {
      receive(state, step, queue->front());
      queue->pop_front();
    }
    if (step.sends) {
      under_way_[{state.rank, static_cast<Rank>(state.block->send_peer), state.block->channel}]
          .push_back({state.time, step.source, step.count, step.place});
      ++state.time;
    }
    state.done.push_back(state.time);
    ++state.next;
    return true;
  }

  void receive(State& state, const MscclStep& step, const Message& message) {
    if (message.chunk != step.target || message.count != step.count) {
      throw InputError(step.place,
                       fmt::format("chunk {} ({}) comes, chunk {} ({}) is expected", message.chunk,
                                   message.count, step.target, step.count),
                       "the same chunks at both ends");
    }
    moved_chunks_ += step.count;
    if (moved_chunks_ > max_moved_chunks) {
      throw InputError(step.place, fmt::format("more than {} chunks in messages", max_moved_chunks),
                       "fewer");
    }
    state.time = std::max(state.time, message.sent + 1);
    auto& steps = program_.list.steps;
    if (steps.size() < state.time) steps.resize(state.time);
    const auto from = static_cast<Rank>(state.block->receive_peer);
    steps[state.time - 1].transfers.push_back({from,
                                               state.rank,
                                               {step.target, step.count},
                                               step.reduces,
                                               state.block->channel,
                                               step.place});
    sent_.push_back({message, from, state.time});
    for (std::uint32_t i = 0; i < step.count; ++i) {
      written_[{state.rank, step.target + i}].push_back(state.time);
    }
  }

  /// Nothing may change what a message carries between its sending and the step that it is put
  /// into.
  void require_unchanged() const {
    for (const auto& [message, from, received] : sent_) {
      for (std::uint32_t i = 0; i < message.count; ++i) {
        const auto found = written_.find({from, message.chunk + i});
        if (found == written_.end()) continue;
        const bool changed = std::any_of(
            found->second.begin(), found->second.end(),
            [&, &m = message, &r = received](std::uint32_t at) { return at > m.sent && at < r; });
        if (changed) {
          throw InputError(message.place, "a message whose chunk changes before it is received",
                           "a receiver that takes it earlier");
        }
      }
    }
  }

  void sort_steps() {
    for (WrittenStep& step : program_.list.steps) {
      std::stable_sort(step.transfers.begin(), step.transfers.end(),
                       [](const WrittenTransfer& a, const WrittenTransfer& b) {
                         return std::tuple(a.from, a.to, a.lane, a.chunks.first) <
                                std::tuple(b.from, b.to, b.lane, b.chunks.first);
                       });
    }
  }

  MscclProgram program_;
  std::vector<State> state_;
  std::map<std::pair<Rank, std::int64_t>, std::size_t> by_id_;
  std::map<Channel, std::deque<Message>> under_way_;
  std::vector<Sent> sent_;
  std::size_t moved_chunks_ = 0;
  std::map<std::pair<Rank, std::uint32_t>, std::vector<std::uint32_t>> written_;
};

/// Channels as lanes, or all in one where lanes do not fit.
void settle_lanes(TransferList& list) {
  try {
    require_valid(list);
  } catch (const InputError&) {
    for (WrittenStep& step : list.steps) {
      for (WrittenTransfer& each : step.transfers) each.lane = 0;
    }
    require_valid(list);
  }
}

}  // namespace

TransferList read_msccl_xml(const TextFile& text) {
  TransferList list = MscclClock(MscclReader(text).read()).run();
  settle_lanes(list);
  return list;
}

}  // namespace collsim
