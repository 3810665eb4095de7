#include "dist/ring_backward.h"

#include <cstring>
#include <utility>

#include "dist/ring_layout.h"
#include "dist/ring_sums.h"
#include "kernels/attention/attention_backward.h"

namespace amp::dist {
namespace {

using kernels::Cast;
using kernels::ElementType;

class Backward {
 public:
  Backward(Comm* comm, const RingAttention& ring, const RingOperands& operands, const void* out, const float* lse,
           const RingOutputGradients& output_gradients)
      : comm_(*comm),
        pool_(comm->buffers()),
        ring_(ring),
        arrays_(ArraysOf(ring)),
        own_(operands),
        queries_(&pool_, ring.dtype, operands.queries, arrays_.queries.count),
        out_(&pool_, ring.dtype, out, arrays_.out.count),
        out_gradient_(&pool_, ring.dtype, output_gradients.out, arrays_.out.count),
        lse_(lse),
        lse_gradient_(output_gradients.lse) {}

  void Run(const RingGradients& gradients) {
    KeysAndValues now(&pool_, ring_.dtype, arrays_), next(&pool_, ring_.dtype, arrays_);
    KeysAndValues sums(&pool_, ring_.accum, arrays_), next_sums(&pool_, ring_.accum, arrays_);
    PackOwn(next);
    if (comm_.size() > 1) comm_.SendRecv(ToRankBefore(next, now));
    Clear(sums.bytes());
    Clear(query_sums_.bytes());
    for (int left = comm_.size() - 1; left >= 0; --left) {  // the step of the forward pass
      if (left == 0) PackOwn(now);
      std::unique_ptr<Transfer> hop;
      if (left > 1) hop = comm_.Start(ToRankBefore(now, next));
      Compute(left, now, sums);
      if (hop != nullptr) hop->Wait();
      if (left > 0) {
        comm_.SendRecv(ToRankBefore(sums, next_sums));
        std::swap(sums, next_sums);
      }
      std::swap(now, next);
    }
    Cast(ring_.accum, query_sums_.At(0), ring_.dtype, gradients.queries, arrays_.queries.count);
    Cast(ring_.accum, sums.keys(), ring_.dtype, gradients.keys, arrays_.keys.count);
    Cast(ring_.accum, sums.values(), ring_.dtype, gradients.values, arrays_.values.count);
  }

 private:
  static void Clear(std::span<std::byte> bytes) {
    if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
  }

  Exchange ToRankBefore(const KeysAndValues& send, const KeysAndValues& recv) const {
    const int size = comm_.size();
    return {send.bytes(), (comm_.rank() + size - 1) % size, recv.bytes(), (comm_.rank() + 1) % size};
  }

  void PackOwn(const KeysAndValues& to) const {
    std::memcpy(to.keys(), own_.keys, arrays_.keys.count * kernels::ElementBytes(ring_.dtype));
    std::memcpy(to.values(), own_.values, arrays_.values.count * kernels::ElementBytes(ring_.dtype));
  }

  // Adds what one step gives to the sums.
  void Compute(int index, const KeysAndValues& of_source, const KeysAndValues& sums) {
    const RingStep step = RingStepOf(ring_, comm_.rank(), comm_.size(), index);
    const KernelOperand keys(&pool_, ring_.dtype, of_source.keys(), arrays_.keys.count);
    const KernelOperand values(&pool_, ring_.dtype, of_source.values(), arrays_.values.count);
    const std::int64_t query = step.first_query * arrays_.queries.strides.row;
    const std::int64_t result = step.first_query * arrays_.out.strides.row;
    kernels::AttentionBackwardData data;
    data.forward.queries = queries_.At(query);
    data.forward.keys = keys.At(0);
    data.forward.values = values.At(0);
    data.forward.out = const_cast<void*>(out_.At(result));  // which is read here
    data.forward.lse = const_cast<float*>(lse_ + step.first_query);
    data.out_gradient = out_gradient_.At(result);
    if (lse_gradient_ != nullptr) data.lse_gradient = lse_gradient_ + step.first_query;
    data.query_gradient = terms_of_queries_.At(query);
    data.key_gradient = terms_of_keys_.At(0);
    data.value_gradient = terms_of_values_.At(0);
    Run(JobOfStep(step), data);
    AddRows(ring_, arrays_.queries, step.first_query, step.num_queries, terms_of_queries_.As<float>(),
            query_sums_.At(0));
    AddRows(ring_, arrays_.keys, 0, step.num_keys, terms_of_keys_.As<float>(), sums.keys());
    AddRows(ring_, arrays_.values, 0, step.num_keys, terms_of_values_.As<float>(), sums.values());
  }

  kernels::AttentionBackward JobOfStep(const RingStep& step) const {
    kernels::AttentionBackward job;
    job.forward = JobOf(ring_, arrays_, step);
    job.forward.out_is_bf16 = out_.is_bf16();
    job.out_gradient_is_bf16 = out_gradient_.is_bf16();
    job.out_gradient = arrays_.out.strides;
    job.query_gradient = arrays_.queries.strides;
    job.key_gradient = arrays_.keys.strides;
    job.value_gradient = arrays_.values.strides;
    return job;
  }

  void Run(const kernels::AttentionBackward& job, const kernels::AttentionBackwardData& data) {
    const std::size_t bytes = kernels::AttentionBackwardScratchBytes(job);
    if (scratch_.count() < bytes) scratch_ = RingBuffer(&pool_, ElementType::kUInt8, bytes);
    kernels::RunAttentionBackward(job, data, scratch_.At(0));
  }

  Comm& comm_;
  BufferPool& pool_;
  const RingAttention& ring_;
  const RingArrays arrays_;
  const RingOperands own_;
  const KernelOperand queries_, out_, out_gradient_;
  const float* const lse_;
  const float* const lse_gradient_;
  const RingBuffer query_sums_{&pool_, ring_.accum, arrays_.queries.count};
  const RingBuffer terms_of_queries_{&pool_, ElementType::kFloat32, arrays_.queries.count};
  const RingBuffer terms_of_keys_{&pool_, ElementType::kFloat32, arrays_.keys.count};
  const RingBuffer terms_of_values_{&pool_, ElementType::kFloat32, arrays_.values.count};
  RingBuffer scratch_;
};

}  // namespace

void RingBackward(Comm* comm, const RingAttention& ring, const RingOperands& operands, const void* out,
                  const float* lse, const RingOutputGradients& output_gradients, const RingGradients& gradients) {
  CheckRing(ring);
  Backward(comm, ring, operands, out, lse, output_gradients).Run(gradients);
}

}  // namespace amp::dist
