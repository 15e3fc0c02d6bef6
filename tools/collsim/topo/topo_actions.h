#pragma once

#include <boost/program_options.hpp>
#include <iosfwd>
#include <string>

#include "tools/collsim/core/subcommand.h"

namespace collsim::command {

// The actions of `collsim topo`, each in the file of its name.
extern const Subcommand topo_show_subcommand;
extern const Subcommand topo_check_subcommand;
extern const Subcommand topo_list_subcommand;
extern const Subcommand topo_import_subcommand;
extern const Subcommand topo_compose_subcommand;
extern const Subcommand topo_export_subcommand;

/// Writes to the file of --output, or to `out` where there is none. Throws InputError if the file
/// cannot be written.
void write_text(const std::string& text, const boost::program_options::variables_map& values,
                std::ostream& out);

}  // namespace collsim::command
