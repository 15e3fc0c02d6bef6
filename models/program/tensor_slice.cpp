#include "models/program/tensor_slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/algorithms/expression.h"
#include "sim/base/did_you_mean.h"

namespace collsim {

namespace {

/// A number of parts beyond this is a mistake, and products of two stay within 62 bits.
constexpr std::int64_t max_parts = 1 << 30;

/// Adds the slice that a text names to those of every rank.
void add_slice(const YamlValue& value, std::span<const ProgramTensor> tensors,
               std::span<const Rank> ranks, SlicesByRank& into) {
  const std::string text = value.string();
  const std::string name = text.substr(0, text.find(' '));
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const ProgramTensor& each) { return each.name == name; });
  if (found == tensors.end()) {
    std::vector<std::string> known;
    known.reserve(tensors.size());
    for (const ProgramTensor& each : tensors) known.push_back(each.name);
    value.fail(fmt::format("no tensor '{}'", name), names_instead_of(name, known));
  }
  const TensorSlice whole{static_cast<std::uint32_t>(found - tensors.begin()), 0,
                          found->bytes.count};
  const std::string accepted =
      fmt::format("'{0}', '{0} rank % 4 of 4', '{0} 0..2 of 8'; parts count from 0", name);
  try {
    const std::string rest = text.size() == name.size() ? "0 of 1" : text.substr(name.size());
    const std::size_t of = rest.rfind(" of ");
    const std::size_t dots = rest.find("..");
    if (of == std::string::npos) throw ExpressionError("a slice without its parts", "");
    const std::vector<std::string> names{"rank"};
    const Expression first(std::string_view(rest).substr(0, std::min(dots, of)), names);
    const Expression last(dots < of ? rest.substr(dots + 2, of - dots - 2) : "0", names);
    const Expression parts(std::string_view(rest).substr(of + 4), names);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::vector<Expression::Value> rank{ranks[i]};
      const std::int64_t from = first.value(rank);
      const std::int64_t to = dots < of ? last.value(rank) : from;
      const std::int64_t all = parts.value(rank);
      if (all < 1 || all > max_parts || from < 0 || to < from || to >= all) {
        value.fail(fmt::format("'{}' is {}..{} of {} at rank {}", text, from, to, all, ranks[i]),
                   accepted);
      }
      into[i].push_back(parts_of(whole, from, to, all));
    }
  } catch (const ExpressionError& error) {
    value.fail(fmt::format("'{}': {}", text, error.what()), accepted);
  }
}

}  // namespace

TensorSlice parts_of(const TensorSlice& whole, std::int64_t part, std::int64_t last,
                     std::int64_t parts) {
  const auto boundary = [&](std::int64_t number) {
    const std::int64_t bytes = whole.bytes();
    return whole.begin + bytes / parts * number + bytes % parts * number / parts;
  };
  return {whole.tensor, boundary(part), boundary(last + 1)};
}

SlicesByRank read_slices(const YamlValue& value, std::span<const ProgramTensor> tensors,
                         std::span<const Rank> ranks) {
  SlicesByRank slices(ranks.size());
  if (!value.is_sequence()) {
    add_slice(value, tensors, ranks, slices);
    return slices;
  }
  for (const YamlValue& each : value.sequence()) add_slice(each, tensors, ranks, slices);
  return slices;
}

std::string to_string(std::span<const TensorSlice> slices, std::span<const ProgramTensor> tensors) {
  std::string text;
  for (const TensorSlice& slice : slices) {
    const ProgramTensor& tensor = tensors[slice.tensor];
    const bool whole = slice.bytes() == tensor.bytes.count;
    text += text.empty() ? "" : " and ";
    text += whole ? fmt::format("all of '{}'", tensor.name)
                  : fmt::format("{} to {} of '{}'", to_string(Bytes{slice.begin}),
                                to_string(Bytes{slice.end}), tensor.name);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace collsim
