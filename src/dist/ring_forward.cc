#include "dist/ring_forward.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "dist/ring_layout.h"
#include "dist/ring_sums.h"
#include "kernels/attention/attention.h"

namespace amp::dist {
namespace {

using kernels::ElementType;

std::size_t NumRows(const RingAttention& ring) {
  return static_cast<std::size_t>(ring.num_batch * ring.num_heads * ring.num_queries);
}

// What goes on from step to step for each row: its largest score, the sum of its weights, weighted values.
struct RowStates {
  RowStates(BufferPool* pool, const RingAttention& ring) {
    const std::size_t rows = NumRows(ring);
    largest = RingBuffer(pool, ElementType::kFloat32, rows);
    sum = RingBuffer(pool, ElementType::kFloat32, rows);
    sums = RingBuffer(pool, ElementType::kFloat32, rows * static_cast<std::size_t>(ring.value_size));
  }
  RingBuffer largest, sum, sums;
};

class Forward {
 public:
  Forward(Comm* comm, const RingAttention& ring, const RingOperands& operands, void* out, float* lse)
      : comm_(*comm),
        pool_(comm->buffers()),
        ring_(ring),
        arrays_(ArraysOf(ring)),
        queries_(&pool_, ring.dtype, operands.queries, arrays_.queries.count),
        own_(operands),
        out_(out),
        lse_(lse) {
    if (ring.merge == RingMerge::kState && comm->size() > 1) states_.emplace(&pool_, ring);
  }

  void Run() {
    KeysAndValues now(&pool_, ring_.dtype, arrays_), next(&pool_, ring_.dtype, arrays_);
    std::memcpy(now.keys(), own_.keys, arrays_.keys.count * kernels::ElementBytes(ring_.dtype));
    std::memcpy(now.values(), own_.values, arrays_.values.count * kernels::ElementBytes(ring_.dtype));
    for (int index = 0; index < comm_.size(); ++index) {
      std::unique_ptr<Transfer> hop;
      if (index + 1 < comm_.size()) hop = comm_.Start({now.bytes(), Neighbour(1), next.bytes(), Neighbour(-1)});
      Compute(index, now);
      if (hop != nullptr) hop->Wait();
      std::swap(now, next);
    }
    if (ring_.merge == RingMerge::kLogSumExp) MergePartials(ring_, arrays_, partials_, out_, lse_);
  }

 private:
  int Neighbour(int distance) const { return (comm_.rank() + distance + comm_.size()) % comm_.size(); }

  void Compute(int index, const KeysAndValues& of_source) {
    const RingStep step = RingStepOf(ring_, comm_.rank(), comm_.size(), index);
    const KernelOperand keys(&pool_, ring_.dtype, of_source.keys(), arrays_.keys.count);
    const KernelOperand values(&pool_, ring_.dtype, of_source.values(), arrays_.values.count);
    kernels::Attention job = JobOf(ring_, arrays_, step);
    kernels::AttentionData data;
    data.queries = queries_.At(step.first_query * arrays_.queries.strides.row);
    data.keys = keys.At(0);
    data.values = values.At(0);
    if (ring_.merge == RingMerge::kState) {
      RunOnStates(index, step, &job, &data);
    } else {
      RunAlone(step, &job, &data);
    }
  }

  // Rows whose last step this is give their result.
  void RunOnStates(int index, const RingStep& step, kernels::Attention* job, kernels::AttentionData* data) {
    if (states_) {
      job->continues = index > 0;
      data->largest = states_->largest.As<float>() + step.first_query;
      data->sum = states_->sum.As<float>() + step.first_query;
      data->sums = states_->sums.As<float>() + step.first_query * SumsOf(ring_).row;
    }
    const bool ends = index + 1 == comm_.size() || (ring_.causal && index == comm_.rank());
    if (!ends) return Run(*job, *data);
    const bool is_half = ring_.dtype == ElementType::kFloat16;
    const RingBuffer wide(&pool_, ElementType::kFloat32, is_half ? arrays_.out.count : 0);
    const std::int64_t first = step.first_query * arrays_.out.strides.row;
    job->out_is_bf16 = job->is_bf16;
    data->out =
        is_half ? wide.At(first)
                : static_cast<std::byte*>(out_) + first * static_cast<std::int64_t>(kernels::ElementBytes(ring_.dtype));
    data->lse = lse_ + step.first_query;
    Run(*job, *data);
    if (is_half) RoundRows(step, wide, ring_.dtype, static_cast<std::byte*>(out_));
  }

  void RunAlone(const RingStep& step, kernels::Attention* job, kernels::AttentionData* data) {
    const RingBuffer wide(&pool_, ElementType::kFloat32, arrays_.out.count);
    RingPartial partial{step, wide, RingBuffer(&pool_, ElementType::kFloat32, NumRows(ring_))};
    data->out = wide.At(step.first_query * arrays_.out.strides.row);
    data->lse = partial.lse.As<float>() + step.first_query;
    Run(*job, *data);
    if (ring_.partial != ElementType::kFloat32) {
      partial.out = RingBuffer(&pool_, ring_.partial, arrays_.out.count);
      RoundRows(step, wide, ring_.partial, partial.out.At(0));
    }
    partials_.push_back(std::move(partial));
  }

  void RoundRows(const RingStep& step, const RingBuffer& wide, ElementType type, std::byte* to) const {
    const RingArray& out = arrays_.out;
    for (std::int64_t stretch = 0; stretch < out.stretches; ++stretch) {
      const std::int64_t begin = stretch * out.from_stretch_to_next + step.first_query * out.strides.row;
      kernels::Cast(ElementType::kFloat32, wide.At(begin), type,
                    to + begin * static_cast<std::int64_t>(kernels::ElementBytes(type)),
                    static_cast<std::size_t>(step.num_queries * out.strides.row));
    }
  }

  void Run(const kernels::Attention& job, const kernels::AttentionData& data) {
    const std::size_t bytes = kernels::AttentionScratchBytes(job);
    if (scratch_.count() < bytes) scratch_ = RingBuffer(&pool_, ElementType::kUInt8, bytes);
    kernels::RunAttention(job, data, scratch_.At(0));
  }

  Comm& comm_;
  BufferPool& pool_;
  const RingAttention& ring_;
  const RingArrays arrays_;
  const KernelOperand queries_;
  const RingOperands own_;
  void* const out_;
  float* const lse_;
  std::optional<RowStates> states_;  // where there is more than one step
  std::vector<RingPartial> partials_;
  RingBuffer scratch_;
};

}  // namespace

void RingForward(Comm* comm, const RingAttention& ring, const RingOperands& operands, void* out, float* lse) {
  CheckRing(ring);
  Forward(comm, ring, operands, out, lse).Run();
}

}  // namespace amp::dist
