#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sim/plan/collective.h"

namespace collsim {

/// The list of ranks and hosts that nccl-tests prints before a table. Where every rank is listed
/// several times, several runs printed into one text: mpirun starts as many of a test that was
/// built without MPI, each on one host.
class ListedRanks {
 public:
  void add(std::int64_t number, std::int64_t group, std::string_view host);

  bool empty() const { return listed_ == 0; }
  /// How many runs the list is of.
  std::uint32_t runs() const;
  /// How many communicators of one run were timed at once (NCCL_TESTS_SPLIT); 1 where they are
  /// unlike.
  std::uint32_t groups() const;
  /// The ranks of one communicator.
  Rank ranks() const;
  std::uint32_t nodes() const;
  const std::set<std::string>& hosts() const { return hosts_; }

 private:
  Rank listed_ = 0;
  std::map<std::int64_t, std::uint32_t> times_;  // by rank
  struct Group {
    Rank ranks = 0;
    std::set<std::string> hosts{};
  };
  std::map<std::int64_t, Group> groups_;
  std::set<std::string> hosts_;
};

}  // namespace collsim
