// Sums and differences along an axis: _npi_cumsum, _npi_diff.
#include "kernels/reduce/running_sum.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/lower_context.h"
#include "program/reference.h"

namespace amp::cumsum {
namespace {

struct CumsumParam {
  std::optional<std::int64_t> axis;
  std::optional<DType> dtype;
};

// Integers wrap.
template <class T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  return a + b;
}
template <class T>
T Difference(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  return a - b;
}

// Sums of floats are taken in double; a sum that is to be of integers truncates its terms.
void CumsumReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<CumsumParam>();
  const Shape shape = p.axis ? in[0].shape() : Shape{in[0].size()};
  const int axis = p.axis ? RequireAxis(node, *p.axis, shape) : 0;
  const std::int64_t size = shape[axis], inner = shape.SizeOf(axis + 1, shape.rank());
  WithNumberType(IsFloat(out[0].dtype()) ? DType::kFloat64 : out[0].dtype(), [&](auto zero) {
    std::vector<decltype(zero)> y = Numbers<decltype(zero)>(in[0]);
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      if (i / inner % size != 0) y[i] = Sum(y[i], y[i - inner]);
    }
    Store(y, out[0]);
  });
}

bool LowerCumsum(LowerContext& c) {
  const auto& p = c.node().params<CumsumParam>();
  const Shape& shape = c.out_type(0).shape;
  const int axis = p.axis ? RequireAxis(c.node(), *p.axis, shape) : 0;
  const kernels::RunningSum work{!IsFloat(c.out_type(0).dtype), shape.SizeOf(0, axis), shape[axis],
                                 shape.SizeOf(axis + 1, shape.rank())};
  const auto run = [work](const KernelOperands& operands) { work.Run(operands.input(0), operands.output()); };
  const DType dtype = work.is_integer ? DType::kInt64 : DType::kFloat64;
  const ValueId sums = c.Emit(KernelSpec{"running_sum", run}, {c.Cast(c.in(0), dtype)}, {dtype, shape});
  c.SetOut(0, c.Cast(sums, c.out_type(0).dtype));
  return true;
}

// The hull of one term and of the sum of all.
ValueRange RangeOfCumsum(const RangeQuery& q, int) {
  const auto& p = q.node.params<CumsumParam>();
  const Shape& shape = q.in_types[0]->shape;
  if (!shape.fully_known())
    return ValueRange::Between(-ValueRange::kInfinity, ValueRange::kInfinity, q.in[0].is_integer);
  const double count = static_cast<double>(p.axis ? shape[RequireAxis(q.node, *p.axis, shape)] : shape.size());
  return Informative(Hull(q.in[0], SumOf(q.in[0], count)));
}

[[maybe_unused]] const auto kCumsum =
    RegisterOp<CumsumParam>("_npi_cumsum")
        .Alias("_np_cumsum")
        .Alias("cumsum")
        .Doc("Sums of the elements up to each one along an axis.")
        .Params(ParamSchema<CumsumParam>()
                    .Optional("axis", &CumsumParam::axis, "The axis; None: the data is flattened.")
                    .Optional("dtype", &CumsumParam::dtype, "Dtype of the output; None: that of the data."))
        .Inputs({"a"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          const auto& axis = r.node().params<CumsumParam>().axis;
          if (axis && r.in(0).rank_known()) RequireAxis(r.node(), *axis, r.in(0));
          if (axis) return r.AllSame();
          if (r.in(0).fully_known()) r.Out(0, Shape{r.in(0).size()});
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          const auto& dtype = r.node().params<CumsumParam>().dtype;
          if (dtype) return r.Out(0, *dtype);
          if (r.in(0) == DType::kBool) return r.Out(0, DType::kInt64);
          if (IsKnown(r.in(0))) r.Out(0, r.in(0));
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(AlwaysAlgebra(Algebra::kTotal))
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          const auto& axis = node.params<CumsumParam>().axis;
          return axis ? in[0][RequireAxis(node, *axis, in[0])] : in[0].size();
        }})
        .Set(RangeRule{RangeOfCumsum})
        .Set(GradientRule{[](GradientContext& c) {
          const std::string axis = PrintAttr(c.params<CumsumParam>().axis.value_or(0));
          const Term turned = c.Call("reverse", {c.gradient()}, {{"axis", axis}});
          const Term sums = c.Call("_npi_cumsum", {turned}, {{"axis", axis}});
          c.Set(0,
                c.Call("_broadcast_as", {ReshapeLike(c.Call("reverse", {sums}, {{"axis", axis}}), c.in(0)), c.in(0)}));
        }})
        .Set(ReferenceKernel{CumsumReference})
        .Set(KernelRule{LowerCumsum});

