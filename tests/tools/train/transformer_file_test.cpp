// Shapes of models in files: configurations of Hugging Face, and our own.

#include "tools/collsim/train/transformer_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/input_error.h"
#include "tests/support/temporary_file.h"
#include "tests/support/test_data.h"

namespace collsim {
namespace {

Transformer read_model(const std::string& text, const std::string& name = "config.json") {
  const test::TemporaryFile file(name, text);
  return find_transformer(file.path().string());
}

std::string refusal_of(const std::string& text) {
  try {
    read_model(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// A model's parameters follow from its configuration. Each line has a public one, cut down to the
// keys of its shape, what its authors say it has in all and for a token, and where they say it.
// Norms, biases, positions and routers are not counted: 1 % of the smallest model.
TEST(TransformerFile, public_configurations_have_their_published_parameters) {
  const ShippedData shipped;
  std::ifstream lines(COLLSIM_SOURCE_DIR "/tests/data/model-configs.jsonl");
  std::size_t models = 0;
  for (std::string line; std::getline(lines, line); ++models) {
    const auto entry = nlohmann::json::parse(line);
    const std::string name = entry["name"];
    for (const int indent : {-1, 2}) {
      const Transformer model = read_model(entry["config"].dump(indent));
      const double all = entry["parameters"];
      EXPECT_NEAR(all_parameters(model), all, 0.02 * all) << name;
      if (entry.contains("active")) {
        const double active = entry["active"];
        EXPECT_NEAR(active_parameters(model), active, 0.02 * active) << name;
      }
    }
  }
  EXPECT_GE(models, 39U);
}

// Gemma 3: five of six layers look back 1,024 tokens; gpt-oss: every second one 128.
TEST(TransformerFile, windows_are_of_some_layers) {
  const ShippedData shipped;
  const Transformer gemma = read_model(
      R"({"text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
          "intermediate_size": 10240, "sliding_window": 1024}})");
  EXPECT_EQ(gemma.window_layers, 29);
  // All see 8,192 tokens, or in the mean of 29 of 34 layers 1,024 but at the sequence's beginning.
  const double windowed = 1.0 / 8 * (1 - 1.0 / 16);
  EXPECT_NEAR(attended_share(gemma, 8192), (5 * 0.5 + 29 * windowed) / 34, 1e-12);
  EXPECT_NEAR(cached_tokens(gemma, 8192), (5 * 8192 + 29 * 1024) / 34.0, 1e-9);
}

TEST(TransformerFile, says_what_is_missing_or_other) {
  const std::string shape = R"("hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "vocab_size": 100, "max_position_embeddings": 64)";
  const auto refused = [&](const std::string& more) {
    return refusal_of("{" + shape + more + "}");
  };
  EXPECT_NE(refused(R"(, "hidden_act": "silu")").find("key 'ffn' is missing"), std::string::npos);
  EXPECT_NE(refused(R"(, "model_type": "new", "intermediate_size": 256)").find("'hidden_act'"),
            std::string::npos);
  EXPECT_NE(refused(",\n\"intermediate_size\": 256, \"hidden_act\": \"gelu\"").find(":3:41"),
            std::string::npos);
  EXPECT_NE(refused(R"(, "intermediate_size": [1, 2], "hidden_act": "silu")").find("a list"),
            std::string::npos);
  EXPECT_NE(refused(R"(, "is_encoder_decoder": true)").find("is_encoder_decoder"),
            std::string::npos);
  EXPECT_EQ(refused(R"(, "intermediate_size": 256, "hidden_act": "silu")"), "accepted");
  EXPECT_NE(refusal_of("{" + shape).find("not closed"), std::string::npos);
}

TEST(TransformerFile, own_files_have_one_model_or_name_it) {
  const std::string model =
      "layers: 2, hidden: 64, heads: 4, ffn: 256, vocabulary: 100, sequence: 64}\n";
  const std::string one = "collsim: transformers/1\nmodels:\n  - {name: a, " + model;
  EXPECT_EQ(read_model(one, "one.yaml").name, "a");
  const test::TemporaryFile two("two.yaml", one + "  - {name: b, " + model);
  EXPECT_EQ(find_transformer(two.path().string() + ":b").name, "b");
  EXPECT_THROW(find_transformer(two.path().string()), InputError);
  EXPECT_THROW(find_transformer(two.path().string() + ":c"), InputError);
}

}  // namespace
}  // namespace collsim
