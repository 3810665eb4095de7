// NumPy's sums of products over axes of two arrays: _npi_dot, _npi_tensordot and _npi_tensordot_int_axes.
#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/common/numeric.h"
#include "ops/common/operand_gradients.h"
#include "ops/common/partial_shape.h"
#include "ops/common/rules.h"
#include "ops/linalg/matmul.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/lowering.h"
#include "program/permutation.h"
#include "program/reference.h"

namespace amp::numpy_dot {
namespace {

struct TensorDotParam {
  IntTuple a_axes_summed, b_axes_summed;
};
struct TensorDotIntAxesParam {
  std::int64_t axes = 0;
};

// Axes over which is summed, of a and of b, in pairs.
struct SummedAxes {
  std::vector<int> a, b;
};

// The last axis of a meets the last but one of b, or the only one of a vector; a scalar multiplies.
SummedAxes SummedBy(const Node&, const NoParam&, const Shape& a, const Shape& b) {
  if (a.rank() == 0 || b.rank() == 0) return {};
  return {{a.rank() - 1}, {std::max(0, b.rank() - 2)}};
}

std::vector<int> AxesIn(const Node& node, const char* name, const IntTuple& given, const Shape& shape) {
  std::vector<int> axes;
  for (const std::int64_t axis : given) {
    axes.push_back(RequireAxis(node, axis, shape));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1) {
      FailAt(node, "attribute {}: axis {} occurs twice", name, axes.back());
    }
  }
  return axes;
}

SummedAxes SummedBy(const Node& node, const TensorDotParam& p, const Shape& a, const Shape& b) {
  return {AxesIn(node, "a_axes_summed", p.a_axes_summed, a), AxesIn(node, "b_axes_summed", p.b_axes_summed, b)};
}

// The last axes of a and the first ones of b.
SummedAxes SummedBy(const Node& node, const TensorDotIntAxesParam& p, const Shape& a, const Shape& b) {
  if (p.axes > std::min(a.rank(), b.rank())) {
    FailAt(node, "attribute axes: {} axes are more than {} or {} has", p.axes, a.ToString(), b.ToString());
  }
  SummedAxes summed;
  for (int i = 0; i < static_cast<int>(p.axes); ++i) {
    summed.a.push_back(a.rank() - static_cast<int>(p.axes) + i);
    summed.b.push_back(i);
  }
  return summed;
}

std::vector<int> OtherAxes(const std::vector<int>& axes, const Shape& shape) {
  std::vector<int> others;
  for (int i = 0; i < shape.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) others.push_back(i);
  }
  return others;
}

std::int64_t SizeOf(const Shape& shape, const std::vector<int>& axes) {
  return std::accumulate(axes.begin(), axes.end(), std::int64_t{1},
                         [&](std::int64_t size, int axis) { return size * shape[axis]; });
}

