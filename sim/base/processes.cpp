#include "sim/base/processes.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "sim/base/input_error.h"
#include "sim/base/installation.h"

namespace collsim {

namespace {

using Joiner = Processes* (*)();

/// Whether a launcher of MPI's started this process: Open MPI's mpirun, or one that speaks PMIx,
/// such as srun --mpi=pmix.
bool is_under_mpirun() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
}

/// The module stays loaded: MPI does not survive being unloaded.
Joiner load_joiner() {
  constexpr std::string_view name = "libcollsim-mpi.so";
  const auto path = find_module(name);
  void* const module = path ? dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (module != nullptr) return reinterpret_cast<Joiner>(dlsym(module, "collsim_join_processes"));
  throw InputError("started by mpirun, but MPI cannot be loaded: " +
                       (path ? std::string(dlerror()) : fmt::format("{} is not installed", name)),
                   "one process without mpirun, or a collsim that was built with MPI");
}

}  // namespace

Processes::Message wait_for_message(Processes& processes, std::optional<int> tag) {
  // MPI's own waiting keeps a core busy that other processes of this host could use.
  constexpr std::chrono::microseconds pause{200};
  while (true) {
    if (auto message = processes.poll(tag)) return std::move(*message);
    std::this_thread::sleep_for(pause);
  }
}

std::unique_ptr<Processes> join_processes() {
  if (!is_under_mpirun()) return nullptr;
  return std::unique_ptr<Processes>(load_joiner()());
}

}  // namespace collsim
