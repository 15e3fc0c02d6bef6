#pragma once

#include <optional>

#include "models/simulate/call_model.h"

namespace collsim {

/// A long call of a ring whose chunks are unlike by a hair, so that no two of its ranks are equal:
/// the next larger call whose chunks are alike is simulated, and takes longer in proportion to the
/// bytes.
class EvenedRing : public Shortcut {
 public:
  using Shortcut::Shortcut;
  std::optional<Prediction> predict(AskedCall& call) override;
  /// The evened call, slightly larger; nothing where the call is short, no ring or even, or where
  /// evening it would add too much.
  std::optional<CompiledCall> evened(const CompiledCall& call);

 private:
  std::optional<Bytes> even_size(const CompiledCall& call) const;
};

}  // namespace collsim