std::vector<int> Joined(std::vector<int> axes, const std::vector<int>& more) {
  axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

// A product of matrices (m, k) and (k, n): the arrays with their axes in these orders.
struct Contraction {
  std::vector<int> a_axes, b_axes;
  std::int64_t m = 1, k = 1, n = 1;
  Shape out;
};

template <class P>
Contraction ContractionOf(const Node& node, const Shape& a, const Shape& b) {
  const SummedAxes summed = SummedBy(node, node.params<P>(), a, b);
  bool fits = summed.a.size() == summed.b.size();
  for (std::size_t i = 0; fits && i < summed.a.size(); ++i) fits = a[summed.a[i]] == b[summed.b[i]];
  if (!fits) {
    FailAt(node, "expected a and b with a common inner size, got {} and {}", a.ToString(), b.ToString());
  }
  const std::vector<int> rows = OtherAxes(summed.a, a), columns = OtherAxes(summed.b, b);
  std::vector<std::int64_t> dims;
  for (const int axis : rows) dims.push_back(a[axis]);
  for (const int axis : columns) dims.push_back(b[axis]);
  return {Joined(rows, summed.a), Joined(summed.b, columns), SizeOf(a, rows),
          SizeOf(a, summed.a),    SizeOf(b, columns),        Shape(dims)};
}

// Summed sizes are equal, the others are those of the output.
template <class P>
void InferPartial(ShapeRelation& r) {
  Shape a = r.in(0), b = r.in(1);
  const SummedAxes summed = SummedBy(r.node(), r.node().params<P>(), a, b);
  if (summed.a.size() != summed.b.size()) return;
  for (std::size_t i = 0; i < summed.a.size(); ++i) Agree(&a[summed.a[i]], &b[summed.b[i]]);
  const std::vector<int> rows = OtherAxes(summed.a, a), columns = OtherAxes(summed.b, b);
  const int rank = static_cast<int>(rows.size() + columns.size());
  Shape out = r.out(0).rank_known() ? r.out(0) : Shape::OfRank(rank);
  if (out.rank() != rank) return;
  int next = 0;
  for (const int axis : rows) Agree(&a[axis], &out[next++]);
  for (const int axis : columns) Agree(&b[axis], &out[next++]);
  r.In(0, a);
  r.In(1, b);
  r.Out(0, out);
}

template <class P>
void InferShape(ShapeRelation& r) {
  if (!r.in(0).rank_known() || !r.in(1).rank_known()) return;
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return InferPartial<P>(r);
  r.Out(0, ContractionOf<P>(r.node(), r.in(0), r.in(1)).out);
}

// ---- the operands as matrices, and back ----

NDArray LeftMatrix(const Contraction& s, const NDArray& a) {
  return Transposed(a, s.a_axes).Reshaped(Shape{1, s.m, s.k});
}
NDArray RightMatrix(const Contraction& s, const NDArray& b) {
  return Transposed(b, s.b_axes).Reshaped(Shape{1, s.k, s.n});
}

template <class P>
void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto s = ContractionOf<P>(node, in[0].shape(), in[1].shape());
  NDArray y = out[0].Reshaped(Shape{1, s.m, s.n});
  MatMulReference(LeftMatrix(s, in[0]), RightMatrix(s, in[1]), 1.0, y);
}

// The product of two matrices as an array whose axes, in this order, they have.
void ProductWithAxes(const NDArray& x, const NDArray& y, const std::vector<int>& axes, NDArray& out) {
  NDArray turned(out.dtype(), PermutedShape(out.shape(), axes));
  NDArray matrix = turned.Reshaped(Shape{1, x.shape()[1], y.shape()[2]});
  MatMulReference(x, y, 1.0, matrix);
  CopyElements(Transposed(turned, InversePermutation(axes)), out);
}

template <class P>
void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto s = ContractionOf<P>(node, in[1].shape(), in[2].shape());
  const NDArray g = in[0].Reshaped(Shape{1, s.m, s.n});
  const auto swapped = [](const NDArray& matrix) { return Transposed(matrix, {0, 2, 1}); };
  if (out[0].defined()) ProductWithAxes(g, swapped(RightMatrix(s, in[2])), s.a_axes, out[0]);
  if (out[1].defined()) ProductWithAxes(swapped(LeftMatrix(s, in[1])), g, s.b_axes, out[1]);
}

ValueId InOrder(LowerContext& c, ValueId v, const std::vector<int>& axes) {
  return std::is_sorted(axes.begin(), axes.end()) ? v : c.Permute(v, axes);
}
ValueId EmitLeftMatrix(LowerContext& c, const Contraction& s, ValueId a) {
  return c.Reshape(InOrder(c, a, s.a_axes), Shape{s.m, s.k});
}
ValueId EmitRightMatrix(LowerContext& c, const Contraction& s, ValueId b) {
  return c.Reshape(InOrder(c, b, s.b_axes), Shape{s.k, s.n});
}

template <class P>
bool Lower(LowerContext& c) {
  const auto s = ContractionOf<P>(c.node(), c.in_type(0).shape, c.in_type(1).shape);
  const ValueId a = EmitLeftMatrix(c, s, c.in(0)), b = EmitRightMatrix(c, s, c.in(1));
  const ValueId y = c.Emit(MatMulSpec{}, {a, b}, {c.out_type(0).dtype, Shape{s.m, s.n}});
  c.SetOut(0, c.Reshape(y, c.out_type(0).shape));
  return true;
}

