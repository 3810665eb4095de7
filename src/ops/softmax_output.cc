// SoftmaxOutput at inference: a softmax that does not look at its label.
#include <algorithm>

#include "ops/ranges.h"
#include "ops/softmax.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

struct SoftmaxOutputParam {
  double grad_scale = 1;
  double ignore_label = -1;
  bool multi_output = false;
  bool use_ignore = false;
  bool preserve_shape = false;
  std::string normalization = "null";
  bool out_grad = false;
  double smooth_alpha = 0;
};

ParamSchema<SoftmaxOutputParam> Schema() {
  const char* training = "Training only; no effect at inference.";
  return ParamSchema<SoftmaxOutputParam>()
      .Optional("grad_scale", &SoftmaxOutputParam::grad_scale, training)
      .Optional("ignore_label", &SoftmaxOutputParam::ignore_label, training)
      .Optional("multi_output", &SoftmaxOutputParam::multi_output, "Normalise axis 1 of data (N, C, ...).")
      .Optional("use_ignore", &SoftmaxOutputParam::use_ignore, training)
      .Optional("preserve_shape", &SoftmaxOutputParam::preserve_shape, "Normalise the last axis.")
      .Optional("normalization", &SoftmaxOutputParam::normalization, training)
      .OneOf({"null", "batch", "valid"})
      .Optional("out_grad", &SoftmaxOutputParam::out_grad, training)
      .Optional("smooth_alpha", &SoftmaxOutputParam::smooth_alpha, training);
}

// Without multi_output and preserve_shape all axes but the first are one. (MXNet's oneDNN kernel, which takes float32
// of rank 4, normalises the last axis there; its other kernels and its documentation agree with this one.)
struct Lines {
  Shape shape;
  int axis;
};

Lines LinesOf(const SoftmaxOutputParam& p, const Shape& data) {
  if (p.multi_output) return {data, 1};
  if (p.preserve_shape) return {data, data.rank() - 1};
  return {Shape{data[0], data.SizeOf(1, data.rank())}, 1};
}

// What MXNet infers where the label's shape is not given: one label per line.
Shape LabelShape(const SoftmaxOutputParam& p, const Shape& data) {
  if (!p.multi_output) return Shape(std::vector<std::int64_t>(data.dims().begin(), data.dims().end() - 1));
  const bool known = std::all_of(data.dims().begin() + 2, data.dims().end(), [](std::int64_t dim) { return dim >= 0; });
  return Shape{data[0], known ? data.SizeOf(2, data.rank()) : kUnknownDim};
}

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<SoftmaxOutputParam>();
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).rank_known()) return;
  const Shape& data = r.in(0);
  if (data.rank() < (p.preserve_shape && !p.multi_output ? 1 : 2)) {
    FailAt(r.node(), "expected data of rank 2 or more, got shape {}", data.ToString());
  }
  if (!r.in(1).rank_known()) r.In(1, LabelShape(p, data));  // other forms of labels are legal; none is read
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Lines lines = LinesOf(node.params<SoftmaxOutputParam>(), in[0].shape());
  NDArray result = out[0].Reshaped(lines.shape);
  SoftmaxReference(in[0].Reshaped(lines.shape), lines.axis, 1.0, {}, result);
}

bool Lower(LowerContext& c) {
  const Lines lines = LinesOf(c.node().params<SoftmaxOutputParam>(), c.in_type(0).shape);
  const TensorType single{DType::kFloat32, lines.shape};  // see softmax
  const auto data = c.Reshape(c.Cast(c.in(0), single.dtype), lines.shape);
  const auto out = c.Reshape(c.Emit(SoftmaxSpec{lines.axis}, {data}, single), c.out_type(0).shape);
  c.SetOut(0, c.Cast(out, c.out_type(0).dtype));
  return true;
}

bool LowerToKernel(LowerContext& c) {
  const Lines lines = LinesOf(c.node().params<SoftmaxOutputParam>(), c.in_type(0).shape);
  return LowerToSoftmax(c, kernels::Softmax(), lines.axis, c.Reshape(c.in(0), lines.shape), kNoValue);
}

[[maybe_unused]] const auto kCard = RegisterOp<SoftmaxOutputParam>("SoftmaxOutput")
                                        .Alias("Softmax")
                                        .Doc("Softmax of data (N, C); the label is for training and need not be bound.")
                                        .Params(Schema())
                                        .Inputs({"data", "label"})
                                        .Set(ShapeRule{InferShape})
                                        .Set(DTypeRule{[](DTypeRelation& r) {
                                          r.Same({0}, {0});
                                          r.InIsFloat(0);
                                          if (!IsKnown(r.in(1))) r.In(1, r.in(0));
                                        }})
                                        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIgnored}})
                                        .Set(ConstantRange({0, 1}))
                                        .Set(ReferenceKernel{Reference})
                                        .Set(LowerRule{Lower})
                                        .Set(KernelRule{LowerToKernel});

}  // namespace
}  // namespace amp
