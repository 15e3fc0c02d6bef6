#pragma once

#include <boost/any.hpp>
#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace collsim::command {

/// The value of an option that names a file to write: `po::value<OutputFile>()`.
struct OutputFile {
  std::string name;
};

/// Reads such a name for boost::program_options. An empty one is no file.
void validate(boost::any& value, const std::vector<std::string>& texts, OutputFile* target, int);

/// Throws InputError where an output cannot be written, or where another argument names the same
/// file: two outputs would lose the first, and an input would be lost. A name inside an argument
/// counts, as in `--env NCCL_TOPO_FILE=t.xml`. Inputs that a file names are refused by
/// replace_file().
void check_output_files(const boost::program_options::parsed_options& given,
                        const boost::program_options::variables_map& values);

}  // namespace collsim::command
