#include "program/epilogue.h"

#include <algorithm>
#include <limits>

namespace amp {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool IsClip(const EltwiseSpec& spec) {
  return (spec.kind == EltwiseKind::kRelu && spec.alpha == 0) ||
         (spec.kind == EltwiseKind::kClip && spec.alpha <= spec.beta);
}

// The last function, where it is a clip, as bounds.
void MoveClip(Epilogue* epilogue) {
  epilogue->low = -kInfinity;
  epilogue->high = kInfinity;
  if (epilogue->functions.empty() || !IsClip(epilogue->functions.back())) return;
  const EltwiseSpec& clip = epilogue->functions.back();
  const bool is_relu = clip.kind == EltwiseKind::kRelu;
  epilogue->low = is_relu ? 0 : clip.alpha;
  if (!is_relu) epilogue->high = clip.beta;
  epilogue->functions.pop_back();
}

bool HasSlopesOfChannels(const PostOp& op, const StepTypes& types) {
  if (!std::holds_alternative<PReluSpec>(op.spec)) return false;
  const TensorType& slopes = types.inputs[op.operand];
  return slopes.dtype == DType::kFloat32 && slopes.shape.size() == types.outputs[0].shape[1];
}

bool AddsTensor(const PostOp& op, const StepTypes& types) {
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

std::optional<Epilogue> EpilogueOf(const Step& step, const StepTypes& types) {
  Epilogue epilogue;
  for (const PostOp& op : step.post_ops) {
    if (epilogue.slopes) return std::nullopt;
    if (epilogue.functions.empty() && HasSlopesOfChannels(op, types)) {
      epilogue.slopes = op.operand;
    } else if (const auto* function = std::get_if<EltwiseSpec>(&op.spec)) {
      epilogue.functions.push_back(*function);
    } else {
      if (epilogue.sum || !epilogue.functions.empty() || !AddsTensor(op, types)) return std::nullopt;
      epilogue.sum = op.operand;
    }
  }
  MoveClip(&epilogue);
  return epilogue;
}

std::optional<LinearEpilogue> LinearEpilogueOf(const Epilogue& epilogue) {
  if (epilogue.functions.empty()) return LinearEpilogue{epilogue.slopes.has_value(), 0};
  const EltwiseSpec& function = epilogue.functions[0];
  const bool has_bounds = epilogue.low != -kInfinity || epilogue.high != kInfinity;
  if (epilogue.functions.size() > 1 || has_bounds || function.kind != EltwiseKind::kRelu) return std::nullopt;
  return LinearEpilogue{true, function.alpha};
}

bool AreAll(const IntTuple& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
}

bool HasBias(const Step& step) { return step.inputs.size() - NumOperands(step) == 3; }

bool HasKernelTypes(const Step& step, const StepTypes& types) {
  return IsFloat32OrBF16(types.inputs[0].dtype) && IsFloat32OrBF16(types.inputs[1].dtype) &&
         IsFloat32OrBF16(types.outputs[0].dtype) && (!HasBias(step) || types.inputs[2].dtype == DType::kFloat32);
}

}  // namespace amp
