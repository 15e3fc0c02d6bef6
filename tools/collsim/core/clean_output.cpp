#include "tools/collsim/core/clean_output.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "sim/base/clean_text.h"

namespace collsim::command {

namespace {

/// Most output: ASCII, of which clean_text() changes nothing. By byte.
constexpr std::array<bool, 256> plain_bytes = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x7F; ++byte) plain[byte] = true;
  plain['\n'] = true;
  plain['\t'] = true;
  return plain;
}();

bool is_plain(char letter) {
  return plain_bytes[static_cast<unsigned char>(letter)];
}

/// The bytes at a text's end that begin a character.
std::size_t length_of_unfinished(std::string_view text) {
  constexpr std::size_t longest = 3;
  for (std::size_t length = 1; length <= std::min(longest, text.size()); ++length) {
    const TextUnit unit = unit_at(text, text.size() - length);
    if (unit.kind == TextUnit::Kind::unfinished && unit.length == length) return length;
  }
  return 0;
}

}  // namespace

CleanOutput::CleanOutput(std::ostream& stream) : stream_(stream), target_(stream.rdbuf(this)) {}

CleanOutput::~CleanOutput() {
  // rdbuf() forgets that a write has failed.
  const std::ios_base::iostate state = stream_.rdstate();
  const std::ios_base::iostate thrown = stream_.exceptions();
  stream_.exceptions(std::ios_base::goodbit);
  const bool written = unfinished_.empty() || put_raw(clean_text(unfinished_));
  stream_.rdbuf(target_);
  stream_.setstate(written ? state : state | std::ios_base::badbit);
  if ((stream_.rdstate() & thrown) == 0) stream_.exceptions(thrown);
}

std::streamsize CleanOutput::xsputn(const char* text, std::streamsize count) {
  return put({text, static_cast<std::size_t>(count)}) ? count : 0;
}

CleanOutput::int_type CleanOutput::overflow(int_type letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
  const char byte = traits_type::to_char_type(letter);
  return put({&byte, 1}) ? letter : traits_type::eof();
}

int CleanOutput::sync() {
  return target_ == nullptr ? 0 : target_->pubsync();
}

bool CleanOutput::put(std::string_view text) {
  if (unfinished_.empty() && std::all_of(text.begin(), text.end(), is_plain)) return put_raw(text);
  std::string whole = std::move(unfinished_);
  whole += text;
  const std::size_t finished = whole.size() - length_of_unfinished(whole);
  unfinished_ = whole.substr(finished);
  return put_raw(clean_text(std::string_view(whole).substr(0, finished)));
}

bool CleanOutput::put_raw(std::string_view text) {
  const auto count = static_cast<std::streamsize>(text.size());
  return target_ != nullptr && target_->sputn(text.data(), count) == count;
}

}  // namespace collsim::command
