// SoftmaxOutput at inference: a softmax that does not look at its label.
#include <algorithm>
#include <optional>
#include <span>

#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/nn/softmax.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::softmax_output {
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

// ---- the gradient ----

// Output and label as lines of classes: class k of a line lies `inner` elements behind class k - 1.
struct LabelledLines {
  std::int64_t classes, inner, count;

  std::size_t Place(std::int64_t line, std::int64_t k) const {
    return static_cast<std::size_t>(line / inner * classes * inner + line % inner + k * inner);
  }
};

LabelledLines LabelledLinesOf(const SoftmaxOutputParam& p, const Shape& data) {
  const Lines lines = LinesOf(p, data);
  const std::int64_t classes = lines.shape[lines.axis];
  const std::int64_t inner = lines.shape.SizeOf(lines.axis + 1, lines.shape.rank());
  return {classes, inner, lines.shape.SizeOf(0, lines.axis) * inner};
}

// What all gradients are multiplied with. As MXNet has it, several outputs count the places of an instance, too, unless
// valid labels are counted.
double ScaleOf(const SoftmaxOutputParam& p, const LabelledLines& lines, std::span<const std::int64_t> labels,
               std::int64_t batch) {
  double divisor = 1;
  if (p.normalization == "batch") divisor = static_cast<double>(p.multi_output ? batch : lines.count);
  if (p.normalization == "valid") {
    const auto ignored = static_cast<std::int64_t>(p.ignore_label);
    divisor = static_cast<double>(
        std::max<std::ptrdiff_t>(1, std::ssize(labels) - std::count(labels.begin(), labels.end(), ignored)));
  }
  if (p.multi_output && p.normalization != "valid") divisor *= static_cast<double>(lines.inner);
  return p.grad_scale / divisor;
}

// Labels that are probabilities themselves.
template <class T>
std::vector<T> DifferenceFromProbabilities(const SoftmaxOutputParam& p, std::vector<T> y, const NDArray& label) {
  const std::vector<T> expected = Numbers<T>(label);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = (y[i] - expected[i]) * static_cast<T>(p.grad_scale);
  return y;
}

template <class T>
std::vector<T> DifferenceFromLabels(const SoftmaxOutputParam& p, std::vector<T> y, const NDArray& label,
                                    const Shape& data) {
  const LabelledLines lines = LabelledLinesOf(p, data);
  const std::vector<std::int64_t> labels = Numbers<std::int64_t>(label);
  const T scale = static_cast<T>(ScaleOf(p, lines, labels, data[0]));
  const T missed = static_cast<T>(p.smooth_alpha / static_cast<double>(std::max<std::int64_t>(1, lines.classes - 1)));
  for (std::int64_t line = 0; line < lines.count; ++line) {
    const std::int64_t chosen = labels[static_cast<std::size_t>(line)];
    const bool is_ignored = p.use_ignore && chosen == static_cast<std::int64_t>(p.ignore_label);
    for (std::int64_t k = 0; k < lines.classes; ++k) {
      T& value = y[lines.Place(line, k)];
      const T expected = k == chosen ? static_cast<T>(1 - p.smooth_alpha) : missed;
      value = is_ignored ? T{0} : (value - expected) * scale;
    }
  }
  return y;
}

void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<SoftmaxOutputParam>();
  WithFloatType(out[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const bool is_probabilities = in[1].shape() == in[0].shape();
    std::vector<T> dx = is_probabilities ? DifferenceFromProbabilities(p, Numbers<T>(in[0]), in[1])
                                         : DifferenceFromLabels(p, Numbers<T>(in[0]), in[1], in[0].shape());
    if (p.out_grad) {  // MXNet multiplies by the output where it means the output's gradient
      const std::vector<T> output = Numbers<T>(in[0]);
      for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= output[i];
    }
    Store(dx, out[0]);
  });
}

// One label for each line; both float32.
struct LabelGradient {
  LabelledLines lines;
  float expected, missed;  // of the class that a label names, and of the others
  bool multiplies_by_output;
  std::optional<std::int64_t> ignored;

