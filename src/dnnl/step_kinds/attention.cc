#include "kernels/attention/attention.h"

#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "kernels/threads/parallel.h"

namespace amp::onednn {
namespace {

using Dims = dnnl::memory::dims;

std::size_t NumAttentionTensors(const AttentionSpec& spec) { return spec.interleaved ? 1 : 3; }

void Attend(const AttentionSpec& spec, const kernels::Attention& job, const KernelOperands& operands) {
  kernels::AttentionData data;
  data.queries = operands.input(0);
  if (spec.interleaved) {
    const auto part = static_cast<std::size_t>(job.size) * (job.is_bf16 ? 2 : 4);
    data.keys = static_cast<const char*>(operands.input(0)) + part;
    data.values = static_cast<const char*>(operands.input(0)) + 2 * part;
  } else {
    data.keys = operands.input(1);
    data.values = operands.input(2);
  }
  if (spec.masking == Masking::kLength) {
    data.lengths = static_cast<const std::int32_t*>(operands.input(NumAttentionTensors(spec)));
  } else if (spec.masking == Masking::kMask) {
    data.mask = static_cast<const std::uint8_t*>(operands.input(NumAttentionTensors(spec)));
  }
  data.out = operands.output();
  if (operands.num_outputs() > 1) data.lse = static_cast<float*>(operands.output(1));
  kernels::RunAttention(job, data, operands.scratch());
}

// The kernel reads memory in any order of axes, as long as the elements of a row lie side by side.
bool HasDenseRows(const Desc& layout) {
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked || layout.get_inner_nblks() != 0) return false;
  return layout.get_dims().back() == 1 || layout.get_strides().back() == 1;
}

// (B, [H,] rows, size). Axes of size 1 have a stride of 0: they may stand for many.
kernels::HeadRows RowsOfHeads(const Desc& layout) {
  const Dims dims = layout.get_dims(), strides = layout.get_strides();
  const auto stride = [&](std::size_t axis) { return dims[axis] == 1 ? 0 : strides[axis]; };
  if (dims.size() == 3) return {stride(0), 0, stride(1)};
  return {stride(0), stride(1), stride(2)};
}

// The rows of lengths, which have no last axis.
kernels::HeadRows LengthsOfHeads(const Shape& shape) {
  const std::int64_t rows = shape[shape.rank() - 1];
  if (shape.rank() == 2) return {rows, 0, 1};
  return {shape[1] * rows, rows, 1};
}

void SetSeparate(const Step& step, const LaidOutProgram& program, kernels::Attention* job) {
  const Shape& queries = program.TypeOf(step.inputs[0]).shape;
  const Shape& values = program.TypeOf(step.inputs[2]).shape;
  const int rank = queries.rank();
  job->num_batch = queries[0];
  job->num_heads = job->num_kv_heads = rank == 4 ? queries[1] : 1;
  job->num_queries = queries[rank - 2];
  job->num_keys = values[rank - 2];
  job->size = queries[rank - 1];
  job->value_size = values[rank - 1];
  job->queries = RowsOfHeads(program.layouts[step.inputs[0]]);
  job->keys = RowsOfHeads(program.layouts[step.inputs[1]]);
  job->values = RowsOfHeads(program.layouts[step.inputs[2]]);
  job->out = RowsOfHeads(program.layouts[step.outputs[0]]);
}

// (L, B, H, 3, D) and (L, B, H, D), row-major.
void SetInterleaved(const Step& step, const LaidOutProgram& program, kernels::Attention* job) {
  const Shape& all = program.TypeOf(step.inputs[0]).shape;
  job->num_batch = all[1];
  job->num_heads = job->num_kv_heads = all[2];
  job->num_queries = job->num_keys = all[0];
  job->size = job->value_size = all[4];
  const Dims in = program.layouts[step.inputs[0]].get_strides(), out = program.layouts[step.outputs[0]].get_strides();
  job->queries = job->keys = job->values = {in[1], in[2], in[0]};
  job->out = {out[1], out[2], out[0]};
}

std::unique_ptr<const OwnKernel> MakeAttention(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<AttentionSpec>(step.spec);
  kernels::Attention job;
  job.is_bf16 = program.TypeOf(step.inputs[0]).dtype == DType::kBFloat16;
  job.p_is_bf16 = job.is_bf16;
  job.out_is_bf16 = program.TypeOf(step.outputs[0]).dtype == DType::kBFloat16;
  job.scale = spec.scale;
  job.num_threads = kernels::NumThreads();
  spec.interleaved ? SetInterleaved(step, program, &job) : SetSeparate(step, program, &job);
  job.causal = spec.causal;
  job.row_offset = spec.row_offset;
  job.statistics = {job.num_heads * job.num_queries, job.num_queries, 1};
  if (spec.masking != Masking::kNone) {
    const ValueId seen = step.inputs[NumAttentionTensors(spec)];
    job.seen = spec.masking == Masking::kMask ? RowsOfHeads(program.layouts[seen])
                                              : LengthsOfHeads(program.TypeOf(seen).shape);
  }
  return MakeOwnKernel([spec, job](const KernelOperands& operands) { Attend(spec, job, operands); },
                       kernels::AttentionScratchBytes(job));
}

// Queries, keys and values in any order of axes but the last; the result lies as the queries do.
void AssignAttention(LayoutBuilder* builder, Step step) {
  const bool is_separate = !std::get<AttentionSpec>(step.spec).interleaved;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const bool is_readable = is_separate && i < 3 && HasDenseRows(builder->LayoutOf(step.inputs[i]));
    if (is_readable) continue;
    step.inputs[i] = builder->InRowMajor(step.inputs[i], step.node, "own kernel requires rows of heads");
  }
  const TensorType type = builder->TypeOf(step.outputs[0]);
  const Desc like_queries = DenseLike(builder->LayoutOf(step.inputs[0]), type);
  builder->SetLayout(step.outputs[0], is_separate && HasDenseRows(like_queries) ? like_queries : PlainDesc(type));
  if (step.outputs.size() > 1) builder->SetLayout(step.outputs[1], PlainDesc(builder->TypeOf(step.outputs[1])));
  builder->Append(std::move(step));
}

[[maybe_unused]] const bool kAttention =
    RegisterStepKind<AttentionSpec>({.assign_layouts = AssignAttention, .make_kernel = MakeAttention});

}  // namespace
}  // namespace amp::onednn
