#include "ops/attention/interleaved_attention_work.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/attention/attention_backward.h"
#include "kernels/threads/parallel.h"

namespace amp {
namespace {

using kernels::Attention;
using kernels::AttentionData;

bool HasKernel(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBFloat16; }

// The dtype that kernels read for this one.
std::optional<DType> KernelDType(DType dtype) {
  if (HasKernel(dtype)) return dtype;
  return dtype == DType::kFloat16 ? std::optional(DType::kFloat32) : std::nullopt;
}

bool IsEmpty(const Attention& job) {
  const auto sizes = {job.num_batch, job.num_heads, job.num_queries, job.num_keys, job.size, job.value_size};
  return std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size == 0; });
}

// What a kernel writes for a result of this dtype.
DType WrittenDType(DType dtype) { return dtype == DType::kBFloat16 ? dtype : DType::kFloat32; }

// The job for operands of this dtype, or none.
std::optional<Attention> JobFor(const AttentionWork& work, DType dtype) {
  const bool rounds_to_half = work.p_dtype == DType::kFloat16;
  if (!KernelDType(dtype) || rounds_to_half || IsEmpty(work.job)) return std::nullopt;
  Attention job = work.job;
  job.is_bf16 = dtype == DType::kBFloat16;
  job.p_is_bf16 = work.p_dtype == DType::kBFloat16;
  job.num_threads = kernels::NumThreads();
  return job;
}

// Operands in the kernel's dtype, lengths in int32 and masks in bool; `first`: of the node's inputs.
std::vector<ValueId> OperandsOf(LowerContext& c, const AttentionWork& work, int first) {
  std::vector<ValueId> operands;
  const auto count = static_cast<int>(work.num_operands());
  for (int i = 0; i < count; ++i) operands.push_back(c.Cast(c.in(first + i), *KernelDType(c.in_type(first + i).dtype)));
  if (work.masking == Masking::kLength) operands.push_back(c.Cast(c.in(first + count), DType::kInt32));
  if (work.masking == Masking::kMask) operands.push_back(c.Cast(c.in(first + count), DType::kBool));
  return operands;
}

// The inputs of a kernel from `first` on.
AttentionData DataOf(const AttentionWork& work, const Attention& job, const KernelOperands& operands,
                     std::size_t first) {
  AttentionData data;
  data.queries = operands.input(first);
  if (work.interleaved) {
    const std::int64_t part = job.size * (job.is_bf16 ? 2 : 4);
    data.keys = static_cast<const char*>(data.queries) + part;
    data.values = static_cast<const char*>(data.queries) + 2 * part;
  } else {
    data.keys = operands.input(first + 1);
    data.values = operands.input(first + 2);
  }
  const std::size_t seen = first + work.num_operands();
  if (work.masking == Masking::kLength) data.lengths = static_cast<const std::int32_t*>(operands.input(seen));
  if (work.masking == Masking::kMask) data.mask = static_cast<const std::uint8_t*>(operands.input(seen));
  return data;
}

double ScoresOf(const Attention& job) {
  const auto pairs = static_cast<double>(job.num_batch * job.num_heads * job.num_queries * job.num_keys);
  return job.causal && job.num_queries == job.num_keys ? pairs / 2 : pairs;
}

// The kernel of the forward operator. It writes the outputs that the step has: the result, log-sum-exp, sums.
struct ForwardKernel {
  AttentionWork work;
  Attention job;
  bool has_lse, has_sums;

  std::size_t NumRows() const { return static_cast<std::size_t>(job.num_batch * job.num_heads * job.num_queries); }
  std::size_t StateBytes() const { return has_sums ? 2 * NumRows() * sizeof(float) : 0; }
  std::size_t ScratchBytes() const { return StateBytes() + AttentionScratchBytes(job); }

  void operator()(const KernelOperands& operands) const {
    AttentionData data = DataOf(work, job, operands, 0);
    std::size_t output = 0;
    data.out = operands.output(output++);
    if (has_lse) data.lse = static_cast<float*>(operands.output(output++));
    if (has_sums) {
      data.largest = static_cast<float*>(operands.scratch());
      data.sum = data.largest + NumRows();
      data.sums = static_cast<float*>(operands.output(output));
    }
    RunAttention(job, data, static_cast<char*>(operands.scratch()) + StateBytes());
  }
};

struct GradientKernel {
  AttentionWork work;
  kernels::AttentionBackward job;
  bool has_lse_gradient;

