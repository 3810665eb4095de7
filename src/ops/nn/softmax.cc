// softmax along an axis, optionally over the first `length` elements only.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/reduce/row_gradients.h"
#include "kernels/reduce/softmax.h"
#include "kernels/threads/parallel.h"
#include "ops/common/float32_kernel.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/nn/softmax.h"
#include "passes/gradient/composition_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/out_dtype.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

struct SoftmaxParam {
  std::int64_t axis = -1;
  std::optional<double> temperature;
  std::optional<DType> dtype;
  std::optional<bool> use_length;
};

ParamSchema<SoftmaxParam> SoftmaxSchema() {
  return ParamSchema<SoftmaxParam>()
      .Optional("axis", &SoftmaxParam::axis, "The axis to normalise; may be negative.")
      .Optional("temperature", &SoftmaxParam::temperature, "The data is divided by it first; None: 1.")
      .Optional("dtype", &SoftmaxParam::dtype, "Dtype of the output; None: that of the data.")
      .Optional("use_length", &SoftmaxParam::use_length, "There is an input length; elements beyond it become 0.");
}

void ValidateSoftmax(SoftmaxParam& p) {
  if (p.temperature && !(std::abs(*p.temperature) > 0))
    throw GraphError("attribute temperature: expected a number but 0");
}

void ValidateSoftmin(SoftmaxParam& p) {
  ValidateSoftmax(p);
  if (p.use_length.value_or(false)) throw GraphError("attribute use_length: softmin has no input length");
}

bool UsesLength(const SoftmaxParam& p) { return p.use_length.value_or(false); }

int Axis(const Node& node, const Shape& data) { return RequireAxis(node, node.params<SoftmaxParam>().axis, data); }

void InferSoftmaxShape(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).rank_known()) return;
  const int axis = Axis(r.node(), r.in(0));
  if (!UsesLength(r.node().params<SoftmaxParam>())) return;
  std::vector<std::int64_t> length = r.in(0).dims();
  length.erase(length.begin() + axis);
  r.In(1, Shape(length));
}

void InferSoftmaxDType(DTypeRelation& r) {
  const auto& p = r.node().params<SoftmaxParam>();
  if (p.dtype) {
    if (!IsFloat(*p.dtype)) FailAt(r.node(), "attribute dtype: expected a float dtype, got {}", NameOf(*p.dtype));
    r.Out(0, *p.dtype);
  } else {
    r.Same({0}, {0});
  }
  r.InIsFloat(0);
  if (UsesLength(p) && !IsKnown(r.in(1))) r.In(1, DType::kInt32);
}

// What data is divided by; `sign` -1 makes softmin of softmax.
double Divisor(const SoftmaxParam& p, double sign) { return sign * p.temperature.value_or(1.0); }

void RunSoftmaxReference(const Node& node, bool logarithm, double sign, std::span<const NDArray> in,
                         std::span<NDArray> out) {
  const auto& p = node.params<SoftmaxParam>();
  const std::vector<std::int64_t> lengths = UsesLength(p) ? Numbers<std::int64_t>(in[1]) : std::vector<std::int64_t>();
  SoftmaxReference(in[0], Axis(node, in[0].shape()), Divisor(p, sign), lengths, out[0], logarithm);
}

// In float32 from end to end: oneDNN's bfloat16 softmax rounds its exponentials, too.
bool LowerSoftmax(LowerContext& c, bool logarithm, double sign) {
  const auto& p = c.node().params<SoftmaxParam>();
  if (UsesLength(p) || c.in_type(0).dtype == DType::kFloat64) return false;
  const TensorType single{DType::kFloat32, c.in_type(0).shape};
  ValueId data = c.Cast(c.in(0), single.dtype);
  if (const double divisor = Divisor(p, sign); divisor != 1) {
    data = c.Emit(EltwiseSpec{EltwiseKind::kLinear, static_cast<float>(1 / divisor), 0.0f}, {data}, single);
  }
  const auto out = c.Emit(SoftmaxSpec{Axis(c.node(), single.shape), logarithm}, {data}, single);
  c.SetOut(0, c.Cast(out, c.out_type(0).dtype));
  return true;
}

bool LowerToKernel(LowerContext& c, bool logarithm, double sign) {
  const auto& p = c.node().params<SoftmaxParam>();
  kernels::Softmax job;
  job.scale = static_cast<float>(1 / Divisor(p, sign));
  job.logarithm = logarithm;
  return LowerToSoftmax(c, job, Axis(c.node(), c.in_type(0).shape), c.in(0), UsesLength(p) ? c.in(1) : kNoValue);
}

