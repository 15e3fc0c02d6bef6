#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace collsim {

/// The processes that one mpirun started, this one among them. Threads may share it.
class Processes {
 public:
  /// A message from another process. Replies have its tag, so that threads tell theirs apart.
  struct Message {
    int from = 0;
    int tag = 0;
    std::string text;
  };

  Processes() = default;
  virtual ~Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void send(int to, int tag, std::string_view text) = 0;
  /// A message that has come, with that tag if one is given; nothing if there is none yet.
  virtual std::optional<Message> poll(std::optional<int> tag) = 0;
};

/// Waits for a message without keeping a core busy.
Processes::Message wait_for_message(Processes& processes, std::optional<int> tag);

/// The processes of the mpirun that started this one; null where none did. Loads the module that
/// knows MPI, once a process. Throws InputError where there is no such module.
std::unique_ptr<Processes> join_processes();

}  // namespace collsim
