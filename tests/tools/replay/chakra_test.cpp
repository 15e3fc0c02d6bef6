// Traces of Chakra, in both of its formats, and files that only look like them.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tools/collsim/traces/job_trace.h"

namespace collsim {
namespace {

using test::TemporaryFile;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

/// A field of protobuf with bytes, or a message with its length.
std::string field(int number, const std::string& text) {
  return bytes({number * 8 + 2, static_cast<int>(text.size())}) + text;
}
std::string number_field(int number, int value) {
  return bytes({number * 8, value});
}
std::string message(const std::string& text) {
  return bytes({static_cast<int>(text.size())}) + text;
}
std::string attribute(const std::string& name, int value) {
  return field(10, field(1, name) + number_field(9, value));
}

const std::string metadata = message(field(2, field(1, "schema")));

/// Node 1 is the host's; 2 computes for 10 us after it; 3 is a call of 20 us after 2, on stream 14.
std::string three_nodes() {
  return metadata +
         message(number_field(1, 1) + field(2, "aten::add") + number_field(3, 4) +
                 number_field(7, 99) + attribute("is_cpu_op", 1)) +
         message(number_field(1, 2) + field(2, "add") + number_field(3, 4) + field(5, bytes({1})) +
                 number_field(7, 10) + attribute("is_cpu_op", 0) + attribute("tid", 7)) +
         message(number_field(1, 3) + field(2, "ncclKernel_AllReduce_RING_LL(x)") +
                 number_field(3, 7) + field(5, bytes({1, 2})) + number_field(7, 20) +
                 attribute("is_cpu_op", 0) + attribute("tid", 14) + attribute("comm_type", 0) +
                 attribute("comm_size", 64));
}

std::string refusal_of(const std::string& text, const std::string& name = "trace.0.et") {
  const TemporaryFile file(name, text);
  try {
    read_job_trace(file.path().string());
  } catch (const InputError& error) {
    return error.what();
  }
  return "taken";
}

TEST(Chakra, reads_messages) {
  const TemporaryFile file("trace.3.et", three_nodes());
  const RankTrace trace = read_job_trace(file.path().string());
  EXPECT_EQ(trace.rank, 3);
  ASSERT_EQ(trace.compute.size(), 1U);
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].operation, "allreduce");
  EXPECT_EQ(trace.calls[0].bytes, 64);
  // The host's 99 us are no work of the GPU: 10 us, and 20 us after them.
  EXPECT_DOUBLE_EQ(trace.calls[0].span.begin_us, 10);
  EXPECT_DOUBLE_EQ(trace.calls[0].span.end_us, 30);
}

TEST(Chakra, reads_json) {
  const RankTrace trace =
      read_job_trace(COLLSIM_SOURCE_DIR "/tests/data/chakra/small/small_chakra.0.json");
  EXPECT_EQ(trace.world_size, 8);
  ASSERT_EQ(trace.compute.size(), 1U);
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].operation, "Broadcast");
  EXPECT_DOUBLE_EQ(trace.calls[0].span.end_us - trace.calls[0].span.begin_us, 28);
}

TEST(Chakra, refuses_damaged_files) {
  const std::string good = three_nodes();
  for (std::size_t size = metadata.size() + 1; size < good.size(); ++size) {
    const std::string refusal = refusal_of(good.substr(0, size));
    EXPECT_TRUE(refusal == "taken" || refusal.find("cut off") != std::string::npos ||
                refusal.find("damaged") != std::string::npos)
        << refusal;
  }
  EXPECT_NE(refusal_of(metadata).find("no nodes"), std::string::npos);
  EXPECT_NE(refusal_of(metadata + message(bytes({0x0B}))).find("damaged"), std::string::npos);
  const std::string endless(12, '\xFF');
  EXPECT_NE(refusal_of(metadata + message(bytes({8}) + endless)).find("damaged"),
            std::string::npos);
  EXPECT_NE(refusal_of("{\"workload_graph\": [1]}").find("no object"), std::string::npos);
  EXPECT_NE(refusal_of("{\"workload_graph\": 1}").find("no workload_graph"), std::string::npos);
  EXPECT_NE(refusal_of("{\"workload_graph\": [{\"runtime\": -1}]}").find("-1 us"),
            std::string::npos);
  EXPECT_NE(
      refusal_of("{\"workload_graph\": " + std::string(100, '[')).find("nested deeper than 64"),
      std::string::npos);
}

TEST(TraceFormat, tells_formats_by_their_first_bytes) {
  const auto what = [](std::string_view start) { return TraceFormat::find(start)->what; };
  EXPECT_EQ(what("{\"schemaVersion\": 1"), "a profiler's trace (Kineto, Chrome)");
  EXPECT_EQ(what(" {\"workload_graph\": ["), "an execution trace (Chakra)");
  EXPECT_EQ(what(three_nodes()), "an execution trace (Chakra, protobuf)");
  EXPECT_EQ(TraceFormat::find("", FormatSign::inside), nullptr);
  EXPECT_EQ(what("[\n{\"name\": \"Group API\", \"cat\": \"GROUP_API\""),
            "a trace of NCCL's profiler plugin");
  const std::string refusal = refusal_of("{\"version\": \"2.9\", \"pg_config\": {}}", "d.json");
  EXPECT_NE(refusal.find("no trace, but a dump of PyTorch's Flight Recorder; `collsim hang`"),
            std::string::npos)
      << refusal;
}

TEST(TraceFormat, names_the_profiler_plug_in) {
  const std::string refusal = refusal_of(
      "[\n{\"name\": \"Send\", \"cat\": \"P2P_API\", \"datatype\": ncclFloat32", "t.json");
  EXPECT_NE(refusal.find("profiler plug-in"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace collsim
