// LeakyReLU: rectifiers with a slope, exponential rectifiers and GELU.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/common/broadcast.h"
#include "ops/common/derivatives.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/reduce_rules.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/training_form.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::leaky_relu {
namespace {

struct LeakyReLUParam {
  std::string act_type = "leaky";
  double slope = 0.25;
  double lower_bound = 0.125;
  double upper_bound = 0.334;
};

constexpr double kSeluAlpha = 1.6732632423543772;
constexpr double kSeluScale = 1.0507009873554805;

ParamSchema<LeakyReLUParam> Schema() {
  return ParamSchema<LeakyReLUParam>()
      .Optional("act_type", &LeakyReLUParam::act_type, "The function; 'gelu' is the old name of 'gelu_erf'.")
      .OneOf({"leaky", "prelu", "elu", "selu", "gelu", "gelu_erf", "gelu_tanh", "rrelu"})
      .Optional("slope", &LeakyReLUParam::slope, "Slope of leaky, alpha of elu.")
      .Optional("lower_bound", &LeakyReLUParam::lower_bound, "rrelu: smallest slope.")
      .Optional("upper_bound", &LeakyReLUParam::upper_bound,
                "rrelu: largest slope; at inference the slope is the mean of both.");
}

void Validate(LeakyReLUParam& p) {
  if (p.act_type == "gelu") p.act_type = "gelu_erf";
}

bool IsPRelu(const Node& node) { return node.params<LeakyReLUParam>().act_type == "prelu"; }

double MeanSlope(const LeakyReLUParam& p) { return (p.lower_bound + p.upper_bound) / 2; }

double Apply(const LeakyReLUParam& p, double x) {
  if (p.act_type == "leaky") return x > 0 ? x : p.slope * x;
  if (p.act_type == "rrelu") return x > 0 ? x : MeanSlope(p) * x;
  if (p.act_type == "elu") return x > 0 ? x : p.slope * std::expm1(x);
  if (p.act_type == "selu") return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x));
  if (p.act_type == "gelu_erf") return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));  // gelu_tanh
}

// prelu: gamma as an array of the data's rank that is broadcast to it. One of rank 1 lies along the channels: axis 1,
// and axis 0 of data of rank 1. One of rank 2 has slopes for each sample: axes 0 and 1.
Shape SlopeShape(const Shape& gamma, int rank) {
  if (gamma.rank() == rank) return gamma;
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
  dims[1] = gamma[gamma.rank() - 1];
  if (gamma.rank() == 2) dims[0] = gamma[0];
  return Shape(dims);
}

void CheckGamma(const Node& node, const Shape& data, const Shape& gamma) {
  if (data.rank() == 0) FailAt(node, "prelu: expected data of rank 1 or more, got a scalar");
  const std::int64_t channels = data[data.rank() > 1 ? 1 : 0];
  const auto fail = [&] {
    FailAt(node, "prelu: expected gamma of shape [{0}], [1] or [{1},{0}], or of one that is broadcast to {2}, got {3}",
           channels, data[0], data.ToString(), gamma.ToString());
  };
  const bool by_sample = gamma.rank() == 2 && data.rank() > 2;
  if (gamma.rank() != 1 && gamma.rank() != data.rank() && !by_sample) fail();
  const Shape slopes = SlopeShape(gamma, data.rank());
  for (int i = 0; i < data.rank(); ++i) {
    if (slopes[i] >= 0 && data[i] >= 0 && slopes[i] != 1 && slopes[i] != data[i]) fail();
  }
}

void InferShape(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (r.num_outputs() > 1) r.Out(1, r.in(0));
  if (!IsPRelu(r.node()) || !r.in(0).rank_known()) return;
  const Shape& data = r.in(0);
  if (data.rank() > 0 && !r.in(1).rank_known()) {
    r.In(1, Shape{data[data.rank() > 1 ? 1 : 0]});
    return;
  }
  CheckGamma(r.node(), data, r.in(1));
  // What is unknown of gamma has the data's size.
  const bool is_channels = r.in(1).rank() == 1 && data.rank() > 1;
  Shape sizes = r.in(1);
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] < 0) sizes[i] = data[is_channels ? 1 : i];
  }
  r.In(1, sizes);
}

void PRelu(const NDArray& data, const NDArray& gamma, NDArray& out) {
  WithFloatType(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> slopes = Numbers<T>(gamma);
    std::vector<T> values = Numbers<T>(data);
    BroadcastIndex place(SlopeShape(gamma.shape(), data.shape().rank()), data.shape());
    for (T& value : values) {
      const T slope = slopes[place.Next()];
      if (!(value > T{0})) value *= slope;
    }
    Store(values, out);
  });
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<LeakyReLUParam>();
  if (IsPRelu(node)) return PRelu(in[0], in[1], out[0]);
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values = Numbers<T>(in[0]);
    for (T& value : values) value = static_cast<T>(Apply(p, static_cast<double>(value)));
    if (out[0].defined()) Store(values, out[0]);
    if (out.size() < 2 || !out[1].defined()) return;
    Store(std::vector<T>(values.size(), static_cast<T>(MeanSlope(p))), out[1]);  // rrelu's slopes
  });
}

