#include "tools/collsim/core/typed_option.h"

namespace collsim::command {

std::string only_text(const boost::any& value, const std::vector<std::string>& texts) {
  boost::program_options::validators::check_first_occurrence(value);
  return boost::program_options::validators::get_single_string(texts);
}

}  // namespace collsim::command
