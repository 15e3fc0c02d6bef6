#include "models/nccl/tuning/tuner_file.h"

#include <fmt/format.h>

#include "sim/base/text.h"

namespace collsim {

std::string tuner_line(const TunerRule& rule) {
  return fmt::format("{},{},{},{},{},{},{},{}", lower_case(nccl_name(rule.function)),
                     rule.min.count, rule.max.count, to_string(rule.algorithm),
                     lower_case(to_string(rule.protocol)), rule.channels, rule.nodes, rule.ranks);
}

}  // namespace collsim