  void operator()(const KernelOperands& operands) const {
    const std::size_t first = has_lse_gradient ? 2 : 1, results = first + work.num_inputs();
    kernels::AttentionBackwardData data;
    data.forward = DataOf(work, job.forward, operands, first);
    data.forward.out = const_cast<void*>(operands.input(results));  // it is only read
    data.forward.lse = const_cast<float*>(static_cast<const float*>(operands.input(results + 1)));
    data.out_gradient = operands.input(0);
    if (has_lse_gradient) data.lse_gradient = static_cast<const float*>(operands.input(1));
    data.query_gradient = operands.output(0);
    if (work.interleaved) {
      const std::int64_t part = job.forward.size * (job.gradients_are_bf16 ? 2 : 4);
      data.key_gradient = static_cast<char*>(data.query_gradient) + part;
      data.value_gradient = static_cast<char*>(data.query_gradient) + 2 * part;
    } else {
      data.key_gradient = operands.output(1);
      data.value_gradient = operands.output(2);
    }
    RunAttentionBackward(job, data, operands.scratch());
  }
};

}  // namespace

void InferAttentionResults(DTypeRelation& r, int operand, std::initializer_list<int> results,
                           std::initializer_list<int> statistics) {
  const auto infer = [&](int input, DType dtype) {
    r.InIsFloat(input);
    if (IsKnown(r.in(operand)) && !IsKnown(r.in(input))) r.In(input, dtype);
  };
  r.InIsFloat(operand);
  for (const int input : results) infer(input, r.in(operand));
  for (const int input : statistics) infer(input, StatisticsDType(r.in(operand)));
}

bool LowerAttention(LowerContext& c, const AttentionWork& work) {
  std::optional<Attention> job = JobFor(work, c.in_type(0).dtype);
  if (!job) return false;
  const DType written = WrittenDType(c.out_type(0).dtype);
  job->out_is_bf16 = written == DType::kBFloat16;
  const bool has_sums = c.out_types().size() > 2 && c.is_read(2);
  const ForwardKernel kernel{work, *job, c.is_read(1), has_sums};
  std::vector<TensorType> types{{written, c.out_type(0).shape}};
  for (const int i : {1, 2}) {
    if (i == 1 ? kernel.has_lse : kernel.has_sums) types.push_back({DType::kFloat32, c.out_type(i).shape});
  }
  KernelSpec spec{"attention", kernel, kernel.ScratchBytes()};
  spec.flops = 2 * ScoresOf(*job) * static_cast<double>(job->size + job->value_size);
  const std::vector<ValueId> results = c.EmitSeveral(std::move(spec), OperandsOf(c, work, 0), types);
  std::size_t next = 0;
  c.SetOut(0, c.Cast(results[next++], c.out_type(0).dtype));
  if (kernel.has_lse) c.SetOut(1, c.Cast(results[next++], c.out_type(1).dtype));
  if (kernel.has_sums) c.SetOut(2, c.Cast(results[next], c.out_type(2).dtype));
  return true;
}

bool LowerAttentionGradient(LowerContext& c, const AttentionWork& work) {
  const auto num_inputs = static_cast<int>(c.in_types().size()), results = num_inputs - 2;
  const int first = results - static_cast<int>(work.num_inputs());
  const std::optional<Attention> job = JobFor(work, c.in_type(first).dtype);
  const std::optional<DType> gradient = KernelDType(c.in_type(0).dtype), out = KernelDType(c.in_type(results).dtype);
  if (!job || !gradient || !out) return false;
  GradientKernel kernel{work, {}, first == 2};
  kernel.job.forward = *job;
  kernel.job.forward.out_is_bf16 = *out == DType::kBFloat16;
  kernel.job.out_gradient_is_bf16 = *gradient == DType::kBFloat16;
  const DType written = WrittenDType(c.out_type(0).dtype);
  kernel.job.gradients_are_bf16 = written == DType::kBFloat16;
  kernel.job.out_gradient = job->out;
  kernel.job.query_gradient = job->queries;
  kernel.job.key_gradient = job->keys;
  kernel.job.value_gradient = job->values;
  std::vector<ValueId> inputs{c.Cast(c.in(0), *gradient)};
  if (kernel.has_lse_gradient) inputs.push_back(c.Cast(c.in(1), DType::kFloat32));
  for (const ValueId operand : OperandsOf(c, work, first)) inputs.push_back(operand);
  inputs.push_back(c.Cast(c.in(results), *out));
  inputs.push_back(c.Cast(c.in(results + 1), DType::kFloat32));
  std::vector<TensorType> types;
  for (const TensorType& type : c.out_types()) types.push_back({written, type.shape});
  KernelSpec spec{"attention_gradient", kernel, AttentionBackwardScratchBytes(kernel.job)};
  spec.flops = ScoresOf(*job) * static_cast<double>(6 * job->size + 4 * job->value_size);
  const std::vector<ValueId> gradients = c.EmitSeveral(std::move(spec), std::move(inputs), types);
  for (int i = 0; i < std::ssize(gradients); ++i) {
    c.SetOut(i, c.Cast(gradients[static_cast<std::size_t>(i)], c.out_type(i).dtype));
  }
  return true;
}

}  // namespace amp
