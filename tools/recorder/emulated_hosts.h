#pragma once

#include <filesystem>
#include <optional>

#include "tools/recorder/run_list.h"

namespace collsim::recorder {

/// The hosts that this machine plays at the moment, set up by a script (tools/recorder/hosts) and
/// taken down when the object goes.
class PlayedHosts {
 public:
  explicit PlayedHosts(std::filesystem::path script) : script_(std::move(script)) {}
  ~PlayedHosts();
  PlayedHosts(const PlayedHosts&) = delete;
  PlayedHosts& operator=(const PlayedHosts&) = delete;

  /// Throws std::runtime_error when the script fails; what it printed is on standard error.
  void become(const std::optional<Hosts>& hosts);

 private:
  std::filesystem::path script_;
  std::optional<Hosts> current_;
};

}  // namespace collsim::recorder