  void Run(const float* y, const std::int64_t* labels, float scale, float* dx) const {
    const std::int64_t grain = std::max<std::int64_t>(1, 4096 / lines.classes);
    kernels::ParallelFor(lines.count, grain, [&](std::int64_t line) {
      const float factor = ignored && labels[line] == *ignored ? 0 : scale;
      const auto set = [&](std::int64_t k, float value) {
        const std::size_t place = lines.Place(line, k);
        const float change = factor == 0 ? 0 : (y[place] - value) * factor;
        dx[place] = multiplies_by_output ? change * y[place] : change;
      };
      for (std::int64_t k = 0; k < lines.classes; ++k) set(k, missed);
      if (labels[line] >= 0 && labels[line] < lines.classes) set(labels[line], expected);
    });
  }
};

bool LowerBackward(LowerContext& c) {
  const auto& p = c.node().params<SoftmaxOutputParam>();
  const TensorType &output = c.in_type(0), &label = c.in_type(1);
  const bool is_probabilities = label.shape == output.shape;
  if (output.dtype == DType::kFloat64 || is_probabilities || output.shape.size() == 0) return false;
  const LabelledLines lines = LabelledLinesOf(p, output.shape);
  const double missed = p.smooth_alpha / static_cast<double>(std::max<std::int64_t>(1, lines.classes - 1));
  const std::optional<std::int64_t> ignored =
      p.use_ignore ? std::optional(static_cast<std::int64_t>(p.ignore_label)) : std::nullopt;
  const LabelGradient job{lines, static_cast<float>(1 - p.smooth_alpha), static_cast<float>(missed), p.out_grad,
                          ignored};
  const std::int64_t batch = output.shape[0];
  auto run = [job, p, batch](const KernelOperands& operands) {
    const auto* labels = static_cast<const std::int64_t*>(operands.input(1));
    const double scale = ScaleOf(p, job.lines, {labels, static_cast<std::size_t>(job.lines.count)}, batch);
    job.Run(static_cast<const float*>(operands.input(0)), labels, static_cast<float>(scale),
            static_cast<float*>(operands.output()));
  };
  const ValueId result =
      c.Emit(KernelSpec{"softmax_output_gradient", run},
             {c.Cast(c.in(0), DType::kFloat32), c.Cast(c.in(1), DType::kInt64)}, {DType::kFloat32, output.shape});
  c.SetOut(0, c.Cast(result, c.out_type(0).dtype));
  return true;
}

void InferBackwardShape(ShapeRelation& r) {
  InferShape(r);
  const auto& p = r.node().params<SoftmaxOutputParam>();
  if (!r.in(0).fully_known() || !r.in(1).fully_known() || r.in(0) == r.in(1)) return;
  const LabelledLines lines = LabelledLinesOf(p, r.in(0));
  if (r.in(1).size() != lines.count) {
    FailAt(r.node(), "expected a label for each of {} lines of data {}, got shape {}", lines.count, r.in(0).ToString(),
           r.in(1).ToString());
  }
}

void Gradient(GradientContext& c) { c.Set(0, c.Call("_backward_SoftmaxOutput", {c.out(), c.in(1)}, c.attrs())); }

[[maybe_unused]] const auto kBackward =
    RegisterOp<SoftmaxOutputParam>("_backward_SoftmaxOutput")
        .Doc("The gradient of SoftmaxOutput's data: that of the cross entropy.")
        .Params(Schema())
        .Inputs({"output", "label"})
        .Set(ShapeRule{InferBackwardShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          r.InIsFloat(0);
          if (!IsKnown(r.in(1))) r.In(1, r.in(0));
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"the gradient of a loss is none of a function"})
        .Set(AlwaysWrites{})
        .Set(ReferenceKernel{BackwardReference})
        .Set(KernelRule{LowerBackward});

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
                                        .Set(HasOwnGradient{})
                                        .Set(GradientRule{Gradient})
                                        .Set(ReferenceKernel{Reference})
                                        .Set(LowerRule{Lower})
                                        .Set(KernelRule{LowerToKernel});

}  // namespace
}  // namespace amp::softmax_output
