#include "dist/ring_layout.h"

#include "kernels/threads/parallel.h"

namespace amp::dist {

using kernels::ElementType;
using kernels::HeadRows;

RingArray ArrayOfRows(const RingAttention& ring, std::int64_t rows, std::int64_t heads, std::int64_t size) {
  RingArray array;
  array.count = static_cast<std::size_t>(ring.num_batch * rows * heads * size);
  if (ring.sequence_first) {
    array.strides = {heads * size, size, ring.num_batch * heads * size};
  } else {
    array.strides = {rows * heads * size, size, heads * size};
    array.stretches = ring.num_batch;
    array.from_stretch_to_next = array.strides.batch;
  }
  return array;
}

RingArrays ArraysOf(const RingAttention& ring) {
  return {ArrayOfRows(ring, ring.num_queries, ring.num_heads, ring.size),
          ArrayOfRows(ring, ring.num_keys, ring.num_kv_heads, ring.size),
          ArrayOfRows(ring, ring.num_keys, ring.num_kv_heads, ring.value_size),
          ArrayOfRows(ring, ring.num_queries, ring.num_heads, ring.value_size)};
}

HeadRows StatisticsOf(const RingAttention& ring) { return {ring.num_heads * ring.num_queries, ring.num_queries, 1}; }

HeadRows SumsOf(const RingAttention& ring) {
  const std::int64_t head = ring.num_queries * ring.value_size;
  return {ring.num_heads * head, head, ring.value_size};
}

kernels::Attention JobOf(const RingAttention& ring, const RingArrays& arrays, const RingStep& step) {
  kernels::Attention job;
  job.is_bf16 = ring.dtype == ElementType::kBFloat16;
  job.p_is_bf16 = ring.p_is_bf16;
  job.scale = ring.scale;
  job.causal = step.causal;
  job.key_block = ring.key_block;
  job.last_key_first = ring.last_key_first;
  job.num_batch = ring.num_batch;
  job.num_heads = ring.num_heads;
  job.num_kv_heads = ring.num_kv_heads;
  job.num_queries = step.num_queries;
  job.num_keys = step.num_keys;
  job.size = ring.size;
  job.value_size = ring.value_size;
  job.queries = arrays.queries.strides;
  job.keys = arrays.keys.strides;
  job.values = arrays.values.strides;
  job.out = arrays.out.strides;
  job.statistics = StatisticsOf(ring);
  job.sums = SumsOf(ring);
  job.num_threads = kernels::NumThreads();
  return job;
}

KernelOperand::KernelOperand(BufferPool* pool, ElementType type, const void* data, std::size_t count)
    : data_(static_cast<const std::byte*>(data)), bytes_(type == ElementType::kBFloat16 ? 2 : 4) {
  if (type != ElementType::kFloat16) return;
  converted_ = RingBuffer(pool, ElementType::kFloat32, count);
  kernels::Cast(type, data, ElementType::kFloat32, converted_.At(0), count);
  data_ = converted_.At(0);
}

}  // namespace amp::dist
