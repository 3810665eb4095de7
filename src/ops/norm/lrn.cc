// LRN: each element over a power of the sum of squares of its neighbours' in the channels around it.
#include <cmath>

#include "kernels/reduce/window_sums.h"
#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lower_context.h"
#include "program/reference.h"

namespace amp::lrn {
namespace {

struct LrnParam {
  double alpha = 1e-4;
  double beta = 0.75;
  double knorm = 2;
  std::int64_t nsize = 0;
};

// An even nsize has a window of nsize - 1 channels, whose squares still count 1 / nsize each.
template <class T>
void Normalise(const LrnParam& p, std::int64_t channels, std::int64_t places, const T* x, T* y) {
  const std::int64_t reach = std::min((p.nsize - 1) / 2, channels);
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t first = std::max<std::int64_t>(0, c - reach), last = std::min(channels - 1, c + reach);
    for (std::int64_t i = 0; i < places; ++i) {
      double squares = 0;
      for (std::int64_t k = first; k <= last; ++k)
        squares += static_cast<double>(x[k * places + i]) * x[k * places + i];
      const double base = p.knorm + p.alpha / static_cast<double>(p.nsize) * squares;
      y[c * places + i] = static_cast<T>(x[c * places + i] * std::pow(base, -p.beta));
    }
  }
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<LrnParam>();
  const Shape& shape = in[0].shape();
  const std::int64_t channels = shape[1], places = shape.SizeOf(2, shape.rank());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Numbers<T>(in[0]);
    std::vector<T> y(x.size());
    kernels::ParallelFor(shape[0], 1, [&](std::int64_t n) {
      Normalise(p, channels, places, x.data() + n * channels * places, y.data() + n * channels * places);
    });
    Store(y, out[0]);
  });
}

double Power(double x, double y) { return std::pow(x, y); }

// A map whose operands come first.
struct MapBuilder {
  std::vector<kernels::MapStep> steps;
  std::uint8_t num_operands;

  std::uint8_t Add(kernels::MapStep step) {
    steps.push_back(step);
    return static_cast<std::uint8_t>(num_operands + steps.size() - 1);
  }
};

// Registers of a number and its power beta.
struct Base {
  std::uint8_t base, power;
};

// What elements are divided by, of sums of squares.
Base AddBase(const LrnParam& p, std::uint8_t squares, MapBuilder* map) {
  using kernels::MapOp;
  const std::uint8_t base = map->Add({.op = MapOp::kLinear,
                                      .x = squares,
                                      .alpha = static_cast<float>(p.alpha / static_cast<double>(p.nsize)),
                                      .beta = static_cast<float>(p.knorm)});
  if (p.beta == 0.75) {
    const std::uint8_t root = map->Add({.op = MapOp::kSqrt, .x = base});
    return {base, map->Add({.op = MapOp::kMul, .x = root, .y = map->Add({.op = MapOp::kSqrt, .x = root})})};
  }
  const std::uint8_t exponent = map->Add({.op = MapOp::kConstant, .alpha = static_cast<float>(p.beta)});
  return {base, map->Add({.op = MapOp::kFunction2, .x = base, .y = exponent, .function2 = Power})};
}

ValueId EmitWindowSums(LowerContext& c, const LrnParam& p, ValueId value, bool of_squares) {
  const Shape shape = c.ShapeOf(value);
  const kernels::WindowSums work{shape[0], shape[1], shape.SizeOf(2, shape.rank()), (p.nsize - 1) / 2, of_squares};
  const auto run = [work](const KernelOperands& operands) {
    work.Run(static_cast<const float*>(operands.input(0)), static_cast<float*>(operands.output()));
  };
  return c.Emit(KernelSpec{"window_sums", run}, {value}, {DType::kFloat32, shape});
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<LrnParam>();
  const DType dtype = c.out_type(0).dtype;
  if (dtype == DType::kFloat64) return false;
  const ValueId data = c.Cast(c.in(0), DType::kFloat32);
  const ValueId squares = EmitWindowSums(c, p, data, true);
  MapBuilder map{{}, 2};
  map.Add({.op = kernels::MapOp::kDiv, .x = 0, .y = AddBase(p, 1, &map).power});
  c.SetOut(0, c.Cast(c.Emit(MapSpec{map.steps}, {data, squares}, {DType::kFloat32, c.in_type(0).shape}), dtype));
  return true;
}