struct DiffParam {
  std::int64_t n = 1;
  std::int64_t axis = -1;
};

void InferDiff(ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  const auto& p = r.node().params<DiffParam>();
  const int axis = RequireAxis(r.node(), p.axis, r.in(0));
  Shape out = r.in(0);
  if (out[axis] >= 0) out[axis] = std::max<std::int64_t>(0, out[axis] - p.n);
  r.Out(0, out);
}

void DiffReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<DiffParam>();
  const Shape& shape = in[0].shape();
  const int axis = RequireAxis(node, p.axis, shape);
  const std::int64_t outer = shape.SizeOf(0, axis), inner = shape.SizeOf(axis + 1, shape.rank());
  if (out[0].size() == 0) return;
  WithNumberType(IsFloat(in[0].dtype()) ? DType::kFloat64 : in[0].dtype(), [&](auto zero) {
    std::vector<decltype(zero)> y = Numbers<decltype(zero)>(in[0]);
    std::int64_t size = shape[axis];
    for (std::int64_t step = 0; step < p.n; ++step, --size) {
      // Each line moves to its new, shorter place, which is never behind the old one.
      for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < (size - 1) * inner; ++i) {
          y[o * (size - 1) * inner + i] = Difference(y[o * size * inner + i + inner], y[o * size * inner + i]);
        }
      }
    }
    y.resize(out[0].size());
    Store(y, out[0]);
  });
}

// Each difference goes to its first element with a minus, to its second one with a plus.
void BackwardDiffReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<DiffParam>();
  const Shape& shape = out[0].shape();
  const int axis = RequireAxis(node, p.axis, shape);
  const std::int64_t outer = shape.SizeOf(0, axis), inner = shape.SizeOf(axis + 1, shape.rank());
  std::int64_t size = in[0].shape()[axis];
  if (size == 0 || out[0].size() == 0) return Store(std::vector<double>(out[0].size(), 0), out[0]);
  std::vector<double> gradient = Numbers<double>(in[0]);
  for (; size < shape[axis]; ++size) {
    std::vector<double> longer(outer * (size + 1) * inner, 0);
    for (std::int64_t i = 0; i < std::ssize(gradient); ++i) {
      const std::int64_t first = i + i / (size * inner) * inner;
      longer[first] -= gradient[i];
      longer[first + inner] += gradient[i];
    }
    gradient = std::move(longer);
  }
  Store(gradient, out[0]);
}

ParamSchema<DiffParam> DiffSchema() {
  return ParamSchema<DiffParam>()
      .Optional("n", &DiffParam::n, "How often.")
      .Range(0, 1 << 30)
      .Optional("axis", &DiffParam::axis, "The axis; may be negative.");
}

[[maybe_unused]] const auto kBackwardDiff =
    RegisterOp<DiffParam>("_backward_diff")
        .Doc("The gradient of the data of _npi_diff.")
        .Params(DiffSchema())
        .Inputs({"gradient", "data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(1, r.out(0));
          r.Out(0, r.in(1));
          std::vector<Shape> in{r.in(1)}, out(1);
          ShapeRelation forward(r.node(), in, out);
          InferDiff(forward);
          r.In(0, out[0]);
        }})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIgnored}})
        .Set(GradientRule{[](GradientContext& c) { c.Set(0, c.Call("_npi_diff", {c.gradient()}, c.attrs())); }})
        .Set(ReferenceKernel{BackwardDiffReference});

[[maybe_unused]] const auto kDiff = RegisterOp<DiffParam>("_npi_diff")
                                        .Doc("Differences of neighbours along an axis, n times.")
                                        .Params(DiffSchema())
                                        .Inputs({"a"})
                                        .Set(ShapeRule{InferDiff})
                                        .Set(DTypeRule{[](DTypeRelation& r) {
                                          if (r.in(0) == DType::kBool)
                                            FailAt(r.node(), "expected data of a number dtype, got bool");
                                          r.AllSame();
                                        }})
                                        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
                                        .Set(GradientRule{[](GradientContext& c) {
                                          c.Set(0, c.Call("_backward_diff", {c.gradient(), c.in(0)}, c.attrs()));
                                        }})
                                        .Set(ReferenceKernel{DiffReference});

}  // namespace
}  // namespace amp::cumsum
