#include "models/nccl/search/graph_xml.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_of.h"

namespace collsim {
namespace {

NcclSystem two_gpus() {
  NcclSystemBuilder builder;
  for (const int number : {0, 1}) {
    NcclNode node = make_node(NcclNodeKind::gpu);
    node.gpu.device = number;
    builder.add(std::move(node));
  }
  return builder.system();
}

std::string graph_of(const std::string& channels, const std::string& path, int count = 1) {
  return "<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"" +
         std::to_string(count) + "\" speedintra=\"20\" speedinter=\"20\" typeintra=\"" + path +
         "\" typeinter=\"PIX\" samechannels=\"1\">\n" + channels + "</graph></graphs>";
}

/// What is said of a graph file that is wrong.
std::string complaint(const std::string& xml) {
  return test::error_of([&] {
    return read_nccl_graph(TextFile{"graph.xml", xml}, GraphUse::ring, two_gpus(),
                           NcclEnvironment{});
  });
}

const std::string ring = "<channel><gpu dev=\"0\"/><gpu dev=\"0x1\"/></channel>";

TEST(GraphXml, WrongGraphsAreErrorsAtTheirPlace) {
  EXPECT_EQ(complaint(graph_of(ring, "NVL")), "");
  EXPECT_EQ(complaint(graph_of(ring, "NVL", 2)),
            "graph.xml:2:2: nchannels=\"2\" but 1 channels; as many <channel> as nchannels");
  EXPECT_EQ(complaint(graph_of("<channel><gpu dev=\"0\"/></channel>", "NVL")),
            "graph.xml:3:2: 1 GPUs; all 2 GPUs of the node");
  EXPECT_EQ(complaint(graph_of("<channel><gpu dev=\"0\"/><gpu dev=\"0\"/></channel>", "NVL")),
            "graph.xml:3:2: a GPU appears twice; every GPU once");
  EXPECT_EQ(
      complaint(graph_of(ring, "FAST")),
      "graph.xml:2:2: typeintra=\"FAST\"; LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB or SYS");
}

}  // namespace
}  // namespace collsim