OpDefinition<SoftmaxParam> RegisterSoftmax(const char* name, const char* doc, bool logarithm, double sign = 1) {
  return RegisterOp<SoftmaxParam>(name)
      .Doc(doc)
      .Params(SoftmaxSchema(), ValidateSoftmax)
      .Inputs([](const SoftmaxParam& p) {
        return UsesLength(p) ? std::vector<std::string>{"data", "length"} : std::vector<std::string>{"data"};
      })
      .Set(ShapeRule{InferSoftmaxShape})
      .Set(DTypeRule{InferSoftmaxDType})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
      .Set(ConstantRange(logarithm ? ValueRange{-ValueRange::kInfinity, 0} : ValueRange{0, 1}))
      .Set(DeclaresOutDType{})
      .Set(GradientRule{[logarithm, sign](GradientContext& c) {
        const auto& p = c.params<SoftmaxParam>();
        const auto length = UsesLength(p) ? std::optional(c.in(1)) : std::nullopt;
        c.Set(0, SoftmaxGradient(c, c.gradient(), p.axis, Divisor(p, sign), logarithm, length));
      }})
      .Set(ReferenceKernel{[logarithm, sign](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        RunSoftmaxReference(node, logarithm, sign, in, out);
      }})
      .Set(LowerRule{[logarithm, sign](LowerContext& c) { return LowerSoftmax(c, logarithm, sign); }})
      .Set(KernelRule{[logarithm, sign](LowerContext& c) { return LowerToKernel(c, logarithm, sign); }});
}

[[maybe_unused]] const auto kSoftmax =
    RegisterSoftmax("softmax", "exp(data / temperature) normalised to sum 1 along the axis.", false)
        .Alias("_npx_softmax");
[[maybe_unused]] const auto kLogSoftmax =
    RegisterSoftmax("log_softmax", "The logarithm of softmax.", true).Alias("_npx_log_softmax");

[[maybe_unused]] const auto kSoftmin = RegisterSoftmax("softmin", "softmax of -data.", false, -1)
                                           .Params(SoftmaxSchema(), ValidateSoftmin)
                                           .Inputs({"data"})
                                           .Set(AmpFacts{Arithmetic::kNeedsFloat32});

// ---- the gradient ----

struct BackwardSoftmaxParam {
  std::int64_t axis = -1;
  double temperature = 1;
  bool logarithm = false;
  bool use_length = false;
};

int Axis(const Node& node, const BackwardSoftmaxParam& p, const Shape& data) { return RequireAxis(node, p.axis, data); }

void SoftmaxBackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<BackwardSoftmaxParam>();
  const Shape& shape = in[0].shape();
  const int axis = Axis(node, p, shape);
  const std::int64_t size = shape[axis], inner = shape.SizeOf(axis + 1, shape.rank());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> dy = Numbers<T>(in[0]), y = Numbers<T>(in[1]);
    const std::vector<std::int64_t> lengths = p.use_length ? Numbers<std::int64_t>(in[2]) : std::vector<std::int64_t>();
    std::vector<T> dx(dy.size(), T{0});
    kernels::ParallelFor(shape.SizeOf(0, axis) * inner, 64, [&](std::int64_t line) {
      const std::int64_t first = line / inner * size * inner + line % inner;
      const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(first + i * inner); };
      const std::int64_t count = p.use_length ? std::clamp<std::int64_t>(lengths[line], 0, size) : size;
      double sum = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto gradient = static_cast<double>(dy[at(i)]);
        sum += p.logarithm ? gradient : gradient * static_cast<double>(y[at(i)]);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const auto gradient = static_cast<double>(dy[at(i)]), value = static_cast<double>(y[at(i)]);
        const double change = p.logarithm ? gradient - std::exp(value) * sum : value * (gradient - sum);
        dx[at(i)] = static_cast<T>(change / p.temperature);
      }
    });
    Store(dx, out[0]);
  });
}

// The last axis is normalised once that axis and it have changed places.
bool LowerSoftmaxBackward(LowerContext& c) {
  const auto& p = c.node().params<BackwardSoftmaxParam>();
  const Shape& shape = c.in_type(0).shape;
  const int axis = Axis(c.node(), p, shape), last = shape.rank() - 1;
  const DType dtype = ComputedDType(c.in_type(0).dtype);
  if (!IsFloat32OrBF16(dtype) || shape.size() == 0 || (p.use_length && axis != last)) return false;
  std::vector<int> axes(static_cast<std::size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<std::size_t>(axis)], axes[static_cast<std::size_t>(last)]);
  const auto swapped = [&](ValueId v) { return axis == last ? v : c.Permute(v, axes); };
  std::vector<ValueId> inputs;
  for (int i = 0; i < 2; ++i) inputs.push_back(swapped(c.Cast(c.in(i), dtype)));
  if (p.use_length) inputs.push_back(c.Cast(c.in(2), DType::kInt64));
  kernels::SoftmaxGradient job;
  job.size = shape[axis];
  job.rows = shape.size() / job.size;
  job.temperature = static_cast<float>(p.temperature);
  job.logarithm = p.logarithm;
  job.is_bf16 = dtype == DType::kBFloat16;
  auto run = [job](const KernelOperands& operands) {
    const void* lengths = operands.num_inputs() > 2 ? operands.input(2) : nullptr;
    kernels::RunSoftmaxGradient(job, operands.input(0), operands.input(1), static_cast<const std::int64_t*>(lengths),
                                operands.output());
  };
  const Shape kept = c.ShapeOf(inputs[0]);
  const ValueId result = c.Emit(KernelSpec{"softmax_gradient", run}, std::move(inputs), {dtype, kept});
  c.SetOut(0, c.Cast(swapped(result), c.out_type(0).dtype));
  return true;
}

