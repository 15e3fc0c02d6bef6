#pragma once

#include <pugixml.hpp>
#include <string>

#include "sim/base/input_error.h"
#include "sim/base/text_file.h"

namespace collsim {

/// An XML file that knows where its elements stand, so that every complaint carries file:line:col.
class XmlFile {
 public:
  /// Parses the text; its root element has to be `root`. Throws InputError.
  XmlFile(TextFile text, const char* root);

  pugi::xml_node root() const { return root_; }
  SourcePosition position(const pugi::xml_node& element) const;

  /// The attribute as text. Throws InputError where it is missing.
  std::string text(const pugi::xml_node& element, const char* attribute) const;
  std::string text_or(const pugi::xml_node& element, const char* attribute,
                      const std::string& otherwise) const;
  /// The attribute as a number, decimal or 0x-hexadecimal, between the bounds. Throws InputError.
  long long integer(const pugi::xml_node& element, const char* attribute, long long least,
                    long long most) const;
  long long integer_or(const pugi::xml_node& element, const char* attribute, long long otherwise,
                       long long least, long long most) const;
  double number(const pugi::xml_node& element, const char* attribute) const;
  double number_or(const pugi::xml_node& element, const char* attribute, double otherwise) const;

  [[noreturn]] void reject(const pugi::xml_node& element, const std::string& wrong,
                           const std::string& accepted) const;

 private:
  SourcePosition place_of(std::ptrdiff_t offset) const;

  TextFile text_;
  pugi::xml_document document_;
  pugi::xml_node root_;
};

}  // namespace collsim
