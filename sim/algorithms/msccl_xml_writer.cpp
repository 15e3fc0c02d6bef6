#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/algorithms/msccl_names.h"
#include "sim/algorithms/msccl_xml.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// A step of a thread block, by its number.
struct MscclPlace {
  std::size_t block = 0;
  std::size_t step = 0;
  auto operator<=>(const MscclPlace&) const = default;
};

/// The thread blocks of one GPU, as they are written.
class MscclWriter {
 public:
  explicit MscclWriter(std::string_view buffer) : buffer_(buffer) {}

  /// Sends read what was there before the step.
  void send(const WrittenTransfer& transfer) {
    std::vector<MscclPlace> needed;
    for (std::uint32_t chunk = first(transfer); chunk < end(transfer); ++chunk) {
      if (writers_.contains(chunk)) needed.push_back(writers_[chunk]);
    }
    const MscclPlace place = add(block_of(transfer.to, true, transfer.lane), "s", transfer, needed);
    for (std::uint32_t chunk = first(transfer); chunk < end(transfer); ++chunk) {
      readers_[chunk].push_back(place);
    }
  }

  void receive(const WrittenTransfer& transfer) {
    std::vector<MscclPlace> needed;
    for (std::uint32_t chunk = first(transfer); chunk < end(transfer); ++chunk) {
      if (writers_.contains(chunk)) needed.push_back(writers_[chunk]);
      needed.insert(needed.end(), readers_[chunk].begin(), readers_[chunk].end());
    }
    const MscclPlace place = add(block_of(transfer.from, false, transfer.lane),
                                 transfer.reduce ? "rrc" : "r", transfer, needed);
    for (std::uint32_t chunk = first(transfer); chunk < end(transfer); ++chunk) {
      writers_[chunk] = place;
      readers_[chunk].clear();
    }
  }

  void write(pugi::xml_node gpu) const {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      pugi::xml_node node = gpu.append_child("tb");
      node.append_attribute("id") = static_cast<unsigned>(b);
      node.append_attribute("send") = block.sends ? static_cast<int>(block.peer) : -1;
      node.append_attribute("recv") = block.sends ? -1 : static_cast<int>(block.peer);
      node.append_attribute("chan") = block.lane;
      for (std::size_t s = 0; s < block.steps.size(); ++s) write_step(node, {b, s});
    }
  }

 private:
  struct Step {
    std::string type;
    ChunkRange chunks;
    std::optional<MscclPlace> needed;
  };
  struct Block {
    Rank peer = 0;
    bool sends = false;
    std::uint32_t lane = 0;
    std::vector<Step> steps;
  };

  static std::uint32_t first(const WrittenTransfer& transfer) { return transfer.chunks.first; }
  static std::uint32_t end(const WrittenTransfer& transfer) {
    return transfer.chunks.first + transfer.chunks.count;
  }

  std::size_t block_of(Rank peer, bool sends, std::uint32_t lane) {
    const auto [entry, added] = numbers_.try_emplace({peer, sends, lane}, blocks_.size());
    if (added) blocks_.push_back({peer, sends, lane, {}});
    return entry->second;
  }

  /// A step waits for one other. For more, steps that do nothing come before it.
  MscclPlace add(std::size_t block, const char* type, const WrittenTransfer& transfer,
                 std::vector<MscclPlace> needed) {
    std::erase_if(needed, [&](const MscclPlace& each) { return each.block == block; });
    std::sort(needed.begin(), needed.end());
    // Of several steps of one block the last is enough.
    std::vector<MscclPlace> last;
    for (const MscclPlace& each : needed) {
      if (!last.empty() && last.back().block == each.block) last.pop_back();
      last.push_back(each);
    }
    auto& steps = blocks_[block].steps;
    for (std::size_t i = 0; i + 1 < last.size(); ++i) steps.push_back({"nop", {}, last[i]});
    steps.push_back(
        {type, transfer.chunks, last.empty() ? std::nullopt : std::optional(last.back())});
    waited_for_.insert(waited_for_.end(), last.begin(), last.end());
    return {block, steps.size() - 1};
  }

  void write_step(pugi::xml_node block, const MscclPlace& place) const {
    const Step& step = blocks_[place.block].steps[place.step];
    const bool moves = step.type != "nop";
    const bool waited =
        std::find(waited_for_.begin(), waited_for_.end(), place) != waited_for_.end();
    pugi::xml_node node = block.append_child("step");
    node.append_attribute("s") = static_cast<unsigned>(place.step);
    node.append_attribute("type") = step.type.c_str();
    for (const char* end : {"src", "dst"}) {
      node.append_attribute(fmt::format("{}buf", end).c_str()) = std::string(buffer_).c_str();
      node.append_attribute(fmt::format("{}off", end).c_str()) = moves ? step.chunks.first : 0;
    }
    node.append_attribute("cnt") = moves ? step.chunks.count : 0;
    node.append_attribute("depid") = step.needed ? static_cast<int>(step.needed->block) : -1;
    node.append_attribute("deps") = step.needed ? static_cast<int>(step.needed->step) : -1;
    node.append_attribute("hasdep") = waited ? 1 : 0;
  }

  std::string_view buffer_;
  std::vector<Block> blocks_;
  std::map<std::tuple<Rank, bool, std::uint32_t>, std::size_t> numbers_;
  std::map<std::uint32_t, MscclPlace> writers_;               // of chunks
  std::map<std::uint32_t, std::vector<MscclPlace>> readers_;  // since then
  std::vector<MscclPlace> waited_for_;
};

