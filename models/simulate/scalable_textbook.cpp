#include "models/simulate/scalable_textbook.h"

#include <string>

#include "sim/execution/data_partition.h"

namespace collsim {

bool joins_every_pair(const CallCompiler& compiler) {
  if (compiler.is_nccl()) return false;
  const Collective collective = compiler.spec().collective;
  const std::string& algorithm = compiler.spec().run.algorithm;
  return (collective == Collective::all_to_all && algorithm == "direct") ||
         algorithm == "one_shot" || algorithm == "two_shot";
}

bool is_scalable_textbook(const CallCompiler& compiler) {
  if (compiler.is_nccl()) return false;
  const Collective collective = compiler.spec().collective;
  const std::string& algorithm = compiler.spec().run.algorithm;
  const bool sends_whole = collective == Collective::all_reduce && algorithm == "one_shot";
  const bool is_ring = algorithm == "ring" && !has_root(collective);
  return is_ring || (joins_every_pair(compiler) && !sends_whole);
}

double messages_of_textbook(const CallCompiler& compiler, Bytes size) {
  const double ranks = compiler.ranks();
  const double times = compiler.spec().collective == Collective::all_reduce ? 2 : 1;
  const double of_loop = times * ranks * (ranks - 1);
  const DataPartition partition = compiler.textbook_binding(size);
  double messages = 0;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    messages += of_loop * partition.loops(channel) * partition.chunking().slices;
  }
  return messages;
}

}  // namespace collsim
