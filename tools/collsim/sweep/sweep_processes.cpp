#include "tools/collsim/sweep/sweep_processes.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/json_text.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

namespace {

// Messages to process 0: one of these words and a text. Its replies are a part, "FIRST COUNT", or
// to stop.
constexpr std::string_view ready_word = "ready ";    ///< and the sweep's id: give me work
constexpr std::string_view row_word = "row ";        ///< and the row as JSON
constexpr std::string_view failed_word = "failed ";  ///< and why: I stop
constexpr std::string_view broken_word = "broken ";  ///< and why: a bug stops me
static_assert(failed_word.size() == broken_word.size());
constexpr std::string_view stop_reply = "stop";

/// What process 0 makes of the messages that come.
class Server {
 public:
  Server(Processes& processes, std::uint32_t workers, const Sweep& sweep, SweepDealer& dealer)
      : processes_(processes), working_(workers), sweep_(sweep), dealer_(dealer) {}

  void serve() {
    while (working_ > 0) take(wait_for_message(processes_, std::nullopt));
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void take(const Processes::Message& message) {
    const std::string_view text(message.text);
    if (text.starts_with(row_word)) return take_row(text.substr(row_word.size()));
    const bool is_broken = text.starts_with(broken_word);
    if (is_broken || text.starts_with(failed_word)) {
      fail(message, text.substr(failed_word.size()), is_broken);
    }
    if (text.starts_with(ready_word) && text.substr(ready_word.size()) != sweep_.id) {
      fail(message, "it reads another scenario, or is another collsim", false);
    }
    const auto part = dealer_.take();
    if (part) {
      processes_.send(message.from, message.tag, fmt::format("{} {}", part->first, part->count));
      return;
    }
    processes_.send(message.from, message.tag, stop_reply);
    --working_;
  }

  /// A row that cannot be written ends the sweep, but not before all workers know.
  void take_row(std::string_view json) {
    try {
      dealer_.put(Record::parse(json));
    } catch (...) {
      dealer_.stop();
      error_ = std::current_exception();
    }
  }

  void fail(const Processes::Message& message, std::string_view reason, bool is_broken) {
    dealer_.stop();
    const std::string text = fmt::format("process {} of the mpirun: {}", message.from, reason);
    error_ = is_broken
                 ? std::make_exception_ptr(std::logic_error(text))
                 : std::make_exception_ptr(InputError(text, "a run in which every process works"));
  }

  Processes& processes_;
  std::uint32_t working_;
  const Sweep& sweep_;
  SweepDealer& dealer_;
  std::exception_ptr error_;  ///< of this process or another
};

}  // namespace

void serve_workers(Processes& processes, std::uint32_t workers, const Sweep& sweep,
                   SweepDealer& dealer) {
  Server(processes, workers, sweep, dealer).serve();
}

void dismiss_workers(Processes& processes, std::uint32_t workers) {
  while (workers > 0) {
    const Processes::Message message = wait_for_message(processes, std::nullopt);
    processes.send(message.from, message.tag, stop_reply);
    --workers;
  }
}

void work_for_process_0(Processes& processes, std::uint32_t thread, const Sweep& sweep) {
  const int tag = static_cast<int>(thread);
  SweepRows rows(sweep);
  while (true) {
    processes.send(0, tag, std::string(ready_word) + sweep.id);
    const std::string reply = wait_for_message(processes, tag).text;
    if (reply == stop_reply) return;
    SweepPart part;
    std::istringstream(reply) >> part.first >> part.count;
    for (std::uint64_t row = part.first; row < part.first + part.count; ++row) {
      processes.send(0, tag, std::string(row_word) + json_text(rows.answer(row)));
    }
  }
}

namespace {

/// The message that tells process 0 of it.
std::string failure_message(const std::exception_ptr& failure) {
  const auto failed = [](std::string_view why) { return fmt::format("{}{}", failed_word, why); };
  try {
    std::rethrow_exception(failure);
  } catch (const SweepInterrupted&) {
    return failed("interrupted");
  } catch (const InputError& error) {
    return failed(error.what());
  } catch (const std::bad_alloc&) {
    return failed("not enough memory");
  } catch (const std::exception& error) {
    return fmt::format("{}{}", broken_word, error.what());
  }
}

}  // namespace

void report_failure(Processes& processes, std::uint32_t thread, const std::exception_ptr& failure) {
  const int tag = static_cast<int>(thread);
  processes.send(0, tag, failure_message(failure));
  static_cast<void>(wait_for_message(processes, tag));
}

}  // namespace collsim::command
