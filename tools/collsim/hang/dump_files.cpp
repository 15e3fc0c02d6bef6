#include "tools/collsim/hang/dump_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/text_encoding.h"
#include "tools/collsim/core/packed_file.h"
#include "tools/collsim/hang/dump_formats.h"
#include "tools/collsim/hang/watchdog_text.h"

namespace collsim {

namespace {

namespace fs = std::filesystem;

/// A dump of 20,000 calls with 50 lines of Python each has about as many bytes.
constexpr std::size_t largest_dump = std::size_t{64} << 20U;
constexpr std::int64_t nanoseconds_in_second = 1'000'000'000;

std::string content_of(const fs::path& path) {
  std::string content = unpacked(
      path.string(), "a file that can be read, of fewer calls (TORCH_NCCL_TRACE_BUFFER_SIZE)",
      largest_dump);
  return is_pickle(content) ? content : utf8_text(std::move(content), {path.string(), 0, 0});
}

std::optional<std::int64_t> written_ns(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::int64_t{status.st_mtim.tv_sec} * nanoseconds_in_second + status.st_mtim.tv_nsec;
}

/// Files of a folder that are not hidden, by name.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files = entries_of(folder, error);
  if (error) {
    throw InputError(SourcePosition{folder.string(), 0, 0},
                     fmt::format("cannot be listed: {}", error.message()),
                     "a folder that can be read");
  }
  std::erase_if(files, [](const fs::path& path) {
    std::error_code unknown;
    return path.filename().string().starts_with('.') || !fs::is_regular_file(path, unknown);
  });
  return files;
}

/// Of a file that is no dump it says what it is, if that shows.
FlightRecord read_dump(const std::string& file, std::string_view content) {
  try {
    return read_flight_record(file, content);
  } catch (const InputError&) {
    refuse_other_kind(file, content, FileKind::dump, "dump");
    throw;
  }
}

class DumpLoader {
 public:
  void load(const fs::path& path) {
    if (!is_there(path)) {
      throw InputError(SourcePosition{path.string(), 0, 0}, why_not_there(path),
                       "the path of a dump, or of a folder of dumps");
    }
    if (!is_folder(path)) return add(path, false);
    for (const fs::path& file : files_of(path)) add(file, true);
  }

  /// What was found. If no dump could be read, throws why not the first one.
  DumpFiles take() {
    for (FlightRecord& record : read_watchdog_text(log_, text_)) {
      const bool is_dumped =
          std::any_of(files_.records.begin(), files_.records.end(),
                      [&](const FlightRecord& each) { return each.rank == record.rank; });
      if (!is_dumped) files_.records.push_back(std::move(record));
    }
    if (files_.records.empty() && first_error_ != nullptr) std::rethrow_exception(first_error_);
    return std::move(files_);
  }

 private:
  void add(const fs::path& path, bool is_of_folder) {
    try {
      const std::string content = content_of(path);
      const bool may_be_dump = DumpFormat::find(content) != nullptr;
      if (has_watchdog_lines(content)) {
        if (log_.empty()) log_ = path.string();
        text_ += content + '\n';
        return;
      }
      if (is_of_folder && !content.empty() && !may_be_dump) {
        files_.skipped.push_back(path.string());
        return;
      }
      files_.records.push_back(read_dump(path.string(), content));
      files_.records.back().written_ns = written_ns(path);
    } catch (const InputError& error) {
      files_.unread.push_back({rank_in_name(path.string()), error.what()});
      if (first_error_ == nullptr) first_error_ = std::current_exception();
    }
  }

  DumpFiles files_;
  std::string log_;   // the first with lines of the watchdog
  std::string text_;  // of all of them: one tells of the ranks of another
  std::exception_ptr first_error_;
};

}  // namespace

DumpFiles load_dumps(const std::vector<std::string>& paths) {
  DumpLoader loader;
  for (const std::string& path : paths) loader.load(path);
  DumpFiles files = loader.take();
  if (files.records.empty()) {
    throw InputError(SourcePosition{paths.empty() ? std::string("hang") : paths.front(), 0, 0},
                     "no dump here",
                     "dumps of PyTorch's Flight Recorder, pickles or JSON, one of each rank, or a "
                     "log with lines of its watchdog");
  }
  return files;
}

}  // namespace collsim