void InferSoftmaxBackwardShape(ShapeRelation& r) {
  const auto& p = r.node().params<BackwardSoftmaxParam>();
  for (int i = 0; i < 2; ++i) r.In(i, r.out(0));
  r.In(0, r.in(1));
  r.In(1, r.in(0));
  r.Out(0, r.in(0));
  if (!r.in(0).rank_known()) return;
  const int axis = Axis(r.node(), p, r.in(0));
  if (!p.use_length) return;
  std::vector<std::int64_t> length = r.in(0).dims();
  length.erase(length.begin() + axis);
  r.In(2, Shape(length));
}

std::vector<Term> ComposeBackward(GradientContext& c) {
  const auto& p = c.params<BackwardSoftmaxParam>();
  const Term dy = c.in(0), y = c.in(1);
  const auto sum = [&](const Term& x) { return c.Call("sum", {x}, {{"axis", PrintAttr(p.axis)}, {"keepdims", "1"}}); };
  const Term dx = p.logarithm ? dy - Unary("exp", y) * sum(dy) : y * (dy - sum(dy * y));
  return {dx / p.temperature};
}

[[maybe_unused]] const auto kSoftmaxBackward =
    RegisterOp<BackwardSoftmaxParam>("_backward_softmax")
        .Doc("The gradient of softmax (of its logarithm) from that of its output and the output itself.")
        .Params(ParamSchema<BackwardSoftmaxParam>()
                    .Optional("axis", &BackwardSoftmaxParam::axis, "The axis that is normalised.")
                    .Optional("temperature", &BackwardSoftmaxParam::temperature, "What the data was divided by.")
                    .Optional("logarithm", &BackwardSoftmaxParam::logarithm, "Of log_softmax.")
                    .Optional("use_length", &BackwardSoftmaxParam::use_length,
                              "There is an input length; elements beyond it have no gradient."))
        .Inputs([](const BackwardSoftmaxParam& p) {
          return p.use_length ? std::vector<std::string>{"gradient", "output", "length"}
                              : std::vector<std::string>{"gradient", "output"};
        })
        .Set(ShapeRule{InferSoftmaxBackwardShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0, 1}, {0});
          r.InIsFloat(0);
          if (r.num_inputs() > 2 && !IsKnown(r.in(2))) r.In(2, DType::kInt32);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {
          static const GradientRule kComposed = CompositionRule(ComposeBackward);
          if (c.params<BackwardSoftmaxParam>().use_length) {
            throw UnsupportedError(c.node().Describe() + ": second derivatives with lengths are not supported");
          }
          kComposed.apply(c);
        }})
        .Set(ReferenceKernel{SoftmaxBackwardReference})
        .Set(KernelRule{LowerSoftmaxBackward});

struct SoftmaxActivationParam {
  std::string mode = "instance";
};

// mode instance: the last axis, whatever MXNet's documentation says of data beyond rank 2.
int AxisOf(const SoftmaxActivationParam& p, const Shape& data) { return p.mode == "channel" ? 1 : data.rank() - 1; }

