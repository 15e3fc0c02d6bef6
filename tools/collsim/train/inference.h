#pragma once

#include <cstdint>
#include <string>

#include "tools/collsim/train/step_range.h"
#include "tools/collsim/train/training_step.h"

namespace collsim {

/// What an inference step does: it reads prompts, or makes one token more of each sequence.
enum class InferencePhase : std::uint8_t { prefill, decode };

/// What serves a model (models/data/software.yaml).
struct ServingEngine {
  std::string name{};                ///< empty: none, kernels alone
  Seconds token{};                   ///< that its host adds to a token: scheduler, sampling
  StepRange range = decoding_range;  ///< of a token's time
};

/// A step of inference on replicas of tensor-parallel ranks, which do not talk to each other.
struct InferenceSetup {
  Transformer model{};
  InferencePhase phase = InferencePhase::decode;
  std::int64_t tensor = 1;
  std::int64_t replicas = 1;
  std::int64_t batch = 1;    ///< sequences of a replica that are served at a time
  std::int64_t context = 1;  ///< tokens of each: of a prompt, or those that its cache holds
  bool fp8 = false;          ///< weights and products in 8 bits; all else is in 16
  bool graph = true;         ///< kernels are those of a CUDA graph; else the host issues each
  ServingEngine engine{};
  /// Tokens of another prompt of `context` tokens that each decoding step computes besides.
  std::int64_t chunk = 0;
  /// Tokens that are guessed for each sequence before a decoding step checks all of them, and the
  /// probability that one is right where those before it are.
  std::int64_t guessed = 0;
  double accepted = 0;

  std::int64_t ranks() const { return tensor * replicas; }
};

/// Tokens that a decoding step gives a sequence, in the mean: the guesses that are right one after
/// the other, and one more, (1 - a^(k+1)) / (1 - a) (Leviathan et al., arXiv:2211.17192, eq. 1).
double tokens_of_step(const InferenceSetup& setup);

/// Throws InputError for more ranks than heads, and where a dimension does not divide.
void check_inference(const InferenceSetup& setup);

/// What a GPU holds, by part.
struct InferenceMemory {
  double weights = 0;
  double cache = 0;  ///< keys and values of all tokens of the sequences
  double other = 0;  ///< activations, CUDA's context, NCCL's buffers

  double all() const { return weights + cache + other; }
};
InferenceMemory inference_memory(const InferenceSetup& setup);

/// Bytes of keys and values of one token on one rank: of its own heads, at least one.
double cache_bytes_per_token(const InferenceSetup& setup);

/// The program of one step. A layer is attention and a feed-forward network, each a run of kernels
/// that an all-reduce on `tp` follows. An all-reduce joins the parts of the embedding, an
/// all-gather those of the logits. Nodes have `per_node` GPUs.
///
/// Decoding, each weight is read once for all sequences, and the cache of each sequence by itself.
/// Only the experts that tokens go to are read, as if tokens chose them at random.
CallProgram inference_program(const InferenceSetup& setup, const KernelTimes& kernels,
                              Rank per_node);

/// How a step of inference is predicted.
struct InferencePrediction {
  Seconds time{};      ///< of a decoding step, or until the first token
  Seconds computes{};  ///< as in GroupSchedule; so are the next two
  Seconds waits{};     ///< for the host
  Seconds exposed{};   ///< of all calls
  InferenceMemory memory{};
  bool fits = true;
  std::int64_t max_sequences = 0;  ///< of a replica, that fit into memory
  double tokens_per_second = 0;    ///< of all replicas
  double tokens_per_user = 0;      ///< per second, of one sequence; decoding only
  Seconds prompt{};                ///< until the first token of the prompt that has chunks beside
};

/// Throws InputError as check_inference() does, or where the machine has too few GPUs.
InferencePrediction predict_inference(StepMachine& machine, const InferenceSetup& setup);

}  // namespace collsim
