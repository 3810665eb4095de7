#include "program/convolution_finish.h"

#include <algorithm>
#include <limits>

#include "program/map_steps.h"

namespace amp {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool Clips(const EltwiseSpec& spec, ConvolutionFinish* finish) {
  if (spec.kind == EltwiseKind::kRelu && spec.alpha == 0) {
    finish->low = 0;
    return true;
  }
  finish->low = spec.alpha;
  finish->high = spec.beta;
  return spec.kind == EltwiseKind::kClip && spec.alpha <= spec.beta;
}

// Slopes of channels.
bool Bends(const PostOp& op, const StepTypes& types) {
  if (!std::holds_alternative<PReluSpec>(op.spec)) return false;
  const TensorType& slopes = types.inputs[op.operand];
  return slopes.dtype == DType::kFloat32 && slopes.shape.size() == types.outputs[0].shape[1];
}

std::optional<NegativeSlope> BendOf(const PostOp& op, const StepTypes& types) {
  const auto* function = std::get_if<EltwiseSpec>(&op.spec);
  if (function != nullptr && function->kind == EltwiseKind::kRelu && function->alpha != 0)
    return NegativeSlope{function->alpha, std::nullopt};
  return Bends(op, types) ? std::optional(NegativeSlope{0, op.operand}) : std::nullopt;
}

bool AddsImage(const PostOp& op, const StepTypes& types) {
  const auto* binary = std::get_if<BinarySpec>(&op.spec);
  const bool adds = std::holds_alternative<SumSpec>(op.spec) || (binary != nullptr && binary->kind == BinaryKind::kAdd);
  return adds && types.inputs[op.operand].shape == types.outputs[0].shape &&
         IsFloat32OrBF16(types.inputs[op.operand].dtype);
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
    if (clips || finish.bend) return std::nullopt;  // which is the last that it does
    if ((finish.bend = BendOf(op, types))) continue;
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

// The last function is a clip if it can be one.
std::optional<ProductFinish> ProductFinishOf(const Step& step, const StepTypes& types) {
  std::optional<std::size_t> sum, slopes;
  std::vector<EltwiseSpec> functions;
  for (const PostOp& op : step.post_ops) {
    if (slopes) return std::nullopt;
    if (functions.empty() && Bends(op, types)) {
      slopes = op.operand;
    } else if (const auto* function = std::get_if<EltwiseSpec>(&op.spec)) {
      functions.push_back(*function);
    } else {
      if (sum || !functions.empty() || !AddsImage(op, types)) return std::nullopt;
      sum = op.operand;
    }
  }
  ConvolutionFinish clip{sum, -kInfinity, kInfinity};
  if (!functions.empty() && Clips(functions.back(), &clip)) {
    functions.pop_back();
  } else {
    clip = {sum, -kInfinity, kInfinity};
  }
  auto steps = MapStepsOf(functions);
  if (!steps) return std::nullopt;
  return ProductFinish{sum, slopes, *std::move(steps), clip.low, clip.high};
}

bool AreAll(const IntTuple& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
}

bool HasBias(const Step& step) {
  const auto* spec = std::get_if<ConvolutionSpec>(&step.spec);
  const std::size_t scale_and_shift = spec != nullptr && spec->source_bounds ? 2 : 0;
  return step.inputs.size() - NumOperands(step) - scale_and_shift == 3;
}

bool HasKernelTypes(const Step& step, const StepTypes& types) {
  return IsFloat32OrBF16(types.inputs[0].dtype) && IsFloat32OrBF16(types.inputs[1].dtype) &&
         IsFloat32OrBF16(types.outputs[0].dtype) && (!HasBias(step) || types.inputs[2].dtype == DType::kFloat32);
}

}  // namespace amp
