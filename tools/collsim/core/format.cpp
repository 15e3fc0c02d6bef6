#include "tools/collsim/core/format.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tools/collsim/core/typed_option.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

struct FormatWord {
  Format format;
  std::string_view word;
};

constexpr std::array all_formats{
    FormatWord{Format::table, "table"},
    FormatWord{Format::text, "text"},
    FormatWord{Format::csv, "csv"},
    FormatWord{Format::json, "json"},
    FormatWord{Format::jsonl, "jsonl"},
    FormatWord{Format::markdown, "markdown"},
    FormatWord{Format::dot, "dot"},
    FormatWord{Format::svg, "svg"},
    FormatWord{Format::junit, "junit"},
    FormatWord{Format::prometheus, "prometheus"},
    FormatWord{Format::golden, "golden"},
    FormatWord{Format::html, "html"},
    FormatWord{Format::nccl_tests, "nccl-tests"},
};

const FormatWord& row_of(Format format) {
  return *std::find_if(all_formats.begin(), all_formats.end(),
                       [&](const FormatWord& each) { return each.format == format; });
}

std::optional<Format> find_format(std::string_view word) {
  for (const FormatWord& each : all_formats) {
    if (each.word == word) return each.format;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Format format) {
  return row_of(format).word;
}

bool is_report(Format format) {
  return format == Format::html || format == Format::markdown;
}

std::vector<Format> formats_of_rows() {
  return {Format::table, Format::csv, Format::json, Format::jsonl};
}

std::vector<Format> formats_with_page() {
  std::vector<Format> formats = formats_of_rows();
  formats.push_back(Format::markdown);
  formats.push_back(Format::html);
  return formats;
}

Format format_option(const po::variables_map& values) {
  return values["format"].as<Format>();
}

void validate(boost::any& value, const std::vector<std::string>& texts, Format* /*target*/, int) {
  value = word_value(value, texts, find_format);
}

}  // namespace collsim::command