// dx = dy / base ^ beta - 2 beta alpha / nsize x (sum of dy x / base ^ (beta + 1) around it)
bool LowerBackward(LowerContext& c) {
  using kernels::MapOp;
  const auto& p = c.node().params<LrnParam>();
  const TensorType type{DType::kFloat32, c.in_type(1).shape};
  if (c.out_type(0).dtype == DType::kFloat64 || type.shape.size() == 0) return false;
  const ValueId gradient = c.Cast(c.in(0), type.dtype), data = c.Cast(c.in(1), type.dtype);
  const ValueId squares = EmitWindowSums(c, p, data, true);
  MapBuilder slope{{}, 3};
  const Base of_slope = AddBase(p, 2, &slope);
  const std::uint8_t divided = slope.Add({.op = MapOp::kDiv, .x = 0, .y = of_slope.power});
  slope.Add({.op = MapOp::kDiv, .x = slope.Add({.op = MapOp::kMul, .x = divided, .y = 1}), .y = of_slope.base});
  const ValueId slopes = c.Emit(MapSpec{slope.steps}, {gradient, data, squares}, type);
  const ValueId sums = EmitWindowSums(c, p, slopes, false);
  MapBuilder result{{}, 4};
  const Base of_result = AddBase(p, 2, &result);
  const std::uint8_t own = result.Add({.op = MapOp::kDiv, .x = 0, .y = of_result.power});
  const std::uint8_t product = result.Add({.op = MapOp::kMul, .x = 1, .y = 3});
  const double weight = 2 * p.beta * p.alpha / static_cast<double>(p.nsize);
  const std::uint8_t others = result.Add({.op = MapOp::kLinear, .x = product, .alpha = static_cast<float>(weight)});
  result.Add({.op = MapOp::kSub, .x = own, .y = others});
  const ValueId out = c.Emit(MapSpec{result.steps}, {gradient, data, squares, sums}, type);
  c.SetOut(0, c.Cast(out, c.out_type(0).dtype));
  return true;
}

ParamSchema<LrnParam> Schema() {
  return ParamSchema<LrnParam>()
      .Optional("alpha", &LrnParam::alpha, "Weight of the squares.")
      .Optional("beta", &LrnParam::beta, "The exponent.")
      .Optional("knorm", &LrnParam::knorm, "Added to the squares.")
      .Required("nsize", &LrnParam::nsize, "Number of channels in the window.")
      .Range(1, 2147483647);
}

// Differentiates one instance: y_c = x_c b_c ^ -beta, where b_c = knorm + alpha / nsize * (sum of squares around c).
template <class T>
void Differentiate(const LrnParam& p, std::int64_t channels, std::int64_t places, const T* dy, const T* x, T* dx) {
  const std::int64_t reach = std::min((p.nsize - 1) / 2, channels);
  const double weight = p.alpha / static_cast<double>(p.nsize);
  const auto first = [&](std::int64_t c) { return std::max<std::int64_t>(0, c - reach); };
  const auto last = [&](std::int64_t c) { return std::min(channels - 1, c + reach); };
  std::vector<double> base(static_cast<std::size_t>(channels)), slope(base.size());
  for (std::int64_t i = 0; i < places; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      double squares = 0;
      for (std::int64_t k = first(c); k <= last(c); ++k) {
        squares += static_cast<double>(x[k * places + i]) * static_cast<double>(x[k * places + i]);
      }
      base[c] = p.knorm + weight * squares;
      slope[c] = static_cast<double>(dy[c * places + i]) * static_cast<double>(x[c * places + i]) *
                 std::pow(base[c], -p.beta - 1);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t k = first(c); k <= last(c); ++k) sum += slope[k];
      const double own = static_cast<double>(dy[c * places + i]) * std::pow(base[c], -p.beta);
      dx[c * places + i] = static_cast<T>(own - 2 * weight * p.beta * static_cast<double>(x[c * places + i]) * sum);
    }
  }
}

void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = in[1].shape();
  const std::int64_t channels = shape[1], places = shape.SizeOf(2, shape.rank());
  WithFloatType(in[1].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> dy = Numbers<T>(in[0]), x = Numbers<T>(in[1]);
    std::vector<T> dx(x.size());
    kernels::ParallelFor(shape[0], 1, [&](std::int64_t n) {
      const std::int64_t begin = n * channels * places;
      Differentiate(node.params<LrnParam>(), channels, places, dy.data() + begin, x.data() + begin, dx.data() + begin);
    });
    Store(dx, out[0]);
  });
}

void InferShape(ShapeRelation& r) {
  r.AllSame();
  if (r.in(0).rank_known() && r.in(0).rank() < 2) {
    FailAt(r.node(), "expected data (batch, channels, ...), got shape {}", r.in(0).ToString());
  }
}

[[maybe_unused]] const auto kBackward = RegisterOp<LrnParam>("_backward_LRN")
                                            .Doc("The gradient of LRN's data.")
                                            .Params(Schema())
                                            .Inputs({"gradient", "data"})
                                            .Set(ShapeRule{InferShape})
                                            .Set(SameFloatDType())
                                            .Set(AmpFacts{Arithmetic::kNeedsFloat32})
                                            .Set(NoGradient{"second derivatives of LRN are not implemented"})
                                            .Set(ReferenceKernel{BackwardReference})
                                            .Set(KernelRule{LowerBackward});

[[maybe_unused]] const auto kCard =
    RegisterOp<LrnParam>("LRN")
        .Doc("data / (knorm + alpha / nsize * sum of squares over nsize channels around each) ^ beta.")
        .Params(Schema())
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_LRN", {c.gradient(), c.in(0)}, c.attrs()));
        }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::lrn
