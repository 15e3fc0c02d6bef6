#include "tools/collsim/core/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/split.hpp>
#include <filesystem>
#include <system_error>

#include "sim/base/input_error.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/core/typed_option.h"

namespace collsim::command {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

/// By whatever paths, whether it is there or not.
bool is_same_file(const fs::path& output, const std::string& name) {
  if (name.empty()) return false;
  std::error_code error;
  if (fs::equivalent(output, name, error)) return true;
  const fs::path whole = fs::weakly_canonical(output, error);
  return !error && whole == fs::weakly_canonical(name, error) && !error;
}

/// Whether the argument is the file's name, or has it between separators of lists and settings.
bool names_file(const std::string& argument, const fs::path& output) {
  if (is_same_file(output, argument)) return true;
  std::vector<std::string> parts;
  boost::split(parts, argument, [](char letter) { return letter == '=' || letter == ','; });
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return is_same_file(output, part); });
}

}  // namespace

void validate(boost::any& value, const std::vector<std::string>& texts, OutputFile*, int) {
  OutputFile file{only_text(value, texts)};
  if (file.name.empty()) throw BadOptionValue(file.name, "'' is no file", "the name of a file");
  value = std::move(file);
}

void check_output_files(const po::parsed_options& given, const po::variables_map& values) {
  for (const auto& [name, value] : values) {
    if (value.value().type() != typeid(OutputFile)) continue;
    const fs::path output = value.as<OutputFile>().name;
    check_writable(output);
    if (is_special(output)) continue;
    for (const po::option& other : given.options) {
      if (other.string_key == name) continue;
      for (const std::string& argument : other.value) {
        if (!names_file(argument, output)) continue;
        throw InputError(fmt::format("--{}: {} is to be written, and --{} names it, too", name,
                                     output.string(), other.string_key),
                         "the name of another file for the output");
      }
    }
  }
}

}  // namespace collsim::command
