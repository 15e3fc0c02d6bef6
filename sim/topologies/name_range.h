#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// The names that a pattern stands for: "gpu[0..2]" is gpu0, gpu1, gpu2; "node[0..1]/nic[0..1]" is
/// node0/nic0, node0/nic1, node1/nic0, node1/nic1. `where` is for messages. Throws InputError for
/// characters other than letters, digits and _ - . /, for a bad range, and for more than 2^20
/// names.
std::vector<std::string> expand_names(const YamlValue& where, std::string_view pattern);

/// Pairs two lists elementwise; a list of one pairs with every element of the other. Throws
/// InputError at `where` when the lengths fit neither way.
std::vector<std::pair<std::string, std::string>> pair_names(const YamlValue& where,
                                                            const std::vector<std::string>& from,
                                                            const std::vector<std::string>& to);

/// Whether a text can name a template, a calibration or a device: letters, digits, _ - and inner
/// dots.
bool is_plain_name(std::string_view text);

}  // namespace collsim