template <class P>
bool LowerBackward(LowerContext& c) {
  const Shape &a_shape = c.in_type(1).shape, &b_shape = c.in_type(2).shape;
  const auto s = ContractionOf<P>(c.node(), a_shape, b_shape);
  const ValueId g = c.Reshape(c.in(0), Shape{s.m, s.n});
  const auto set = [&](int i, ValueId matrix, const Shape& shape, const std::vector<int>& axes) {
    c.SetOut(i, InOrder(c, c.Reshape(matrix, PermutedShape(shape, axes)), InversePermutation(axes)));
  };
  if (c.is_read(0)) {
    const ValueId b = c.Permute(EmitRightMatrix(c, s, c.in(2)), {1, 0});
    set(0, c.Emit(MatMulSpec{}, {g, b}, {c.out_type(0).dtype, Shape{s.m, s.k}}), a_shape, s.a_axes);
  }
  if (c.is_read(1)) {
    const ValueId a = c.Permute(EmitLeftMatrix(c, s, c.in(1)), {1, 0});
    set(1, c.Emit(MatMulSpec{}, {a, g}, {c.out_type(1).dtype, Shape{s.k, s.n}}), b_shape, s.b_axes);
  }
  return true;
}

template <class P>
OpDefinition<P> RegisterBackward(const char* name, const char* doc, ParamSchema<P> schema) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema))
      .Inputs({"gradient", "a", "b"})
      .Outputs({"a", "b"})
      .VisibleOutputs([](const P&) { return 2; })
      .Set(GradientsOfOperands(InferShape<P>))
      .Set(SameFloatDType())
      .Set(NoGradient{"second derivatives of NumPy's products are not implemented"})
      .Set(AmpFacts{Arithmetic::kAccumulates})
      .Set(ReferenceKernel{BackwardReference<P>})
      .Set(LowerRule{LowerBackward<P>});
}

template <class P>
OpDefinition<P> Register(const char* name, const char* doc, const char* backward, ParamSchema<P> schema) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema))
      .Inputs({"a", "b"})
      .Set(ShapeRule{InferShape<P>})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kAccumulates})
      .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
        return ContractionOf<P>(node, in[0], in[1]).k;
      }})
      .Set(GradientByOperands(backward))
      .Set(ReferenceKernel{Reference<P>})
      .Set(LowerRule{Lower<P>});
}

ParamSchema<TensorDotParam> TensorDotSchema() {
  return ParamSchema<TensorDotParam>()
      .Required("a_axes_summed", &TensorDotParam::a_axes_summed, "Axes of a; may be negative.")
      .Required("b_axes_summed", &TensorDotParam::b_axes_summed, "The axes of b that they meet.");
}

ParamSchema<TensorDotIntAxesParam> TensorDotIntAxesSchema() {
  return ParamSchema<TensorDotIntAxesParam>()
      .Required("axes", &TensorDotIntAxesParam::axes, "How many of the last axes of a meet the first ones of b.")
      .Range(0, 1 << 10);
}

[[maybe_unused]] const auto kBackwardDot =
    RegisterBackward("_backward_npi_dot", "The gradients of the operands of _npi_dot.", ParamSchema<NoParam>());
[[maybe_unused]] const auto kBackwardTensorDot =
    RegisterBackward("_backward_npi_tensordot", "The gradients of the operands of _npi_tensordot.", TensorDotSchema());
[[maybe_unused]] const auto kBackwardTensorDotIntAxes =
    RegisterBackward("_backward_npi_tensordot_int_axes", "The gradients of the operands of _npi_tensordot_int_axes.",
                     TensorDotIntAxesSchema());

[[maybe_unused]] const auto kDot =
    Register("_npi_dot", "Sums over the last axis of a and the last but one of b; a scalar multiplies.",
             "_backward_npi_dot", ParamSchema<NoParam>())
        .Alias("_np_dot");
[[maybe_unused]] const auto kTensorDot =
    Register("_npi_tensordot", "Sums of products over pairs of axes; the other axes of a, then those of b, are left.",
             "_backward_npi_tensordot", TensorDotSchema());
[[maybe_unused]] const auto kTensorDotIntAxes =
    Register("_npi_tensordot_int_axes", "Sums of products over the last axes of a and the first ones of b.",
             "_backward_npi_tensordot_int_axes", TensorDotIntAxesSchema());

}  // namespace
}  // namespace amp::numpy_dot
