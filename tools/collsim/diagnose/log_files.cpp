#include "tools/collsim/diagnose/log_files.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <exception>
#include <iostream>
#include <utility>

#include "models/imports/import.h"
#include "models/recordings/readers.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/text_encoding.h"
#include "sim/base/text_stream.h"
#include "tools/collsim/core/packed_file.h"

namespace collsim::command {

namespace {

/// Beyond that no log is unpacked.
constexpr std::size_t largest_log = std::size_t{64} << 20U;

/// A log with a table; nothing where the text has none, and then why in `error`.
std::optional<Log> log_of(const TextFile& text, std::exception_ptr& error) {
  try {
    std::size_t bad_rows = 0;
    Recording recording = read_recording(text, bad_rows);
    LogFacts facts = read_log_facts(text);
    facts.variables.clear();
    return Log{std::move(recording), std::move(facts), bad_rows};
  } catch (const InputError&) {
    error = std::current_exception();
    return std::nullopt;
  }
}

class Sorter {
 public:
  explicit Sorter(std::ostream& err) : err_(err) {}

  void add(const std::string& argument, bool is_one_of_several) {
    const TextFile text = read_log(argument);
    std::exception_ptr error;
    if (auto log = log_of(text, error)) {
      files_.logs.push_back(std::move(*log));
      if (is_importable(text) && !files_.described) files_.described = text;
      return;
    }
    if (is_importable(text)) {
      files_.described = text;
      return;
    }
    LogFacts facts = read_log_facts(text);
    if (facts.any) {
      if (files_.info_name.empty()) files_.info_name = text.name;
      files_.common = merged(std::move(files_.common), facts);
      return;
    }
    if (!is_one_of_several) std::rethrow_exception(error);
    pass_over(error);
  }

  LogFiles take() && {
    const bool any = !files_.logs.empty() || files_.common.any;
    if (!any && files_.described) {
      throw InputError(
          fmt::format("diagnose: {} describes a host, without a log", files_.described->name),
          "the output of nccl-tests or NCCL's log (NCCL_DEBUG=INFO) as well; "
          "`collsim topo show` for the host alone");
    }
    if (!any && error_) std::rethrow_exception(error_);
    for (Log& log : files_.logs) log.facts = merged(log.facts, files_.common);
    return std::move(files_);
  }

 private:
  void pass_over(const std::exception_ptr& error) {
    if (!error_) error_ = error;
    try {
      std::rethrow_exception(error);
    } catch (const InputError& reason) {
      fmt::print(err_, "collsim: passed over: {}\n", reason.what());
    }
  }

  std::ostream& err_;
  LogFiles files_;
  std::exception_ptr error_;  // of the first that was passed over
};

}  // namespace

TextFile read_log(const std::string& argument) {
  if (argument == "-") return read_text_stream(std::cin, "standard input");
  const auto path = find_data_file(argument, "recordings");
  if (path.extension() != ".gz") return read_text_file(path, "a log");
  const std::string name = path.string();
  return {name, utf8_text(unpacked(name, "a log", largest_log), {name})};
}

LogFiles read_log_files(const std::vector<std::string>& arguments, std::ostream& err) {
  Sorter sorter(err);
  for (const std::string& argument : arguments) sorter.add(argument, arguments.size() > 1);
  return std::move(sorter).take();
}

}  // namespace collsim::command
