#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/program/call_costs.h"
#include "models/program/program_schedule.h"
#include "tools/collsim/train/training_program.h"

namespace collsim {

/// Which ranks of a job faults of links can slow.
struct FaultedRanks {
  bool any = false;  ///< whether there are faults
  /// Whether a fault is of a link of the rank's node, by rank. Ranks of other nodes meet it, too,
  /// in calls with these.
  std::vector<bool> near{};
  bool between_switches = false;  ///< of links that belong to no node
};

/// Finds the ranks that faults touch.
FaultedRanks faulted_ranks(const MachineCalls& calls);

/// Communicators of a step stand for others like them: those of the other ranks of their groups. On
/// a machine with faults all of a group wait for the slowest, so that it has to stand for them.
/// Moves each communicator to the ranks of those like it whose largest call takes longest. The
/// program's groups must have consecutive ranks, as those of training_program() have.
void move_to_slowest(CallProgram& program, const FaultedRanks& faulted, CallCosts& costs);

/// Replicas of the model that are equally quick, and what each of them has of a batch.
struct ReplicaShare {
  std::string gpus{};  ///< of its stages: "H100", "A100 and H100"
  std::int64_t replicas = 1;
  std::int64_t microbatches = 1;  ///< of the one that has most
};

/// What the kernels of one microbatch take on a pipeline stage, without any communication.
Seconds kernels_of_microbatch(const TrainingSetup& setup, const KernelTimes& kernels);

/// What a microbatch takes in the kernels of one chunk of the smallest pipeline stage.
Seconds min_chunk_time(const TrainingSetup& setup, const KernelTimes& kernels);

/// Lists replicas and their microbatches: "8 x 19 on A100, 8 x 45 on H100". Empty for none.
std::string to_string(const std::vector<ReplicaShare>& shares);

/// How a step of training is predicted.
struct StepPrediction {
  Seconds time{};
  Seconds computes{};  ///< of the rank that ends last, as in GroupSchedule; so are the next two
  Seconds waits{};     ///< pipeline bubbles
  std::map<std::string, Seconds> exposed{};
  StepMemory memory{};
  bool fits = true;              ///< the GPU's memory
  double tokens_per_second = 0;  ///< of all GPUs
  double utilisation = 0;        ///< model FLOPs a second, of what the GPUs' data sheet says
  bool continued = false;        ///< of fewer microbatches, and continued in their steady state
  /// How a batch that is divided by speed is shared, and the step with equal parts.
  std::vector<ReplicaShare> shares{};
  Seconds equal{};
};

/// A rank whose kernels take longer than they should: its GPU is hot, or shared.
struct Straggler {
  Rank rank = 0;
  double slower = 1;
};

/// A machine and its kernels, which steps are predicted on. Calls are cached from step to step.
/// Where GPUs are of several kinds, all of a pipeline stage wait for its slowest kind at each call,
/// and each rank has as much to do.
class StepMachine {
 public:
  /// `gpu` is the GPUs' name, if not that of the topology. Throws InputError where no kernels of
  /// them are known (find_kernels()).
  StepMachine(const MachineCalls& calls, const KernelTable& table, const std::string& gpu = {});

  /// Throws InputError for a layout that cannot be (check_setup()) or has more ranks than GPUs.
  /// All wait for a straggler at the next call: its whole pipeline stage is as slow.
  StepPrediction predict(const TrainingSetup& setup,
                         const std::optional<Straggler>& straggler = std::nullopt);
  /// The same, or nothing where a few microbatches and the kernels of the others already take
  /// longer than `limit`.
  std::optional<StepPrediction> predict_within(
      Seconds limit, const TrainingSetup& setup,
      const std::optional<Straggler>& straggler = std::nullopt);
  /// Predicts the step where replicas on quicker GPUs have more microbatches, as many as bring all
  /// to the end of their last backward pass at about the same time; the same as predict() where
  /// that is no quicker, all replicas are alike, ranks meet in every microbatch (ZeRO 2 and 3,
  /// experts on several ranks), a replica would have none, or the machine has faults.
  StepPrediction predict_by_speed(const TrainingSetup& setup);
  /// A time that no step of the layout beats: the kernels of a stage with the calls between them,
  /// each alone, and how long it has nothing to do.
  Seconds min_step_time(const TrainingSetup& setup);
  /// The program and its schedule, with the microbatches of the setup or fewer.
  ProgramSchedule schedule(const CallProgram& program);

