#include "dnnl/primitive_builder.h"

#include <algorithm>

#include "dnnl/engine.h"

namespace amp::onednn {
namespace {

// The axes along which the operand has elements of its own.
int BroadcastMask(const Shape& operand) {
  int mask = 0;
  for (int axis = 0; axis < operand.rank(); ++axis) mask |= operand[axis] == 1 ? 0 : 1 << axis;
  return mask;
}

bool HasOperand(const PostOp& op) { return !std::holds_alternative<EltwiseSpec>(op.spec); }

}  // namespace

dnnl::algorithm AlgorithmOf(EltwiseKind kind) {
  using dnnl::algorithm;
  switch (kind) {
    case EltwiseKind::kRelu:
      return algorithm::eltwise_relu;
    case EltwiseKind::kLinear:
      return algorithm::eltwise_linear;
    case EltwiseKind::kClip:
      return algorithm::eltwise_clip;
    case EltwiseKind::kTanh:
      return algorithm::eltwise_tanh;
    case EltwiseKind::kSigmoid:
      return algorithm::eltwise_logistic;
    case EltwiseKind::kSoftplus:
    case EltwiseKind::kLogSigmoid:
      return algorithm::eltwise_soft_relu;
    case EltwiseKind::kMish:
      return algorithm::eltwise_mish;
    case EltwiseKind::kElu:
      return algorithm::eltwise_elu;
    case EltwiseKind::kGeluErf:
      return algorithm::eltwise_gelu_erf;
    case EltwiseKind::kGeluTanh:
      return algorithm::eltwise_gelu_tanh;
    case EltwiseKind::kAbs:
      return algorithm::eltwise_abs;
    case EltwiseKind::kExp:
      return algorithm::eltwise_exp;
    case EltwiseKind::kLog:
      return algorithm::eltwise_log;
    case EltwiseKind::kSqrt:
      return algorithm::eltwise_sqrt;
    case EltwiseKind::kSquare:
      return algorithm::eltwise_square;
    case EltwiseKind::kSwish:
      return algorithm::eltwise_swish;
    case EltwiseKind::kHardSigmoid:
      return algorithm::eltwise_hardsigmoid;
    case EltwiseKind::kHardSwish:
      return algorithm::eltwise_hardswish;
  }
  return algorithm::undef;
}

dnnl::algorithm AlgorithmOf(BinaryKind kind) {
  using dnnl::algorithm;
  switch (kind) {
    case BinaryKind::kAdd:
      return algorithm::binary_add;
    case BinaryKind::kSub:
      return algorithm::binary_sub;
    case BinaryKind::kMul:
      return algorithm::binary_mul;
    case BinaryKind::kDiv:
      return algorithm::binary_div;
    case BinaryKind::kMax:
    case BinaryKind::kMin:
      break;  // maps compute them: oneDNN's give the second operand where the first one is a NaN
  }
  return algorithm::undef;
}

// log_sigmoid(x) is -softplus(-x): oneDNN's soft_relu with alpha -1.
float AlphaOf(const EltwiseSpec& spec) {
  if (spec.kind == EltwiseKind::kSoftplus) return 1.0f;
  return spec.kind == EltwiseKind::kLogSigmoid ? -1.0f : spec.alpha;
}

PrimitiveBuilder::PrimitiveBuilder(const Step& step, const std::vector<TensorType>& in_types,
                                   const TensorType& out_type, const std::vector<Desc>& layouts, const Desc& out_layout)
    : step_(step), in_(in_types), out_(out_type), layouts_(layouts), out_layout_(out_layout) {
  num_operands_ = static_cast<std::size_t>(std::count_if(step.post_ops.begin(), step.post_ops.end(), HasOperand));
}

dnnl::primitive_attr PrimitiveBuilder::ScratchpadOnly() { return PlainAttributes(); }

dnnl::primitive_attr PrimitiveBuilder::Attributes(float scale) const {
  dnnl::primitive_attr attr = ScratchpadOnly();
  dnnl::post_ops ops;
  if (scale != 1) ops.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0.0f);
  for (const PostOp& op : step_.post_ops) AppendPostOp(op, &ops);
  if (ops.len() != 0) attr.set_post_ops(ops);
  return attr;
}

void PrimitiveBuilder::SetInput(std::size_t i, const Desc& desc, int arg, PreparedPrimitive* prepared) {
  prepared->inputs[i] = desc;
  prepared->input_args[i] = arg;
}

void PrimitiveBuilder::AppendPostOp(const PostOp& op, dnnl::post_ops* ops) const {
  if (const auto* eltwise = std::get_if<EltwiseSpec>(&op.spec)) {
    ops->append_eltwise(AlgorithmOf(eltwise->kind), AlphaOf(*eltwise), eltwise->beta);
  } else if (const auto* binary = std::get_if<BinarySpec>(&op.spec)) {
    ops->append_binary(AlgorithmOf(binary->kind), OperandDesc(op));
  } else if (std::holds_alternative<PReluSpec>(op.spec)) {
    ops->append_prelu(BroadcastMask(in_[op.operand].shape));
  } else {
    ops->append_sum(1.0f);
  }
}

// A tensor of the output's size lies like the output.
Desc PrimitiveBuilder::OperandDesc(const PostOp& op) const {
  const TensorType& type = in_[op.operand];
  if (type.shape != out_.shape) return PlainDesc(type);
  return KindOf(step_.spec).chooses_layouts ? AnyDesc(type) : DenseLike(layouts_[0], type);
}

}  // namespace amp::onednn
