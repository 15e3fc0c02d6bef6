// The processes behind join_processes(), in a module of its own. The only file that includes MPI.

#include <mpi.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/processes.h"

namespace collsim {
namespace {

/// MPI is told that threads take turns (MPI_THREAD_SERIALIZED); the mutex makes them.
class MpiProcesses final : public Processes {
 public:
  MpiProcesses() {
    // In containers, reading another process's memory is often forbidden; Open MPI then complains.
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiProcesses() override { MPI_Finalize(); }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, int tag, std::string_view text) override {
    const std::scoped_lock lock(mutex_);
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD);
  }

  std::optional<Message> poll(std::optional<int> tag) override {
    const std::scoped_lock lock(mutex_);
    MPI_Message message{};
    MPI_Status status{};
    int there = 0;
    MPI_Improbe(MPI_ANY_SOURCE, tag.value_or(MPI_ANY_TAG), MPI_COMM_WORLD, &there, &message,
                &status);
    if (there == 0) return std::nullopt;
    int count = 0;
    MPI_Get_count(&status, MPI_CHAR, &count);
    std::string text(static_cast<std::size_t>(count), '\0');
    MPI_Mrecv(text.data(), count, MPI_CHAR, &message, &status);
    return Message{status.MPI_SOURCE, status.MPI_TAG, std::move(text)};
  }

 private:
  std::mutex mutex_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace
}  // namespace collsim

extern "C" __attribute__((visibility("default"))) collsim::Processes* collsim_join_processes() {
  return new collsim::MpiProcesses();
}
