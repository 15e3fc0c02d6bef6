#include "tools/collsim/train/software.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

bool flag_or(const YamlMapping& keys, std::string_view key, bool otherwise) {
  const auto found = keys.find(key);
  return found ? found->boolean() : otherwise;
}

/// `[low, high]`, of measured times beside predicted ones.
StepRange read_range(const YamlValue& value) {
  constexpr double most = 100;
  const auto ends = value.sequence();
  if (ends.size() != 2) value.fail("no range", "[low, high]");
  const StepRange range{ends[0].fraction(most), ends[1].fraction(most)};
  if (range.low >= range.high) value.fail("its end is before its begin", "[low, high]");
  return range;
}

TrainingSoftware read_one(const YamlValue& value) {
  const YamlMapping keys = value.mapping(
      {"name", "words", "note", "sequence_parallel", "tp_overlap", "overlap_gradients", "attention",
       "whole_messages", "gathers", "copies_sequences", "whole_logits", "tensor_host", "range"});
  TrainingSoftware software;
  StepSoftware& step = software.step;
  step.name = keys.at("name").string();
  for (const YamlValue& word : keys.at("words").sequence()) {
    software.words.push_back(word.string());
  }
  software.note = keys.string_or("note", "");
  software.sequence_parallel = flag_or(keys, "sequence_parallel", false);
  software.overlap_gradients = flag_or(keys, "overlap_gradients", true);
  software.whole_messages = flag_or(keys, "whole_messages", false);
  if (const auto overlap = keys.find("tp_overlap")) {
    software.tensor_overlap = find_tensor_overlap("tp-overlap", overlap->string());
  }
  if (const auto attention = keys.find("attention")) {
    software.attention = find_attention("attention", attention->string());
  }
  if (const auto gathers = keys.find("gathers")) {
    const std::string how = gathers->string();
    if (how != "each" && how != "once") gathers->fail(fmt::format("'{}'", how), "each or once");
    step.gathers_each = how == "each";
  }
  step.copies_sequences = flag_or(keys, "copies_sequences", false);
  step.whole_logits = flag_or(keys, "whole_logits", false);
  constexpr double slowest = 100;
  if (const auto host = keys.find("tensor_host")) step.tensor_host = host->fraction(slowest);
  if (const auto range = keys.find("range")) step.range = read_range(*range);
  return software;
}

YamlMapping software_file() {
  return load_yaml(shipped_file("software", "models/data"), "software")
      .mapping({"software", "engines"});
}

}  // namespace

ServingEngine find_engine(std::string_view option, std::string_view name) {
  std::vector<std::string> known;
  const YamlMapping file = software_file();
  for (const YamlValue& each : file.at("engines").sequence()) {
    const YamlMapping keys = each.mapping({"name", "token", "range"});
    known.push_back(keys.at("name").string());
    if (known.back() != name) continue;
    return {known.back(), keys.at("token").time(), read_range(keys.at("range"))};
  }
  throw InputError(fmt::format("--{}: '{}'", option, name), names_instead_of(name, known));
}

std::vector<TrainingSoftware> load_software() {
  const YamlMapping keys = software_file();
  std::vector<TrainingSoftware> all;
  for (const YamlValue& each : keys.at("software").sequence()) all.push_back(read_one(each));
  return all;
}

const TrainingSoftware& find_software(const std::vector<TrainingSoftware>& all,
                                      std::string_view option, std::string_view name) {
  std::vector<std::string> known;
  for (const TrainingSoftware& each : all) {
    if (each.step.name == name) return each;
    known.push_back(each.step.name);
  }
  throw InputError(fmt::format("--{}: '{}'", option, name), names_instead_of(name, known));
}

const TrainingSoftware* software_in(const std::vector<TrainingSoftware>& all,
                                    std::string_view source, std::string_view notes) {
  for (const TrainingSoftware& each : all) {
    if (notes.find(each.note) == std::string_view::npos) continue;
    for (const std::string& word : each.words) {
      if (source.find(word) != std::string_view::npos) return &each;
    }
  }
  return nullptr;
}

void apply_software(const TrainingSoftware& software, TrainingSetup& setup) {
  setup.software = software.step;
  setup.sequence_parallel = setup.tensor > 1 && software.sequence_parallel;
  setup.tensor_overlap = setup.sequence_parallel ? software.tensor_overlap : TensorOverlap::none;
  setup.overlap_gradients = software.overlap_gradients;
  setup.attention = software.attention;
  setup.whole_messages = software.whole_messages;
}

}  // namespace collsim
