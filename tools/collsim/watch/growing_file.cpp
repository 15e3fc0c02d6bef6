#include "tools/collsim/watch/growing_file.h"

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

namespace collsim::command {

namespace {

constexpr std::string_view standard_input = "-";
constexpr std::size_t longest_line = std::size_t{1} << 20;

}  // namespace

GrowingFile::GrowingFile(std::string name) : name_(std::move(name)) {
  if (name_ == standard_input) return;
  errno = 0;
  if (!std::filesystem::is_directory(name_)) file_.open(name_);
  if (file_.is_open()) return;
  const int reason = errno == 0 ? EISDIR : errno;
  throw InputError({name_, 0, 0}, std::generic_category().message(reason),
                   "a file of NCCL's Inspector, or - for standard input");
}

std::istream& GrowingFile::stream() {
  return name_ == standard_input ? std::cin : file_;
}

std::optional<std::string> GrowingFile::next_line(bool at_end) {
  std::istream& from = stream();
  from.clear();
  std::string rest;
  std::getline(from, rest);
  begun_ += rest;
  if (from.eof() && !(at_end && !begun_.empty())) {
    if (begun_.size() > longest_line) begun_.clear();  // no log's
    return std::nullopt;
  }
  ++line_;
  return std::exchange(begun_, {});
}

void GrowingFile::follow_rotation() {
  if (name_ == standard_input) return;
  std::error_code unreadable;
  const auto size = std::filesystem::file_size(name_, unreadable);
  file_.clear();
  if (unreadable || size >= static_cast<std::uintmax_t>(file_.tellg())) return;
  file_.close();
  file_.open(name_);
  begun_.clear();
  line_ = 0;
}

}  // namespace collsim::command
