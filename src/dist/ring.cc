#include "dist/ring.h"

#include "nnvm/env.h"
#include "nnvm/error.h"

namespace amp::dist {
namespace {

using kernels::ElementType;

void RequireEither(const char* what, ElementType type, ElementType dtype) {
  if (type != ElementType::kFloat32 && type != dtype)
    Throw<ArgumentError>("{}: expected float32 or the dtype of the queries", what);
}

void RequireShapes(const RingAttention& ring) {
  if (ring.num_kv_heads < 1 || ring.num_heads % ring.num_kv_heads != 0) {
    Throw<ArgumentError>("{} heads of queries are no multiple of {} heads of keys and values", ring.num_heads,
                         ring.num_kv_heads);
  }
  if (!ring.causal) return;
  if (ring.num_queries != ring.num_keys || ring.num_queries % 2 != 0) {
    Throw<ArgumentError>(
        "a causal ring: expected as many queries as keys on each rank, two chunks of them, got {} and {}",
        ring.num_queries, ring.num_keys);
  }
}

ElementType TypeFromName(const char* what, const std::string& name) {
  if (name == "float32") return ElementType::kFloat32;
  if (name == "bfloat16") return ElementType::kBFloat16;
  if (name == "float16") return ElementType::kFloat16;
  Throw<ArgumentError>("{}: expected 'float32', 'bfloat16' or 'float16', got '{}'", what, Quotable(name));
}

// What AMP_CP_ACCUM says about operands of this dtype.
ElementType AccumFromEnvironment(ElementType dtype) {
  const std::string text = EnvValue("AMP_CP_ACCUM", "fp32");
  if (text != "fp32" && text != "bf16")
    Throw<ArgumentError>("AMP_CP_ACCUM: expected 'fp32' or 'bf16', got '{}'", Quotable(text));
  return text == "bf16" ? dtype : ElementType::kFloat32;
}

RingMerge MergeFromName(const std::string& name) {
  if (name == "lse") return RingMerge::kLogSumExp;
  if (name == "state") return RingMerge::kState;
  Throw<ArgumentError>("merge: expected 'state' or 'lse', got '{}'", Quotable(name));
}

bool RoundsP(const std::string& name, ElementType dtype) {
  const ElementType type = name.empty() ? ElementType::kBFloat16 : TypeFromName("p_dtype", name);
  if (dtype == ElementType::kFloat32) return false;
  if (type == ElementType::kFloat16) throw UnsupportedError("p_dtype='float16' is not supported: 'float32' is closer");
  return type == ElementType::kBFloat16;
}

}  // namespace

void ChooseVariant(const std::string& accum, const std::string& partial, const std::string& merge,
                   const std::string& p_dtype, RingAttention* ring) {
  ring->accum = accum.empty() ? AccumFromEnvironment(ring->dtype) : TypeFromName("accum_dtype", accum);
  ring->partial = partial.empty() ? ring->accum : TypeFromName("partial_dtype", partial);
  const bool is_low = ring->accum != ElementType::kFloat32 || ring->partial != ElementType::kFloat32;
  const RingMerge fitting = is_low ? RingMerge::kLogSumExp : RingMerge::kState;
  ring->merge = merge.empty() ? fitting : MergeFromName(merge);
  ring->p_is_bf16 = RoundsP(p_dtype, ring->dtype);
}

void CheckRing(const RingAttention& ring) {
  const bool is_known = ring.dtype == ElementType::kFloat32 || ring.dtype == ElementType::kBFloat16 ||
                        ring.dtype == ElementType::kFloat16;
  if (!is_known) throw ArgumentError("attention takes float32, bfloat16 and float16");
  RequireEither("accum_dtype", ring.accum, ring.dtype);
  RequireEither("partial_dtype", ring.partial, ring.dtype);
  if (ring.merge == RingMerge::kState && (ring.partial != ElementType::kFloat32 || ring.accum != ElementType::kFloat32))
    throw ArgumentError("merge='state' carries float32 from step to step: accum_dtype and partial_dtype are float32");
  if (ring.key_block < 0) Throw<ArgumentError>("key_block: expected 0 or a number of keys, got {}", ring.key_block);
  RequireShapes(ring);
}

RingStep RingStepOf(const RingAttention& ring, int rank, int num_ranks, int index) {
  const int source = (rank - index + num_ranks) % num_ranks;
  if (!ring.causal) return {source, 0, ring.num_queries, ring.num_keys, false};
  const std::int64_t chunk = ring.num_queries / 2;
  if (index == 0) return {source, 0, 2 * chunk, 2 * chunk, true};
  if (index <= rank) return {source, 0, 2 * chunk, chunk, false};
  return {source, chunk, chunk, 2 * chunk, false};
}

}  // namespace amp::dist
