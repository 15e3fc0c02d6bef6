#include "sim/base/xml_file.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "sim/base/lines.h"
#include "sim/base/number.h"

namespace collsim {

XmlFile::XmlFile(TextFile text, const char* root) : text_(std::move(text)) {
  const pugi::xml_parse_result result =
      document_.load_buffer(text_.content.data(), text_.content.size());
  if (!result) {
    throw InputError(place_of(result.offset), result.description(), "well-formed XML");
  }
  root_ = document_.document_element();
  if (std::string_view(root_.name()) != root) {
    reject(root_, fmt::format("the root is <{}>", root_.name()), fmt::format("<{}>", root));
  }
}

SourcePosition XmlFile::place_of(std::ptrdiff_t offset) const {
  if (offset < 0 || offset > std::ssize(text_.content)) return {text_.name, 0, 0};
  return position_at(text_.name, text_.content, static_cast<std::size_t>(offset));
}

SourcePosition XmlFile::position(const pugi::xml_node& element) const {
  return place_of(element.offset_debug());
}

void XmlFile::reject(const pugi::xml_node& element, const std::string& wrong,
                     const std::string& accepted) const {
  throw InputError(position(element), wrong, accepted);
}

std::string XmlFile::text(const pugi::xml_node& element, const char* attribute) const {
  const pugi::xml_attribute found = element.attribute(attribute);
  if (found.empty()) {
    reject(element, fmt::format("<{}> has no '{}'", element.name(), attribute),
           fmt::format("the attribute {}=\"...\"", attribute));
  }
  return found.value();
}

std::string XmlFile::text_or(const pugi::xml_node& element, const char* attribute,
                             const std::string& otherwise) const {
  return element.attribute(attribute).empty() ? otherwise : text(element, attribute);
}

long long XmlFile::integer(const pugi::xml_node& element, const char* attribute, long long least,
                           long long most) const {
  const std::string written = text(element, attribute);
  const bool hexadecimal = written.starts_with("0x");
  const auto value = hexadecimal ? parse_hexadecimal<long long>(written.substr(2))
                                 : parse_number<long long>(written);
  if (!value || *value < least || *value > most) {
    reject(element, fmt::format("{}=\"{}\" in <{}>", attribute, written, element.name()),
           fmt::format("an integer from {} to {}", least, most));
  }
  return *value;
}

long long XmlFile::integer_or(const pugi::xml_node& element, const char* attribute,
                              long long otherwise, long long least, long long most) const {
  return element.attribute(attribute).empty() ? otherwise
                                              : integer(element, attribute, least, most);
}

double XmlFile::number(const pugi::xml_node& element, const char* attribute) const {
  const std::string written = text(element, attribute);
  const double value = parse_number<double>(written).value_or(-1);
  if (!std::isfinite(value) || value < 0) {
    reject(element, fmt::format("{}=\"{}\" in <{}>", attribute, written, element.name()),
           "a number, zero or more");
  }
  return value;
}

double XmlFile::number_or(const pugi::xml_node& element, const char* attribute,
                          double otherwise) const {
  return element.attribute(attribute).empty() ? otherwise : number(element, attribute);
}

}  // namespace collsim
