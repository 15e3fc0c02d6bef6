#pragma once

#include <iosfwd>
#include <string>

#include "tools/collsim/expect/expectation.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// The answer in the formats that all commands have; its JSON follows docs/expect.schema.json.
Answer answer_of(const Expectation& expectation, const std::string& command);

/// Metrics in Prometheus' text format: collsim_expected_seconds by collective, size and quantile.
void print_prometheus(const Expectation& expectation, std::ostream& out);

/// Tables as nccl-tests prints them, one for each collective: of calls out of place and of the same
/// calls in place.
void print_nccl_tests(const Expectation& out_of_place, const Expectation& in_place,
                      std::ostream& out);

/// The file that include/collsim/lookup.h reads.
std::string lookup_file(const Expectation& expectation);

}  // namespace collsim::command
