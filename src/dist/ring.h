// Attention over a sequence that is cut over the ranks of a ring.
//
// The sequence has 2W equal chunks; rank r of W has chunks r and 2W-1-r, in this order: with a causal mask all ranks
// then have the same work. Keys and values go round the ring, and each rank works on all of them in W steps.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/elementwise/cast.h"

namespace amp::dist {

// How the work of a row's steps becomes one result.
enum class RingMerge : std::uint8_t {
  kLogSumExp,  // each step gives a partial result, which is weighted by its log-sum-exp and added
  kState,      // the running maximum, sum and weighted values go on from step to step
};

// One rank's part: `num_queries` and `num_keys` are its rows, two chunks each.
struct RingAttention {
  kernels::ElementType dtype = kernels::ElementType::kFloat32;    // of all arrays but lse: also bfloat16 and float16
  kernels::ElementType accum = kernels::ElementType::kFloat32;    // of sums over steps: float32 or dtype
  kernels::ElementType partial = kernels::ElementType::kFloat32;  // of what a step gives: float32 or dtype
  RingMerge merge = RingMerge::kState;
  bool p_is_bf16 = false;  // see kernels/attention/attention.h, as for the block of keys
  bool causal = false;
  bool sequence_first = false;  // arrays are (rows, batch, heads, size); else (batch, rows, heads, size)
  bool last_key_first = true;
  std::int64_t key_block = 0;
  float scale = 1;
  std::int64_t num_batch = 1, num_heads = 1, num_kv_heads = 1;
  std::int64_t num_queries = 0, num_keys = 0;
  std::int64_t size = 0, value_size = 0;
};

// The variant that texts ask for; an empty one is a default: what AMP_CP_ACCUM=bf16 says (sums and partial results in
// the dtype of the operands), else float32 and a state. Results of low precision have no state to carry on. `p_dtype`
// is the dtype that P is rounded to where operands have 16 bits, by default bfloat16. Reads `dtype`, sets the other
// fields. Throws ArgumentError, and UnsupportedError for a P in float16.
void ChooseVariant(const std::string& accum, const std::string& partial, const std::string& merge,
                   const std::string& p_dtype, RingAttention* ring);

// Throws ArgumentError for what does not fit together.
void CheckRing(const RingAttention& ring);

// What a rank does in one step of the forward pass.
struct RingStep {
  int source = 0;  // the rank whose keys and values these are
  std::int64_t first_query = 0, num_queries = 0;
  std::int64_t num_keys = 0;  // the first so many of the source's
  bool causal = false;
};
RingStep RingStepOf(const RingAttention& ring, int rank, int num_ranks, int index);

struct RingOperands {
  const void* queries = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
};

}  // namespace amp::dist
