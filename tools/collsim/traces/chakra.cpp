#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/bounded_json.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "tools/collsim/core/packed_file.h"
#include "tools/collsim/traces/job_trace.h"

namespace collsim {

namespace {

/// JSON is held as a whole, in about ten times its text.
constexpr std::size_t max_chakra_json = std::size_t{64} << 20U;
constexpr std::size_t max_chakra_message = std::size_t{16} << 20U;
constexpr std::size_t max_chakra_nodes = 2'000'000;
/// Microseconds since 1970 are below 2e15.
constexpr double max_chakra_number = 1e18;
constexpr std::string_view chakra_accepted = "a trace of Chakra, as JSON or protobuf messages";

/// Chakra's numbers of what nodes do (et_def.proto, NodeType).
constexpr std::uint64_t chakra_send = 5;
constexpr std::uint64_t chakra_receive = 6;
constexpr std::uint64_t chakra_collective = 7;
/// And of collectives (CollectiveCommType), as PyTorch's words.
constexpr std::array<std::string_view, 10> chakra_collectives{
    "allreduce", "reduce",         "allgather",
    "gather",    "scatter",        "broadcast",
    "alltoall",  "reduce_scatter", "reduce_scatter_block",
    "barrier"};

/// A node as far as it is of interest.
struct ChakraNode {
  std::uint64_t id = 0;
  std::uint64_t type = 0;
  std::string name{};
  std::vector<std::uint64_t> after{};
  double begin_us = 0;
  double duration_us = 0;
  bool on_host = true;
  std::uint64_t stream = 0;
  std::optional<std::uint64_t> collective{};
  double bytes = 0;
  std::string communicator{};
};

/// Puts nodes, in the order of the file, on the GPU's streams.
class ChakraCollector {
 public:
  ChakraCollector(std::string file, RankTrace& trace) : file_(std::move(file)), trace_(trace) {}

  void take(const ChakraNode& node);
  void finish();

 private:
  void take_call(const ChakraNode& node, const JobSpan& span);

