#include "tools/collsim/core/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/input_error.h"
#include "tools/collsim/core/typed_option.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

struct FormatWord {
  Format format;
  std::string_view word;
  std::string_view help;  ///< what the help text says of it, beside the word
};

constexpr std::array all_formats{
    FormatWord{Format::table, "table", ""},
    FormatWord{Format::text, "text", ""},
    FormatWord{Format::csv, "csv", ""},
    FormatWord{Format::json, "json", ""},
    FormatWord{Format::jsonl, "jsonl", ""},
    FormatWord{Format::markdown, "markdown", ""},
    FormatWord{Format::dot, "dot", " (Graphviz)"},
    FormatWord{Format::svg, "svg", " (needs Graphviz)"},
    FormatWord{Format::junit, "junit", " (XML)"},
    FormatWord{Format::prometheus, "prometheus", " (text)"},
    FormatWord{Format::golden, "golden", ""},
    FormatWord{Format::html, "html", " (a page with charts)"},
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

/// "table, csv or json".
std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const char* const before = i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += before + words[i];
  }
  return text;
}

std::string words_of(const std::vector<Format>& formats) {
  std::vector<std::string> words;
  words.reserve(formats.size());
  for (const Format each : formats) words.emplace_back(to_string(each));
  return joined(words);
}

std::string help_of(const std::vector<Format>& formats) {
  std::vector<std::string> words;
  words.reserve(formats.size());
  for (const Format each : formats) {
    const FormatWord& row = row_of(each);
    words.push_back(fmt::format("{}{}", row.word, row.help));
  }
  return joined(words);
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

void add_format_option(po::options_description& options, std::vector<Format> offered) {
  const Format first = offered.front();
  const std::string help = help_of(offered);
  auto* const semantic = po::value<Format>()->default_value(first, std::string(to_string(first)));
  semantic->notifier([offered = std::move(offered)](Format format) {
    if (std::find(offered.begin(), offered.end(), format) != offered.end()) return;
    throw InputError(fmt::format("--format: there is no '{}'", to_string(format)),
                     words_of(offered));
  });
  options.add_options()("format", semantic, help.c_str());
}

Format format_option(const po::variables_map& values) {
  return values["format"].as<Format>();
}

void validate(boost::any& value, const std::vector<std::string>& texts, Format* /*target*/, int) {
  value = word_value(value, texts, find_format);
}

}  // namespace collsim::command
