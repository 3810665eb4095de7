// The gradient of attention.h: of queries, keys and values, from that of the result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.h"

namespace amp::kernels {

// Let P = exp(S - lse), 0 where a key is hidden, and delta = the sum of out_gradient * out over a row. Then
// dS = P (out_gradient values^T - delta), query_gradient = (dS keys) * scale, key_gradient = (dS^T queries) * scale,
// value_gradient = P^T out_gradient. Where P is rounded for its product, dS is as well. Sums are float32.
// A query whose lse is -inf sees nothing.
//
// `forward` says how the operands lie and which keys are seen. A call may see a part of the keys: out and lse are those
// of the whole softmax, the gradient of queries is what this part adds to it.
struct AttentionBackward {
  Attention forward;
  bool out_gradient_is_bf16 = false;
  bool gradients_are_bf16 = false;  // of queries, keys and values; rounded once
  bool adds = false;                // to the gradients that are there, float32
  HeadRows out_gradient, query_gradient, key_gradient, value_gradient;
};

struct AttentionBackwardData {
  AttentionData forward;  // out and lse are read; the state is not
  const void* out_gradient = nullptr;
  const float* lse_gradient = nullptr;  // lies as lse does; null: zeros
  void* query_gradient = nullptr;
  void* key_gradient = nullptr;
  void* value_gradient = nullptr;
};

std::size_t AttentionBackwardScratchBytes(const AttentionBackward& job);

// `scratch`: so many bytes, linear in the length of the sequence. Splits the heads of keys, and the keys where heads
// are few, among forward.num_threads threads; the result does not depend on their number. Allocates nothing.
void RunAttentionBackward(const AttentionBackward& job, const AttentionBackwardData& data, void* scratch);

// Some keys of one head of keys, and all queries of the heads that share it.
struct AttentionBackwardPart {
  AttentionBackwardData data;  // from the first of these heads on
  std::int64_t first_key = 0, end_key = 0;
  const float* deltas = nullptr;  // by head and query: delta less the gradient of lse
  float* query_sums = nullptr;    // by head and query, rows of QuerySumRow(job): becomes dS keys
};

// Elements from one row of sums to the next: a multiple of what vectors hold.
std::int64_t QuerySumRow(const AttentionBackward& job);

struct AttentionBackwardTable {
  Isa isa;
  std::size_t (*scratch_bytes)(const AttentionBackward& job, std::int64_t num_keys);  // of one thread
  void (*run)(const AttentionBackward& job, const AttentionBackwardPart& part, void* scratch);

  static const AttentionBackwardTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

// RunAttentionBackward with a given table, for tests.
void RunAttentionBackwardWith(const AttentionBackwardTable& table, const AttentionBackward& job,
                              const AttentionBackwardData& data, void* scratch);

}  // namespace amp::kernels
