#include "tools/recorder/emulated_hosts.h"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace collsim::recorder {

namespace {

/// Runs a program and waits for it; returns its exit status, 127 when it cannot be started.
int run_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t process = fork();
  if (process < 0) return 127;
  if (process == 0) {
    execvp(arguments.front(), arguments.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::vector<std::string> words_of(const Hosts& hosts) {
  std::vector<std::string> words{"up", std::to_string(hosts.count),
                                 std::to_string(hosts.bits_per_second),
                                 std::to_string(hosts.burst)};
  if (hosts.slow) {
    words.insert(words.end(), {"slow", std::to_string(hosts.slow->host),
                               std::to_string(hosts.slow->bits_per_second)});
  }
  if (hosts.uplink_bits_per_second) {
    words.insert(words.end(), {"uplink", std::to_string(*hosts.uplink_bits_per_second)});
  }
  return words;
}

}  // namespace

PlayedHosts::~PlayedHosts() {
  if (current_) run_program({script_.string(), "down"});
}

void PlayedHosts::become(const std::optional<Hosts>& hosts) {
  if (hosts == current_) return;
  if (current_) run_program({script_.string(), "down"});
  current_.reset();
  if (!hosts) return;
  std::vector<std::string> words = words_of(*hosts);
  words.insert(words.begin(), script_.string());
  const int status = run_program(words);
  if (status != 0) {
    run_program({script_.string(), "down"});
    throw std::runtime_error(script_.string() + " up ended with " + std::to_string(status));
  }
  current_ = hosts;
}

}  // namespace collsim::recorder
