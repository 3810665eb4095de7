// What batch norms in training need to know of each channel, on memory as it lies.
#include "kernels/reduce/channel_sums.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "dnnl/channel_rows.h"
#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "kernels/base/float_bits.h"
#include "nnvm/error.h"

namespace amp::onednn {
namespace {

// The totals of all channels and what else is needed on the way lie in scratch memory, then that of the sums.
class ChannelSumsKernel : public OwnKernel {
 public:
  ChannelSumsKernel(const ChannelSumsSpec& spec, const kernels::ChannelSums& job)
      : spec_(spec), job_(job), channels_(static_cast<std::size_t>(job.num_channels())) {
    const std::int64_t positions = job.planes ? job.channels : job.rows;
    count_ = static_cast<double>(std::max<std::int64_t>(1, job.batch * positions));
  }

  std::size_t ScratchBytes() const override {
    return 2 * channels_ * sizeof(double) + RoundedUp(channels_ * sizeof(float)) +
           kernels::ChannelSumsScratchBytes(job_);
  }

  void Run(const KernelOperands& operands) const override {
    auto* first = static_cast<double*>(operands.scratch());
    double* second = first + channels_;
    auto* shift = reinterpret_cast<float*>(second + channels_);
    void* scratch = reinterpret_cast<char*>(shift) + RoundedUp(channels_ * sizeof(float));
    switch (spec_.kind) {
      case ChannelSums::kSum:
        kernels::RunChannelSums(job_, operands.input(0), nullptr, nullptr, first, second, scratch);
        for (std::size_t c = 0; c < channels_; ++c) Written(operands, 0)[c] = static_cast<float>(first[c]);
        return;
      case ChannelSums::kStatistics:
        TakeFirst(operands.input(0), shift);
        kernels::RunChannelSums(job_, nullptr, operands.input(0), shift, first, second, scratch);
        return WriteStatistics(operands, first, second, shift);
      case ChannelSums::kGradient:
        kernels::RunChannelSums(job_, operands.input(0), operands.input(1), Numbers(operands, 3), first, second,
                                scratch);
        return WriteGradient(operands, first, second);
    }
  }

