#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/execution/call_layout.h"
#include "sim/execution/execution.h"
#include "sim/execution/fabric_draft.h"

namespace collsim {

/// Members of a call that no course of it can tell apart, by class.
struct ClassesOf {
  static constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> of;            ///< by member; none: it need not be simulated
  std::vector<std::uint32_t> first_member;  ///< by class, ascending
  std::vector<std::uint32_t> size;          ///< by class
};

/// The coarsest equitable partition of a call: two workers are of one class if they do the same at
/// the same cost and their FIFOs lead, class by class, to the same; two FIFOs if they are used at
/// the same places of programs of one class each, take as long and load the same classes of
/// resources, network threads among them; two resources if they are as wide and are loaded by as
/// many FIFOs of each class. Whatever one does, all of its class do at the same instant.
struct Symmetry {
  ClassesOf workers;
  ClassesOf fifos;
  /// The classes of the draft's resources. Resources that no flows could fill have none.
  ClassesOf resources;
  std::uint32_t rank_classes = 0;  ///< of ranks, by the classes of their workers
};

/// What symmetry_of() has found of an execution, so that whoever asks again need not look.
struct FoundSymmetry {
  bool is_known = false;
  std::optional<Symmetry> symmetry;
};

/// Whether equals stay equal as far as one can tell before the call is laid out: no calls in a row
/// or wires that change.
bool may_fold(const Execution& execution);

/// The share of the workers above which it is not worth to simulate equals once.
inline constexpr double max_share_of_classes = 0.5;

/// Nothing where a call has more classes of workers than `max_share` of them, or where equals would
/// not stay equal or must be seen one by one: not may_fold(), sockets, bursts, chunks of unequal
/// size, and links on which equals contend (who comes first at an instant gets more; not so where
/// everybody sends to everybody).
///
/// Execution::found is asked first. Else found by colour refinement: colours start as what each is
/// by itself and become finer by the colours around it, until no class splits any more. Colours are
/// hashes of 64 bits.
std::optional<Symmetry> symmetry_of(const Execution& execution, const CallLayout& layout,
                                    const FabricDraft& draft,
                                    double max_share = max_share_of_classes);

/// The layout with one worker and FIFO of each class, on a fabric that folds().
CallLayout fold(const CallLayout& layout, const Symmetry& symmetry, const FabricDraft& draft,
                Fabric& fabric);

}  // namespace collsim