  /// The kernels of the slowest kind of GPU.
  const KernelTimes& kernels() const { return kinds_.front(); }
  /// How many times as quick the quickest kind multiplies.
  double quickest() const;
  CallCosts& costs() { return costs_; }
  Rank per_node() const { return per_node_; }
  Rank gpus() const { return gpus_; }

 private:
  CallProgram program_of(const TrainingSetup& setup, std::int64_t microbatches) const;
  /// The program of program_of(), with communicators moved to those of their kind that faults slow
  /// most.
  CallProgram faulty_program(const TrainingSetup& setup, std::int64_t microbatches);
  /// The kind of GPU of each stage of every replica: an index into `kinds_`.
  std::vector<std::vector<std::uint32_t>> kinds_of_replicas(const TrainingSetup& setup) const;
  /// What has to do with the time alone: memory, tokens a second, utilisation.
  void complete(StepPrediction& step, const TrainingSetup& setup) const;
  double flops_of(std::int64_t ranks) const;

  std::vector<KernelTimes> kinds_;           ///< the slowest first
  std::vector<std::uint32_t> kind_of_rank_;  ///< by rank: an index into `kinds_`
  MachineCallCosts costs_;
  Rank per_node_;
  Rank gpus_;
  FaultedRanks faulted_;
};

/// What is searched: layouts of a model on the GPUs of a machine.
struct LayoutSearch {
  /// What stays: model, batches, precision; and more than one context- or expert-parallel rank.
  TrainingSetup setup{};
  std::size_t limit = 10;  ///< layouts that are wanted, the quickest first
  bool by_speed = false;   ///< batches are divided as predict_by_speed() does
};

/// A layout that was found.
struct FoundLayout {
  TrainingSetup setup{};
  StepPrediction step{};
  Rank per_node = 1;  ///< GPUs of each node that it has (some_of_each_node())
};

/// How many layouts can run, and what keeps the others from it.
struct LayoutCounts {
  std::size_t fit = 0;
  std::size_t too_large = 0;       ///< that can be, and need more memory
  double min_memory = 0;           ///< of these, bytes of a GPU; 0 without any
  double memory = 0;               ///< bytes of a GPU that a layout may need
  std::size_t of_batch = 0;        ///< whose replicas and microbatches do not divide the batch
  std::int64_t smaller_batch = 0;  ///< the nearest that lets one of these run; 0: none
  std::int64_t larger_batch = 0;
};
/// Why none of them can run, in a sentence without a full stop.
std::string why_none(const LayoutCounts& counts, const TrainingSetup& setup);

/// The layouts that were found, the quickest first.
struct FoundLayouts {
  std::vector<FoundLayout> layouts{};
  LayoutCounts counts{};
};

/// Tries all layouts of tensor (inside a node), pipeline, data, context and expert parallelism,
/// microbatches of 1 to 16, ZeRO 0, 1 and 3, without and with full recomputation, that fit into
/// memory. Stages may be uneven. Context parallelism of single sequences is tried where nothing
/// else fits. Where nodes have no power of two of GPUs, layouts of the power of two below are tried
/// as well.
FoundLayouts search_layouts(const MachineCalls& calls, const KernelTable& table,
                            const LayoutSearch& search);

/// GPUs in use on the node of the first of them.
Rank gpus_of_node(const MachineCalls& calls);
/// The first `per_node` GPUs of each node.
MachineCalls some_of_each_node(MachineCalls calls, Rank per_node);

}  // namespace collsim