 private:
  static std::size_t RoundedUp(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  static const float* Numbers(const KernelOperands& operands, std::size_t i) {
    return static_cast<const float*>(operands.input(i));
  }
  static float* Written(const KernelOperands& operands, std::size_t i) {
    return static_cast<float*>(operands.output(i));
  }

  // An element of each channel: squares of distances from it do not cancel.
  void TakeFirst(const void* x, float* shift) const {
    for (std::size_t c = 0; c < channels_; ++c) {
      const auto channel = static_cast<std::int64_t>(c), width = job_.planes ? 1 : job_.channels;
      const std::int64_t at = channel / width * job_.x_block + channel % width;
      const bool is_empty = job_.batch * job_.rows * job_.channels == 0;
      shift[c] = is_empty       ? 0
                 : job_.is_bf16 ? kernels::BF16ToFloat(static_cast<const std::uint16_t*>(x)[at])
                                : static_cast<const float*>(x)[at];
    }
  }

  void WriteStatistics(const KernelOperands& operands, const double* sums, const double* squares,
                       const float* from) const {
    const float *gamma = Numbers(operands, 1), *beta = Numbers(operands, 2);
    for (std::size_t c = 0; c < channels_; ++c) {
      const double distance = sums[c] / count_, mean = static_cast<double>(from[c]) + distance;
      // A NaN stays one.
      const double spread = squares[c] / count_ - distance * distance, variance = spread < 0 ? 0 : spread;
      const double inverse = 1 / std::sqrt(variance + static_cast<double>(spec_.epsilon));
      const double scale = static_cast<double>(gamma[c]) * inverse;
      Written(operands, 0)[c] = static_cast<float>(mean);
      Written(operands, 1)[c] = static_cast<float>(inverse);
      Written(operands, 2)[c] = static_cast<float>(variance);
      Written(operands, 3)[c] = static_cast<float>(scale);
      Written(operands, 4)[c] = static_cast<float>(static_cast<double>(beta[c]) - mean * scale);
    }
  }

  void WriteGradient(const KernelOperands& operands, const double* sums, const double* products) const {
    const float *gamma = Numbers(operands, 2), *mean = Numbers(operands, 3), *inverse = Numbers(operands, 4);
    for (std::size_t c = 0; c < channels_; ++c) {
      const auto deviation = static_cast<double>(inverse[c]);
      const double slope = products[c] * deviation, scale = static_cast<double>(gamma[c]) * deviation;
      const double of_source = -scale * deviation * slope / count_;
      Written(operands, 0)[c] = static_cast<float>(slope);
      Written(operands, 1)[c] = static_cast<float>(sums[c]);
      Written(operands, 2)[c] = static_cast<float>(scale);
      Written(operands, 3)[c] = static_cast<float>(of_source);
      Written(operands, 4)[c] =
          static_cast<float>(-scale * sums[c] / count_ - of_source * static_cast<double>(mean[c]));
    }
  }

  ChannelSumsSpec spec_;
  kernels::ChannelSums job_;
  std::size_t channels_;
  double count_ = 1;  // elements of a channel
};

// How many of the inputs are tensors rather than numbers of channels.
std::size_t NumSummedTensors(const Step& step) {
  return std::get<ChannelSumsSpec>(step.spec).kind == ChannelSums::kGradient ? 2 : 1;
}

kernels::SumsOf KernelSums(ChannelSums kind) {
  using enum kernels::SumsOf;
  constexpr kernels::SumsOf kSums[] = {kGradient, kSquares, kProducts};
  return kSums[static_cast<int>(kind)];
}

std::unique_ptr<const OwnKernel> MakeChannelSums(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<ChannelSumsSpec>(step.spec);
  const auto g = ChannelRowsOf(program.layouts[step.inputs[0]]);
  const auto x = ChannelRowsOf(program.layouts[step.inputs[NumSummedTensors(step) - 1]]);
  if (!g || !x) throw InternalError("sums of channels in memory that has no rows");
  kernels::ChannelSums job;
  job.what = KernelSums(spec.kind);
  job.is_bf16 = program.TypeOf(step.inputs[0]).dtype == DType::kBFloat16;
  std::tie(job.batch, job.blocks, job.rows) = std::tie(x->num_batch, x->num_blocks, x->num_rows);
  std::tie(job.channels, job.planes) = std::tie(x->row_length, x->planes);
  std::tie(job.g_batch, job.g_block, job.g_row) = std::tie(g->batch, g->block, g->row);
  std::tie(job.x_batch, job.x_block, job.x_row) = std::tie(x->batch, x->block, x->row);
  return std::make_unique<ChannelSumsKernel>(spec, job);
}

void AssignChannelSums(LayoutBuilder* builder, Step step) {
  const std::size_t tensors = NumSummedTensors(step);
  ValueId& last = step.inputs[tensors - 1];
  if (!ChannelRowsOf(builder->LayoutOf(last))) {
    last = builder->InRowMajor(last, step.node, "own kernel requires channels first or last");
  }
  if (!HaveSameRows(builder->LayoutOf(step.inputs[0]), builder->LayoutOf(last))) {
    const Desc layout = DenseCopy(builder->LayoutOf(last), builder->TypeOf(step.inputs[0]));
    step.inputs[0] =
        builder->InLayout(step.inputs[0], layout, step.node, "own kernel requires two tensors in one order");
  }
  for (std::size_t i = tensors; i < step.inputs.size(); ++i) {
    step.inputs[i] = builder->InRowMajor(step.inputs[i], step.node, "");
  }
  builder->Append(std::move(step));
}

[[maybe_unused]] const bool kChannelSums =
    RegisterStepKind<ChannelSumsSpec>({.assign_layouts = AssignChannelSums, .make_kernel = MakeChannelSums});

}  // namespace
}  // namespace amp::onednn
