#include "program/convolution_finish.h"

#include <algorithm>
#include <limits>

namespace amp {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool IsFloat(const TensorType& type) { return type.dtype == DType::kFloat32 || type.dtype == DType::kBFloat16; }

bool Clips(const EltwiseSpec& spec, ConvolutionFinish* finish) {
  if (spec.kind == EltwiseKind::kRelu && spec.alpha == 0) {
    finish->low = 0;
    return true;
  }
  finish->low = spec.alpha;
  finish->high = spec.beta;
  return spec.kind == EltwiseKind::kClip && spec.alpha <= spec.beta;
}

bool AddsImage(const PostOp& op, const StepTypes& types) {
  const auto* binary = std::get_if<BinarySpec>(&op.spec);
  const bool adds = std::holds_alternative<SumSpec>(op.spec) || (binary != nullptr && binary->kind == BinaryKind::kAdd);
  return adds && types.inputs[op.operand].shape == types.outputs[0].shape && IsFloat(types.inputs[op.operand]);
}

std::size_t NumOperands(const Step& step) {
  return static_cast<std::size_t>(std::count_if(step.post_ops.begin(), step.post_ops.end(), [](const PostOp& op) {
    return !std::holds_alternative<EltwiseSpec>(op.spec);
  }));
}

}  // namespace

std::optional<ConvolutionFinish> FinishOf(const Step& step, const StepTypes& types) {
  ConvolutionFinish finish{std::nullopt, -kInfinity, kInfinity};
  bool clips = false;
  for (const PostOp& op : step.post_ops) {
    const auto* function = std::get_if<EltwiseSpec>(&op.spec);
    if (clips) return std::nullopt;  // which is the last that it does
    if (function != nullptr) {
      clips = Clips(*function, &finish);
      if (!clips) return std::nullopt;
    } else {
      if (finish.sum || !AddsImage(op, types)) return std::nullopt;
      finish.sum = op.operand;
    }
  }
  return finish;
}

bool HasBias(const Step& step) {
  const auto* spec = std::get_if<ConvolutionSpec>(&step.spec);
  const std::size_t scale_and_shift = spec != nullptr && spec->source_bounds ? 2 : 0;
  return step.inputs.size() - NumOperands(step) - scale_and_shift == 3;
}

bool HasKernelTypes(const Step& step, const StepTypes& types) {
  return IsFloat(types.inputs[0]) && IsFloat(types.inputs[1]) && IsFloat(types.outputs[0]) &&
         (!HasBias(step) || types.inputs[2].dtype == DType::kFloat32);
}

}  // namespace amp