std::string_view msccl_name(const TransferList& list) {
  for (const MscclCollective& each : msccl_collectives) {
    if (each.collective == list.collective) return each.name;
  }
  throw InputError(fmt::format("MSCCL's XML of {}", to_string(list.collective)),
                   "all_reduce, all_gather, reduce_scatter, broadcast or reduce");
}

std::uint32_t lanes_of(const TransferList& list) {
  std::uint32_t lanes = 1;
  for (const WrittenStep& step : list.steps) {
    for (const WrittenTransfer& each : step.transfers) lanes = std::max(lanes, each.lane + 1);
  }
  return lanes;
}

}  // namespace

std::string msccl_xml(const TransferList& list, const std::string& name) {
  const bool gathers = list.collective == Collective::all_gather;
  const bool scatters = list.collective == Collective::reduce_scatter;
  std::vector<MscclWriter> gpus(list.ranks, MscclWriter(gathers ? "o" : "i"));
  for (const WrittenStep& step : list.steps) {
    for (const WrittenTransfer& each : step.transfers) gpus[each.from].send(each);
    for (const WrittenTransfer& each : step.transfers) gpus[each.to].receive(each);
  }
  pugi::xml_document document;
  pugi::xml_node algo = document.append_child("algo");
  algo.append_attribute("name") = name.c_str();
  algo.append_attribute("proto") = "Simple";
  algo.append_attribute("nchannels") = lanes_of(list);
  algo.append_attribute("nchunksperloop") = list.chunks;
  algo.append_attribute("ngpus") = list.ranks;
  algo.append_attribute("coll") = std::string(msccl_name(list)).c_str();
  algo.append_attribute("inplace") = 1;
  algo.append_attribute("outofplace") = 0;
  algo.append_attribute("minBytes") = 0;
  algo.append_attribute("maxBytes") = 0;
  for (Rank rank = 0; rank < list.ranks; ++rank) {
    pugi::xml_node gpu = algo.append_child("gpu");
    gpu.append_attribute("id") = rank;
    gpu.append_attribute("i_chunks") = gathers ? list.chunks / list.ranks : list.chunks;
    gpu.append_attribute("o_chunks") = scatters ? list.chunks / list.ranks : list.chunks;
    gpu.append_attribute("s_chunks") = 0;
    gpus[rank].write(gpu);
  }
  std::ostringstream out;
  document.save(out, "  ", pugi::format_default | pugi::format_no_declaration);
  return out.str();
}

}  // namespace collsim
