#pragma once

#include <iosfwd>
#include <streambuf>
#include <string>
#include <string_view>

namespace collsim::command {

/// While it lives, all that is printed to a stream comes out as clean_text() has it. So names in
/// files, logs and options cannot steer a terminal, whoever prints them.
class CleanOutput final : private std::streambuf {
 public:
  explicit CleanOutput(std::ostream& stream);
  CleanOutput(const CleanOutput&) = delete;
  CleanOutput& operator=(const CleanOutput&) = delete;
  ~CleanOutput() override;

 private:
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int_type overflow(int_type letter) override;
  int sync() override;

  bool put(std::string_view text);
  bool put_raw(std::string_view text);

  std::ostream& stream_;
  std::streambuf* target_;
  std::string unfinished_;  ///< of a character whose other bytes have not been printed yet
};

}  // namespace collsim::command