// Kernels know slopes of channels, but not one slope that is a parameter: it is repeated, once.
ValueId Slopes(LowerContext& c) {
  const Shape& data = c.in_type(0).shape;
  const ValueId slopes = c.Reshape(c.in(1), SlopeShape(c.in_type(1).shape, data.rank()));
  if (!c.is_parameter(1) || c.ShapeOf(slopes).size() != 1 || data.rank() < 2) return slopes;
  std::vector<std::int64_t> dims(static_cast<std::size_t>(data.rank()), 1);
  dims[1] = data[1];
  NDArray ones(DType::kFloat32, Shape(dims));
  std::fill_n(ones.As<float>(), ones.size(), 1.0f);
  const TensorType type{c.DTypeOf(slopes), Shape(dims)};
  return c.Emit(BinarySpec{BinaryKind::kMul}, {slopes, c.Cast(c.Constant(ones, "ones"), type.dtype)}, type);
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<LeakyReLUParam>();
  if (p.act_type == "prelu") {
    const int rank = c.in_type(0).shape.rank();
    if (rank > 5 && c.in_type(1).shape.rank() > 1) return false;
    c.SetOut(0, c.Emit(PReluSpec{}, {c.in(0), Slopes(c)}, c.out_type(0)));
    return true;
  }
  EltwiseSpec work;
  if (p.act_type == "leaky" || p.act_type == "rrelu") {
    const double slope = p.act_type == "leaky" ? p.slope : MeanSlope(p);
    work = {EltwiseKind::kRelu, static_cast<float>(slope)};
  } else if (p.act_type == "elu") {
    work = {EltwiseKind::kElu, static_cast<float>(p.slope)};
  } else if (p.act_type == "gelu_erf") {
    work = {EltwiseKind::kGeluErf};
  } else if (p.act_type == "gelu_tanh") {
    work = {EltwiseKind::kGeluTanh};
  } else {
    return false;  // selu scales both branches, which is no single function of oneDNN
  }
  c.SetOut(0, c.Emit(work, {c.in(0)}, c.out_type(0)));
  return true;
}

// The range of a function with at most one slope; prelu's slopes are numbers of their own.
ValueRange RangeOf(const RangeQuery& q, int index) {
  const auto& p = q.node.params<LeakyReLUParam>();
  const ValueRange& in = q.in[0];
  const double above = std::max(0.0, in.high);
  if (index == 1) return ValueRange::Of(MeanSlope(p));
  if (p.act_type == "gelu_erf" || p.act_type == "gelu_tanh") return {-0.171, above};
  if (p.act_type == "prelu") return Hull(in, Product(in, q.in[1]));
  const bool is_monotone = p.act_type == "selu" || (p.act_type == "rrelu" ? MeanSlope(p) : p.slope) >= 0;
  return is_monotone ? Increasing([&p](double x) { return Apply(p, x); }, in) : ValueRange{};
}

// That of selu below 0 is the one that MXNet has, scale * (alpha + y) rather than scale * alpha + y. Infinite y above 0
// must not be multiplied by 0.
Term DerivativeOf(const LeakyReLUParam& p, const Term& x, const Term& y) {
  const Term above = x > 0, below = x <= 0;
  if (p.act_type == "leaky") return above + p.slope * below;
  if (p.act_type == "rrelu") return above + MeanSlope(p) * below;
  const Term low = WithScalar("_minimum_scalar", y, 0);
  if (p.act_type == "elu") return above + below * (low + p.slope);
  if (p.act_type == "selu") return kSeluScale * above + kSeluScale * below * (low + kSeluAlpha);
  if (p.act_type == "gelu_erf") return GeluDerivative(x, y);
  const double root = std::sqrt(2 / std::numbers::pi);
  const Term square = Unary("square", x), t = Unary("tanh", root * (x + 0.044715 * square * x));
  return 0.5 * (t + 1) + 0.5 * root * x * (1 - Unary("square", t)) * (3 * 0.044715 * square + 1);
}

void PReluGradient(GradientContext& c) {
  const std::vector<Term> gradients = c.CallAll("_backward_prelu", {c.gradient(), c.in(0), c.in(1)});
  c.Set(0, gradients[0]);
  c.Set(1, gradients[1]);
}

void Gradient(GradientContext& c) {
  if (!c.has_gradient(0)) return;
  if (IsPRelu(c.node())) return PReluGradient(c);
  c.Set(0, c.gradient() * DerivativeOf(c.params<LeakyReLUParam>(), c.in(0), c.out()));
}

void BackwardPRelu(const NDArray& gradient, const NDArray& data, const NDArray& gamma, std::span<NDArray> out) {
  WithFloatType(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> slopes = Numbers<T>(gamma), x = Numbers<T>(data);
    std::vector<T> dx = Numbers<T>(gradient);
    std::vector<double> sums(slopes.size(), 0);
    BroadcastIndex place(SlopeShape(gamma.shape(), data.shape().rank()), data.shape());
    for (std::size_t i = 0; i < dx.size(); ++i) {
      const std::size_t slope = place.Next();
      if (x[i] > T{0}) continue;
      sums[slope] += static_cast<double>(dx[i]) * static_cast<double>(x[i]);
      dx[i] *= slopes[slope];
    }
    if (out[0].defined()) Store(dx, out[0]);
    if (out[1].defined()) Store(sums, out[1]);
  });
}

