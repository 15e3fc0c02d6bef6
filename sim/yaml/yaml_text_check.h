#pragma once

#include <string>
#include <string_view>

namespace collsim {

/// Collections inside each other in one YAML file, at most.
inline constexpr int yaml_depth_limit = 100;

/// Looks over YAML text before a parser sees it, in one pass, and throws InputError at the place
/// of: brackets, braces and quotes that are not closed or close nothing; a name like gpu[0..3]
/// inside them without quotes; bytes that are not UTF-8, control characters, tabs in indentation,
/// `[` and `{` nested deeper than yaml_depth_limit (a parser tokenises a whole flow collection
/// before it hands over its first token, so ten megabytes of `[` would cost gigabytes), and the
/// parts of YAML that we do not take: anchors, aliases, tags, block scalars and directives.
/// `inside_braces`: the text is the inside of a `{ }` that is not there.
void check_yaml_text(const std::string& file, std::string_view text, bool inside_braces = false);

}  // namespace collsim