[[maybe_unused]] const auto kSoftmaxActivation =
    RegisterOp<SoftmaxActivationParam>("SoftmaxActivation")
        .Doc("Softmax of data (N, ...) over axis 1 (mode channel) or over the last axis (mode instance).")
        .Params(ParamSchema<SoftmaxActivationParam>()
                    .Optional("mode", &SoftmaxActivationParam::mode, "What is normalised to sum 1.")
                    .OneOf({"instance", "channel"}))
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.AllSame();
          if (r.in(0).rank_known() && r.in(0).rank() < 2) {
            FailAt(r.node(), "expected data of rank 2 or more, got shape {}", r.in(0).ToString());
          }
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.AllSame();
          r.InIsFloat(0);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ConstantRange({0, 1}))
        .Set(DeclaresOutDType{})
        .Set(GradientRule{[](GradientContext& c) {
          const bool by_channel = c.params<SoftmaxActivationParam>().mode == "channel";
          c.Set(0, SoftmaxGradient(c, c.gradient(), by_channel ? 1 : -1, 1, false));
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          SoftmaxReference(in[0], AxisOf(node.params<SoftmaxActivationParam>(), in[0].shape()), 1.0, {}, out[0]);
        }})
        .Set(LowerRule{[](LowerContext& c) {
          if (c.in_type(0).dtype == DType::kFloat64) return false;
          const TensorType single{DType::kFloat32, c.in_type(0).shape};  // see softmax
          const int axis = AxisOf(c.node().params<SoftmaxActivationParam>(), single.shape);
          const auto out = c.Emit(SoftmaxSpec{axis}, {c.Cast(c.in(0), single.dtype)}, single);
          c.SetOut(0, c.Cast(out, c.out_type(0).dtype));
          return true;
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const int axis = AxisOf(c.node().params<SoftmaxActivationParam>(), c.in_type(0).shape);
          return LowerToSoftmax(c, kernels::Softmax(), axis, c.in(0), kNoValue);
        }});

}  // namespace

Term SoftmaxGradient(GradientContext& c, const Term& gradient, std::int64_t axis, double divisor, bool logarithm,
                     const std::optional<Term>& length) {
  AttrMap attrs{{"axis", PrintAttr(axis)}, {"temperature", PrintAttr(divisor)}, {"logarithm", PrintAttr(logarithm)}};
  std::vector<Term> inputs{gradient, c.out()};
  if (length) {
    attrs["use_length"] = "True";
    inputs.push_back(*length);
  }
  const Term found = c.Call("_backward_softmax", inputs, std::move(attrs));
  return c.Call("_broadcast_as", {found, c.in(0)});  // in the dtype of the data
}

bool LowerToSoftmax(LowerContext& c, kernels::Softmax job, int axis, ValueId data, ValueId lengths) {
  const DType in = ComputedDType(c.DTypeOf(data)), out = ComputedDType(c.out_type(0).dtype);
  if (!IsFloat32OrBF16(in) || !IsFloat32OrBF16(out)) return false;
  const Shape& shape = c.ShapeOf(data);
  job.outer = shape.SizeOf(0, axis);
  job.size = shape[axis];
  job.inner = shape.SizeOf(axis + 1, shape.rank());
  job.x_is_bf16 = in == DType::kBFloat16;
  job.y_is_bf16 = out == DType::kBFloat16;
  std::vector<ValueId> inputs{c.Cast(data, in)};
  if (lengths != kNoValue) {
    if (job.inner != 1) return false;
    inputs.push_back(c.Cast(lengths, DType::kInt64));
  }
  auto run = [job](const KernelOperands& operands) {
    const void* given = operands.num_inputs() > 1 ? operands.input(1) : nullptr;
    kernels::RunSoftmax(job, operands.input(0), static_cast<const std::int64_t*>(given), operands.output());
  };
  const ValueId result = c.Emit(KernelSpec{"softmax", run}, std::move(inputs), {out, c.out_type(0).shape});
  c.SetOut(0, c.Cast(result, c.out_type(0).dtype));
  return true;
}

void SoftmaxReference(const NDArray& in, int axis, double temperature, const std::vector<std::int64_t>& lengths,
                      NDArray& out, bool logarithm) {
  WithFloatType(in.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Shape& shape = in.shape();
    const std::int64_t outer = shape.SizeOf(0, axis), size = shape[axis], inner = shape.SizeOf(axis + 1, shape.rank());
    std::vector<T> y = Numbers<T>(in);
    kernels::ParallelFor(outer * inner, 1, [&](std::int64_t place) {
      T* line = y.data() + place / inner * size * inner + place % inner;
      const std::int64_t used = lengths.empty() ? size : std::clamp<std::int64_t>(lengths[place], 0, size);
      T largest = -std::numeric_limits<T>::infinity();
      for (std::int64_t k = 0; k < used; ++k) {
        line[k * inner] /= static_cast<T>(temperature);
        largest = std::max(largest, line[k * inner]);
      }
      T sum{0};
      for (std::int64_t k = 0; k < used; ++k) {
        const T shifted = line[k * inner] - largest, power = std::exp(shifted);
        sum += power;
        line[k * inner] = logarithm ? shifted : power;
      }
      for (std::int64_t k = 0; k < used; ++k) {
        line[k * inner] = logarithm ? line[k * inner] - std::log(sum) : line[k * inner] / sum;
      }
      for (std::int64_t k = used; k < size; ++k) line[k * inner] = T{0};
    });
    Store(y, out);
  });
}

}  // namespace amp