// What slopes belong to adds up g x where x is not above 0.
bool LowerBackwardPRelu(LowerContext& c) {
  using kernels::MapOp;
  const TensorType& data = c.in_type(1);
  const int rank = data.shape.rank();
  if (data.dtype == DType::kFloat64 || data.shape.size() == 0 || rank > 5) return false;
  const Shape slope_shape = SlopeShape(c.in_type(2).shape, rank);
  std::vector<bool> reduced;
  for (int i = 0; i < rank; ++i) reduced.push_back(slope_shape[i] == 1);
  const auto in_float32 = [&](int i) { return c.Cast(c.in(i), DType::kFloat32); };
  const ValueId gradient = in_float32(0), x = in_float32(1), slopes = c.Reshape(in_float32(2), slope_shape);
  const TensorType type{DType::kFloat32, data.shape};
  const ValueId of_data = c.Emit(MapSpec{{{.op = MapOp::kConstant},
                                          {.op = MapOp::kGreater, .x = 0, .y = 3},
                                          {.op = MapOp::kMul, .x = 1, .y = 2},
                                          {.op = MapOp::kSelect, .x = 4, .y = 1, .z = 5}}},
                                 {x, gradient, slopes}, type);
  const ValueId shares = c.Emit(MapSpec{{{.op = MapOp::kConstant},
                                         {.op = MapOp::kGreater, .x = 0, .y = 2},
                                         {.op = MapOp::kMul, .x = 0, .y = 1},
                                         {.op = MapOp::kSelect, .x = 3, .y = 2, .z = 4}}},
                                {x, gradient}, type);
  const bool is_summed = std::find(reduced.begin(), reduced.end(), true) != reduced.end();
  const DType sum_dtype = c.out_type(1).dtype;
  const ValueId sums =
      is_summed ? EmitReduce(c, shares, kernels::ReduceOp::kSum, kernels::ReduceEpilogue::kNone, reduced, sum_dtype)
                : c.Cast(shares, sum_dtype);
  c.SetOut(0, c.Cast(of_data, c.out_type(0).dtype));
  c.SetOut(1, c.Reshape(sums, c.out_type(1).shape));
  return true;
}

[[maybe_unused]] const auto kBackwardPRelu =
    RegisterOp<NoParam>("_backward_prelu")
        .Doc("The gradients of prelu's data and slopes.")
        .Inputs({"gradient", "data", "gamma"})
        .Outputs({"data", "gamma"})
        .VisibleOutputs([](const NoParam&) { return 2; })
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(0, r.in(1));
          r.In(1, r.in(0));
          r.Out(0, r.in(1));
          r.Out(1, r.in(2));
          if (r.in(1).rank_known() && r.in(2).rank_known()) CheckGamma(r.node(), r.in(1), r.in(2));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0, 1}, {0});
          r.InIsFloat(1);
          SameOrFloat32(r, 2);
          r.Same({2}, {1});
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kData, SlotRole::kStatistic}})
        .Set(NoGradient{"second derivatives of prelu are not implemented"})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          BackwardPRelu(in[0], in[1], in[2], out);
        }})
        .Set(LowerRule{LowerBackwardPRelu});

[[maybe_unused]] const auto kCard =
    RegisterOp<LeakyReLUParam>("LeakyReLU")
        .Alias("_npx_leaky_relu")
        .Doc(
            "Applies act_type to every element; prelu takes its slopes from the input gamma: one, one a channel, or\n"
            "those of a shape that is broadcast to the data's.")
        .Params(Schema(), Validate)
        .Inputs([](const LeakyReLUParam& p) {
          return p.act_type == "prelu" ? std::vector<std::string>{"data", "gamma"} : std::vector<std::string>{"data"};
        })
        .Outputs([](const LeakyReLUParam& p) {
          return p.act_type == "rrelu" ? std::vector<std::string>{"output", "mask"}
                                       : std::vector<std::string>{"output"};
        })
        .VisibleOutputs([](const LeakyReLUParam& p) { return p.act_type == "rrelu" ? 2 : 1; })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          r.InIsFloat(0);
          if (IsPRelu(r.node())) SameOrFloat32(r, 1);
          if (r.num_outputs() > 1) r.Same({0}, {1});
        }})
        .Set(AmpFacts{Arithmetic::kElementwise, {SlotRole::kData, SlotRole::kStatistic}})
        .Set(IsElementwise{[](const Node&, int rank) { return rank > 1 ? 1 : 0; }})
        .Set(RangeRule{RangeOf})
        .Set(GradientRule{Gradient})
        .Set(TrainingForm{[](TrainingContext& c) {
          if (c.node().params<LeakyReLUParam>().act_type == "rrelu") {
            throw UnsupportedError(c.node().Describe() + ": random slopes are not supported in training");
          }
          return c.Keep();
        }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::leaky_relu