  std::string file_;
  RankTrace& trace_;
  KeptBytes kept_{};
  std::size_t nodes_ = 0;
  std::unordered_map<std::uint64_t, double> ends_{};
  std::map<std::uint64_t, double> streams_{};
};

[[noreturn]] void refuse_chakra(const std::string& file, const std::string& wrong) {
  throw InputError(SourcePosition{file, 0, 0}, wrong, std::string(chakra_accepted));
}

/// The operation of "ncclKernel_Broadcast_RING_LL_Sum_int8_t(...)", or the name as it is.
std::string operation_of_name(const std::string& name) {
  const std::size_t begin = name.find("Kernel_");
  if (begin == std::string::npos) return name.substr(0, name.find_first_of("(<"));
  const std::string rest = name.substr(begin + std::string_view("Kernel_").size());
  return rest.substr(0, rest.find_first_of("_("));
}

void ChakraCollector::take_call(const ChakraNode& node, const JobSpan& span) {
  TracedCall call;
  call.span = span;
  call.bytes = node.bytes;
  call.communicator = node.communicator;
  const bool is_known = node.collective && *node.collective < chakra_collectives.size();
  if (is_known) {
    call.operation = chakra_collectives.at(static_cast<std::size_t>(*node.collective));
  } else if (node.type == chakra_collective) {
    call.operation = operation_of_name(node.name);
  } else {
    call.operation = node.type == chakra_send ? "send" : "recv";
  }
  kept_.add(file_, sizeof(TracedCall) + call.operation.size() + call.communicator.size());
  trace_.calls.push_back(std::move(call));
}

/// A node begins when the trace says so or, where it has no times, when all that it comes after
/// have ended, and what was on its stream. Nodes of the host take no time of their own.
void ChakraCollector::take(const ChakraNode& node) {
  if (++nodes_ > max_chakra_nodes) {
    refuse_chakra(file_, fmt::format("more than {} nodes", max_chakra_nodes));
  }
  double begin = node.begin_us;
  for (const std::uint64_t before : node.after) {
    const auto found = ends_.find(before);
    if (found != ends_.end()) begin = std::max(begin, found->second);
  }
  if (node.on_host) {
    ends_[node.id] = begin;
    return;
  }
  double& busy = streams_[node.stream];
  begin = std::max(begin, busy);
  const JobSpan span{begin, begin + node.duration_us};
  ends_[node.id] = busy = span.end_us;
  TracedWork work;
  work.span = span;
  work.stream = static_cast<std::uint32_t>(node.stream);
  if (node.type == chakra_collective || node.type == chakra_send || node.type == chakra_receive) {
    work.call = static_cast<std::int32_t>(trace_.calls.size());
    take_call(node, span);
  } else {
    trace_.compute.push_back(span);
  }
  trace_.work.push_back(work);
}

void ChakraCollector::finish() {
  if (ends_.empty()) refuse_chakra(file_, "no nodes");
  sort_by_time(trace_);
}

/// All of a file, which is held.
std::string whole_text(const std::string& file) {
  PackedFile packed(file, std::string(chakra_accepted));
  std::string text;
  std::array<char, std::size_t{1} << 16U> piece{};
  while (const std::size_t count = packed.read(piece.data(), piece.size())) {
    text.append(piece.data(), count);
    if (text.size() > max_chakra_json) {
      refuse_chakra(file, fmt::format("larger than {} MiB", max_chakra_json >> 20U));
    }
  }
  return text;
}

double checked_time(const std::string& file, double microseconds) {
  if (microseconds >= 0 && microseconds <= max_chakra_number) return microseconds;
  refuse_chakra(file, fmt::format("a node of {:g} us", microseconds));
}

/// The number of a field of any kind that holds one; 0 for another. Passes it over.
std::uint64_t field_number(protozero::pbf_reader& fields) {
  if (fields.wire_type() == protozero::pbf_wire_type::varint) return fields.get_uint64();
  fields.skip();
  return 0;
}

std::string_view field_text(protozero::pbf_reader& fields) {
  if (fields.wire_type() != protozero::pbf_wire_type::length_delimited) {
    fields.skip();
    return {};
  }
  const protozero::data_view view = fields.get_view();
  return {view.data(), view.size()};
}

/// Adds the numbers of a repeated field, packed or one.
void add_field_numbers(protozero::pbf_reader& fields, std::vector<std::uint64_t>& into) {
  if (fields.wire_type() != protozero::pbf_wire_type::length_delimited) {
    into.push_back(field_number(fields));
    return;
  }
  for (const std::uint64_t each : fields.get_packed_uint64()) into.push_back(each);
}

/// An attribute of a node: field 1 is its name, one other its value.
void read_attribute(const std::string& file, std::string_view bytes, ChakraNode& node) {
  constexpr std::uint64_t stream_mask = 0xFFFFFFFFU;
  protozero::pbf_reader fields(bytes.data(), bytes.size());
  std::string_view name;
  while (fields.next()) {
    if (fields.tag() == 1) {
      name = field_text(fields);
    } else if (name == "pg_name") {
      node.communicator = field_text(fields);
    } else if (name == "is_cpu_op") {
      node.on_host = field_number(fields) != 0;
    } else if (name == "tid" || name == "stream") {
      node.stream = field_number(fields) & stream_mask;
    } else if (name == "comm_type") {
      node.collective = field_number(fields);
    } else if (name == "comm_size") {
      node.bytes = checked_time(file, static_cast<double>(field_number(fields)));
    } else {
      fields.skip();
    }
  }
}

/// Numbers of a node's fields (et_def.proto).
struct ChakraField {
  static constexpr protozero::pbf_tag_type id = 1;
  static constexpr protozero::pbf_tag_type name = 2;
  static constexpr protozero::pbf_tag_type type = 3;
  static constexpr protozero::pbf_tag_type control_dependencies = 4;
  static constexpr protozero::pbf_tag_type data_dependencies = 5;
  static constexpr protozero::pbf_tag_type start = 6;
  static constexpr protozero::pbf_tag_type duration = 7;
  static constexpr protozero::pbf_tag_type attribute = 10;
};

ChakraNode node_of_message(const std::string& file, std::string_view bytes) {
  protozero::pbf_reader fields(bytes.data(), bytes.size());
  ChakraNode node;
  while (fields.next()) {
    switch (fields.tag()) {
      case ChakraField::id:
        node.id = field_number(fields);
        break;
      case ChakraField::name:
        node.name = field_text(fields);
        break;
      case ChakraField::type:
        node.type = field_number(fields);
        break;
      case ChakraField::control_dependencies:
      case ChakraField::data_dependencies:
        add_field_numbers(fields, node.after);
        break;
      case ChakraField::start:
        node.begin_us = checked_time(file, static_cast<double>(field_number(fields)));
        break;
      case ChakraField::duration:
        node.duration_us = checked_time(file, static_cast<double>(field_number(fields)));
        break;
      case ChakraField::attribute:
        read_attribute(file, field_text(fields), node);
        break;
      default:
        fields.skip();
    }
  }
  return node;
}

/// The length before a message; nothing at the end of the file.
std::optional<std::size_t> message_length(const std::string& file, PackedFile& packed) {
  std::string bytes;
  for (char byte = 0; packed.read(&byte, 1) == 1;) {
    bytes.push_back(byte);
    constexpr unsigned more_follows = 0x80U;
    if ((static_cast<unsigned char>(byte) & more_follows) != 0 &&
        bytes.size() < protozero::max_varint_length)
      continue;
    const char* at = bytes.data();
    const std::uint64_t length = protozero::decode_varint(&at, at + bytes.size());
    if (length <= max_chakra_message) return static_cast<std::size_t>(length);
    refuse_chakra(file, fmt::format("a message of {} bytes", length));
  }
  if (!bytes.empty()) refuse_chakra(file, "cut off within a message");
  return std::nullopt;
}

/// Messages stand one after the other, each after its length; the first is metadata of the whole.
void read_messages(const std::string& file, ChakraCollector& collector, RankTrace&) {
  PackedFile packed(file, std::string(chakra_accepted));
  std::string message;
  bool is_metadata = true;
  try {
    while (const auto length = message_length(file, packed)) {
      message.resize(*length);
      std::size_t have = 0;
      while (have < *length) {
        const std::size_t count = packed.read(message.data() + have, *length - have);
        if (count == 0) refuse_chakra(file, "cut off within a message");
        have += count;
      }
      if (!std::exchange(is_metadata, false)) collector.take(node_of_message(file, message));
    }
  } catch (const protozero::exception& error) {
    refuse_chakra(file, fmt::format("a message of protobuf that is damaged ({})", error.what()));
  }
}

using Json = nlohmann::json;

std::uint64_t chakra_whole(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

double chakra_number(const std::string& file, const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? checked_time(file, found->get<double>()) : 0;
}

void add_numbers(const Json& object, const char* key, std::vector<std::uint64_t>& into) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return;
  for (const Json& each : *found) {
    if (each.is_number_unsigned()) into.push_back(each.get<std::uint64_t>());
  }
}

ChakraNode node_of_json(const std::string& file, const Json& object) {
  if (!object.is_object()) refuse_chakra(file, "a node that is no object");
  ChakraNode node;
  node.id = chakra_whole(object, "Id");
  node.type = chakra_whole(object, "NodeType");
  node.duration_us = chakra_number(file, object, "runtime");
  node.begin_us = chakra_number(file, object, "start_time");
  node.bytes = chakra_number(file, object, "comm_size");
  node.stream = chakra_whole(object, "tid") & 0xFFFFFFFFU;
  if (object.contains("comm_type")) node.collective = chakra_whole(object, "comm_type");
  if (const auto name = object.find("Name"); name != object.end() && name->is_string()) {
    node.name = name->get<std::string>();
  }
  if (const auto host = object.find("is_cpu_op"); host != object.end() && host->is_boolean()) {
    node.on_host = host->get<bool>();
  }
  add_numbers(object, "ctrlDeps", node.after);
  add_numbers(object, "data_deps", node.after);
  return node;
}

Json parsed(const std::string& file, const std::string& text) {
  const auto refuse = [&](const std::string& wrong) { refuse_chakra(file, wrong); };
  try {
    return parse_bounded<Json>(text, {}, refuse);
  } catch (const Json::exception&) {
    refuse_chakra(file, "not JSON");
  }
}

void read_objects(const std::string& file, ChakraCollector& collector, RankTrace& trace) {
  const Json root = parsed(file, whole_text(file));
  const auto nodes = root.find("workload_graph");
  if (nodes == root.end() || !nodes->is_array()) refuse_chakra(file, "no workload_graph");
  constexpr std::uint64_t max_chakra_ranks = 1'000'000;
  trace.world_size =
      static_cast<std::int64_t>(std::min(max_chakra_ranks, chakra_whole(root, "ngpus")));
  for (const Json& each : *nodes) collector.take(node_of_json(file, each));
}

/// Traces say nothing of their rank; their files are named NAME.RANK.et.
std::int64_t rank_of_file(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    std::string_view rest = std::string_view(name).substr(dot + 1);
    const std::int64_t rank = take_number<std::int64_t>(rest).value_or(-1);
    constexpr std::int64_t max_chakra_ranks = 1'000'000;
    if (rest.starts_with('.') && rank < max_chakra_ranks && rank >= 0) return rank;
  }
  return 0;
}

template <typename ReadNodes>
RankTrace read_chakra(const std::string& file, const ReadNodes& read_nodes) {
  RankTrace trace;
  trace.file = file;
  trace.rank = rank_of_file(file);
  ChakraCollector collector(file, trace);
  read_nodes(file, collector, trace);
  collector.finish();
  return trace;
}

const TraceFormat chakra_json_format(
    "an execution trace (Chakra)",
    [](std::string_view text) {
      const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
      const bool has_nodes = text.find("\"workload_graph\"") != std::string_view::npos;
      return has_nodes && text[begin] == '{' ? FormatSign::mark : FormatSign::no;
    },
    [](const std::string& file) { return read_chakra(file, read_objects); });

/// A first message is metadata: a length, then fields with their names.
const TraceFormat chakra_protobuf_format(
    "an execution trace (Chakra, protobuf)",
    [](std::string_view text) {
      constexpr std::size_t metadata_bytes = 64;
      const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
      const bool is_json =
          begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
      const bool has_schema =
          text.substr(0, metadata_bytes).find("schema") != std::string_view::npos;
      return has_schema && !is_json ? FormatSign::inside : FormatSign::no;
    },
    [](const std::string& file) { return read_chakra(file, read_messages); });

}  // namespace

}  // namespace collsim
