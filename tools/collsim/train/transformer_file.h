#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/yaml/yaml_reader.h"
#include "tools/collsim/train/transformer.h"

namespace collsim {

/// The shipped shapes (models/data/transformers.yaml). Throws InputError.
std::vector<Transformer> load_transformers();
/// The shipped one of that name, or that of a file: one of our own (`FILE.yaml`, `FILE.yaml:NAME`
/// of several), or a config.json as Hugging Face ships it, also by the folder that has it. A name
/// is a file's where it has a slash or ends as one of them. Throws InputError at the place of a
/// mistake, or with similar names.
Transformer find_transformer(std::string_view name);

/// A model by the number of its parameters.
struct CountedModel {
  std::string name;  ///< "gpt-3-175b"
  double parameters = 0;
  std::string source;  ///< of their number
};

/// The shipped ones whose number is published, which need no shape. Throws InputError.
std::vector<CountedModel> load_counted_models();
/// Finds the counted model of that name, else that of find_transformer(), whose parameters follow
/// from its shape.
CountedModel count_parameters(const std::string& name);

/// The model of such a file: of ours the one of that name, or its only one. Those of a config.json
/// have no name. Throws InputError likewise.
Transformer read_transformer(const TextFile& text, std::string_view name = {});

/// The shape that a mapping has, by our keys or other people's. Throws InputError at it where a key
/// that is needed is missing, or makes no sense.
Transformer read_shape(const YamlMapping& keys);
/// Whether read_shape() reads a key of that name.
bool is_shape_key(std::string_view name);

}  // namespace collsim
