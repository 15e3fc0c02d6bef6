#include "tools/collsim/request/word_options.h"

#include <optional>
#include <string_view>

#include "models/nccl/settings/function.h"
#include "models/nccl/settings/version.h"
#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "tools/collsim/core/typed_option.h"

namespace collsim {

namespace {

std::optional<ScheduleKind> find_schedule_kind(std::string_view word) {
  return value_called(word, {ScheduleKind::textbook, ScheduleKind::nccl});
}

}  // namespace

void validate(boost::any& value, const std::vector<std::string>& texts, Protocol* /*target*/, int) {
  value = command::word_value(value, texts, find_nccl_protocol);
}

void validate(boost::any& value, const std::vector<std::string>& texts, ScheduleKind* /*target*/,
              int) {
  value = command::word_value(value, texts, find_schedule_kind);
}

void validate(boost::any& value, const std::vector<std::string>& texts, NcclVersions* /*target*/,
              int) {
  NcclVersions versions;
  const std::string text = command::only_text(value, texts);
  for (const std::string& each : split(text, ',')) {
    versions.named.push_back(parse_nccl_version(each));
  }
  if (text.ends_with(',')) static_cast<void>(parse_nccl_version(""));  // is none, and says so
  value = versions;
}

void validate(boost::any& value, const std::vector<std::string>& texts, Datatype* /*target*/, int) {
  value = parse_datatype(command::only_text(value, texts));
}

void validate(boost::any& value, const std::vector<std::string>& texts, ReductionOp* /*target*/,
              int) {
  value = parse_reduction_op(command::only_text(value, texts));
}

namespace command {

std::optional<NcclVersion> nccl_version_option(
    const boost::program_options::variables_map& values) {
  if (!values.contains("nccl-version")) return std::nullopt;
  const auto& named = values["nccl-version"].as<NcclVersions>().named;
  if (named.size() != 1) throw InputError("--nccl-version with several releases", "one release");
  return named.front();
}

}  // namespace command

}  // namespace collsim
