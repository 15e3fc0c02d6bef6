#include "tools/collsim/request/word_options.h"

#include <optional>
#include <string_view>

#include "models/nccl/settings/function.h"
#include "models/nccl/settings/version.h"
#include "tools/collsim/core/typed_option.h"

namespace collsim {

namespace {

std::optional<ScheduleKind> find_schedule_kind(std::string_view word) {
  for (const ScheduleKind each : {ScheduleKind::textbook, ScheduleKind::nccl}) {
    if (to_string(each) == word) return each;
  }
  return std::nullopt;
}

}  // namespace

void validate(boost::any& value, const std::vector<std::string>& texts, Protocol* /*target*/, int) {
  value = command::word_value(value, texts, find_nccl_protocol);
}

void validate(boost::any& value, const std::vector<std::string>& texts, ScheduleKind* /*target*/,
              int) {
  value = command::word_value(value, texts, find_schedule_kind);
}

void validate(boost::any& value, const std::vector<std::string>& texts, NcclVersion* /*target*/,
              int) {
  value = parse_nccl_version(command::only_text(value, texts));
}

void validate(boost::any& value, const std::vector<std::string>& texts, Datatype* /*target*/, int) {
  value = parse_datatype(command::only_text(value, texts));
}

void validate(boost::any& value, const std::vector<std::string>& texts, ReductionOp* /*target*/,
              int) {
  value = parse_reduction_op(command::only_text(value, texts));
}

}  // namespace collsim
