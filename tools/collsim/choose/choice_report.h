#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/nccl/choice.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

/// A size at which the choice changes.
struct Switch {
  int log2_size = 0;  ///< from 2^log2_size bytes on
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  double time = 0;  ///< NCCL's estimate at that size, us
};

/// The sizes from 8 B to 8 GiB, in powers of two, at which the choice changes. Empty if NCCL can
/// run nothing.
std::vector<Switch> selection_sweep(const Nccl& nccl, NcclFunction function);

/// One case of tests/data/nccl-golden/selection.txt:
///
///   == dgxa100.xml nNodes 1 ngpus 8 nnets 8 maxBw 240.0 totalBw 240.0
///   ring   pattern 4 crossNic 0 nCh 12 bwIntra 20.00 bwInter 20.00 typeIntra NVL ...
///    ring ch 0: 0 1 2 3 4 5 6 7
///   collChannels 24
///   AllReduce     Tree       LL 15.20/29.053  LL128 31.50/85.867  Simple 64.40/110.400
///   select AllReduce: 2^3=>Ring/LL(15.0us) 2^22=>Ring/LL128(73.8us) ...
void print_golden(const Nccl& nccl, const std::string& name, std::ostream& out);

/// Prints NCCL's choices for a reader: graphs, rings and trees, the tuning table, the sweep.
void print_choice_table(const Nccl& nccl, const std::string& name, std::ostream& out);

/// NCCL's choices as JSON.
Record choice_record(const Nccl& nccl, const std::string& name);

}  // namespace collsim::command
