#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <span>
#include <string>

namespace collsim::command {

// The actions of `collsim topo`, each in the file of its name. `args` are the arguments after the
// action's name. They throw InputError for bad input.
int topo_show(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int topo_check(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int topo_list(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int topo_import(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int topo_compose(std::span<const std::string> args, std::ostream& out, std::ostream& err);
int topo_export(std::span<const std::string> args, std::ostream& out, std::ostream& err);

/// Writes to the file of --output, or to `out` where there is none. Throws InputError if the file
/// cannot be written.
void write_text(const std::string& text, const boost::program_options::variables_map& values,
                std::ostream& out);

}  // namespace collsim::command
