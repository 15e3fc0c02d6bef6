#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "models/predict/predictor.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/watch/call_stream.h"

namespace collsim::command {

/// What a call should take, in microseconds, and the range that 8 of 10 healthy ones keep.
struct ExpectedTime {
  double time = 0;
  double low = 0;
  double high = 0;
  bool is_small = false;  ///< more than half of it does not grow with the bytes
};

/// What calls of communicators should take on a machine, by formulas; cached by collective, ranks,
/// nodes and size. A communicator is taken for the first GPUs of as many nodes as it has.
class ExpectedCalls {
 public:
  /// The question has the machine, the release and the variables.
  explicit ExpectedCalls(CallRequest question);

  /// Nothing where no such call can be on the machine, or there is no model of it.
  const std::optional<ExpectedTime>& of(const StreamedCall& call);

 private:
  using Shape = std::tuple<Collective, std::int64_t, std::int64_t>;  // ranks, nodes
  struct Asked {
    CallRequest request;
    std::unique_ptr<Predictor> predictor;
    double empty = 0;  ///< microseconds of a call of 8 bytes
    std::map<std::int64_t, std::optional<ExpectedTime>> by_size{};
  };

  std::unique_ptr<Asked> ask(const Shape& shape) const;
  static ExpectedTime expect(Asked& asked, std::int64_t bytes);

  CallRequest question_;
  std::map<Shape, std::unique_ptr<Asked>> asked_;
};

}  // namespace collsim::command
