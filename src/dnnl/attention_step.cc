#include "dnnl/attention_step.h"
#include "kernels/parallel.h"

namespace amp::onednn {
namespace {

using Dims = dnnl::memory::dims;

// (B, [H,] rows, size). Axes of size 1 have a stride of 0: they may stand for many.
kernels::HeadRows RowsOfHeads(const Desc& layout) {
  const Dims dims = layout.get_dims(), strides = layout.get_strides();
  const auto stride = [&](std::size_t axis) { return dims[axis] == 1 ? 0 : strides[axis]; };
  if (dims.size() == 3) return {stride(0), 0, stride(1)};
  return {stride(0), stride(1), stride(2)};
}

// Of lengths, which have no last axis.
kernels::HeadRows LengthsOfHeads(const Shape& shape) {
  const std::int64_t rows = shape[shape.rank() - 1];
  if (shape.rank() == 2) return {rows, 0, 1};
  return {shape[1] * rows, rows, 1};
}

void SetSeparate(const std::vector<ValueId>& inputs, ValueId output, const CompiledPlan& plan,
                 kernels::Attention* job) {
  const Shape &queries = plan.types[inputs[0]].shape, &values = plan.types[inputs[2]].shape;
  const int rank = queries.rank();
  job->num_batch = queries[0];
  job->num_heads = rank == 4 ? queries[1] : 1;
  job->num_queries = queries[rank - 2];
  job->num_keys = values[rank - 2];
  job->size = queries[rank - 1];
  job->value_size = values[rank - 1];
  job->queries = RowsOfHeads(plan.layouts[inputs[0]]);
  job->keys = RowsOfHeads(plan.layouts[inputs[1]]);
  job->values = RowsOfHeads(plan.layouts[inputs[2]]);
  job->out = RowsOfHeads(plan.layouts[output]);
}

// (L, B, H, 3, D) and (L, B, H, D), row-major.
void SetInterleaved(const std::vector<ValueId>& inputs, ValueId output, const CompiledPlan& plan,
                    kernels::Attention* job) {
  const Shape& all = plan.types[inputs[0]].shape;
  job->num_batch = all[1];
  job->num_heads = all[2];
  job->num_queries = job->num_keys = all[0];
  job->size = job->value_size = all[4];
  const Dims in = plan.layouts[inputs[0]].get_strides(), out = plan.layouts[output].get_strides();
  job->queries = job->keys = job->values = {in[1], in[2], in[0]};
  job->out = {out[1], out[2], out[0]};
}

std::size_t NumOperands(const AttentionWork& work) { return work.interleaved ? 1 : 3; }

}  // namespace

bool HasDenseRows(const Desc& layout) {
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked || layout.get_inner_nblks() != 0) return false;
  return layout.get_dims().back() == 1 || layout.get_strides().back() == 1;
}

kernels::Attention AttentionOf(const AttentionWork& work, const std::vector<ValueId>& inputs, ValueId output,
                               const CompiledPlan& plan) {
  kernels::Attention job;
  job.is_bf16 = plan.types[inputs[0]].dtype == DType::kBFloat16;
  job.out_is_bf16 = plan.types[output].dtype == DType::kBFloat16;
  job.scale = work.scale;
  job.num_threads = kernels::NumThreads();
  work.interleaved ? SetInterleaved(inputs, output, plan, &job) : SetSeparate(inputs, output, plan, &job);
  if (work.masking == Masking::kNone) return job;
  const ValueId seen = inputs[NumOperands(work)];
  const bool is_mask = work.masking == Masking::kMask;
  job.seen = is_mask ? RowsOfHeads(plan.layouts[seen]) : LengthsOfHeads(plan.types[seen].shape);
  return job;
}

void RunAttention(const CompiledStep& step, const CompiledPlan& plan, const std::vector<void*>& data) {
  const auto& work = std::get<AttentionWork>(step.work);
  const auto at = [&](ValueId v) { return static_cast<char*>(data[v]) + plan.first_bytes[v]; };
  kernels::AttentionData memory;
  memory.queries = at(step.inputs[0]);
  if (work.interleaved) {
    const auto part = static_cast<std::size_t>(step.attention.size) * (step.attention.is_bf16 ? 2 : 4);
    memory.keys = at(step.inputs[0]) + part;
    memory.values = at(step.inputs[0]) + 2 * part;
  } else {
    memory.keys = at(step.inputs[1]);
    memory.values = at(step.inputs[2]);
  }
  if (work.masking == Masking::kLength) {
    memory.lengths = reinterpret_cast<const std::int32_t*>(at(step.inputs[NumOperands(work)]));
  } else if (work.masking == Masking::kMask) {
    memory.mask = reinterpret_cast<const std::uint8_t*>(at(step.inputs[NumOperands(work)]));
  }
  memory.out = at(step.outputs[0]);
  if (!step.args.empty()) return kernels::Run(step.attention, memory, data[step.args[0].second]);
  // A constant is folded: plans have no scratch memory yet.
  const std::shared_ptr<void> scratch = AllocateAligned(kernels::ScratchBytes(step.attention));
  kernels::Run(step.attention, memory, scratch.get());
}

}  // namespace amp::onednn
