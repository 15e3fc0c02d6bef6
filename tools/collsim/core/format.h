#pragma once

#include <boost/any.hpp>
#include <boost/program_options.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace collsim::command {

/// A form in which an answer is printed.
enum class Format : std::uint8_t {
  table,       ///< for people in a terminal
  text,        ///< the same, of answers without a table
  csv,         ///< a row per line, all columns
  json,        ///< all of the answer
  jsonl,       ///< a row per line, as an object
  html,        ///< a page with charts
  markdown,    ///< the page's texts and tables
  dot,         ///< a graph for Graphviz
  svg,         ///< a drawing
  junit,       ///< XML for the systems that run tests
  prometheus,  ///< text for a monitoring system
  nccl_tests,  ///< as nccl-tests prints its tables
  golden,      ///< what NCCL's own tests compare
};

/// The word of --format.
std::string_view to_string(Format format);

/// Whether all of the answer is one report: a page, or a text with markup.
bool is_report(Format format);

/// Formats of commands whose answers are rows, without charts and with them.
std::vector<Format> formats_of_rows();
std::vector<Format> formats_with_page();

/// The format asked for.
Format format_option(const boost::program_options::variables_map& values);

/// Reads a format for boost::program_options: `po::value<Format>()` is a typed option.
void validate(boost::any& value, const std::vector<std::string>& texts, Format* target, int);

}  // namespace collsim::command
