// Diagonals and triangles of matrices: diag, _npi_diag, _np_diagflat, _np_diagonal, _np_trace, _npi_tril, _npi_triu.
#include <algorithm>

#include "kernels/movement/triangle.h"
#include "ops/common/index_maps.h"
#include "ops/common/moves.h"
#include "ops/common/ranges.h"
#include "ops/common/reduce_rules.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/composition_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::diagonal {
namespace {

constexpr double kFarthest = 1 << 30;

template <class P>
OpDefinition<P> Register(const char* name, const char* doc) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(SchemaOf(P()))
      .Inputs({"data"})
      .Set(ShapeRule{[](ShapeRelation& r) {
        if (r.in(0).fully_known()) r.Out(0, NewShape(r.node(), r.node().params<P>(), r.in(0)));
      }})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(DataAndZero());
}

NDArray Zero(const NDArray& like) { return OneElement(like.dtype(), 0); }

// The square matrix with a line of `size` elements on its diagonal k.
Shape Around(std::int64_t size, std::int64_t k) { return {size + std::abs(k), size + std::abs(k)}; }

void ToDiagonal(std::int64_t k, const NDArray& in, NDArray& out) {
  FromPlaces(in, Zero(in), out, [k](const Index& index) {
    return index[1] - index[0] == k ? std::min(index[0], index[1]) : std::int64_t{-1};
  });
}

// Elements on diagonal k of a matrix; below 0 where it lies outside.
std::int64_t LengthOf(std::int64_t rows, std::int64_t columns, std::int64_t k) {
  return std::min(rows - std::max<std::int64_t>(0, -k), columns - std::max<std::int64_t>(0, k));
}

// The diagonal of the last two of `axes`, which are the data's in another order.
void FromDiagonal(std::int64_t k, const std::vector<int>& axes, const NDArray& in, NDArray& out) {
  const NDArray data = Transposed(in, axes);
  FromPlaces(data, data, out, [&](const Index& index) {
    Index from = index;
    from.back() += std::max<std::int64_t>(0, -k);
    from.push_back(index.back() + std::max<std::int64_t>(0, k));
    return PlaceOf(from, data.shape());
  });
}

// Emits steps that make a diagonal of all elements.
bool LowerToDiagonal(LowerContext& c, std::int64_t k) {
  const std::int64_t below = std::max<std::int64_t>(0, -k), right = std::max<std::int64_t>(0, k);
  const std::int64_t columns = c.out_type(0).shape[1];
  const Move move{{{c.in_type(0).shape.size(), 1, columns + 1}}, 0, below * columns + right};
  c.SetOut(0, EmitMoves(c, {c.in(0)}, {move}, c.out_type(0), false));
  return true;
}

// The diagonal of the last two of `axes` as an array of shape `out`.
Move MoveFromDiagonal(const Shape& data, std::int64_t k, const std::vector<int>& axes, const Shape& out) {
  const std::vector<std::int64_t> strides = RowMajorStrides(data);
  std::vector<std::int64_t> from;
  for (const int axis : axes) from.push_back(strides[static_cast<std::size_t>(axis)]);
  const std::int64_t columns = from.back(), rows = from[from.size() - 2];
  from.pop_back();
  from.back() = rows + columns;
  const std::int64_t below = std::max<std::int64_t>(0, -k), right = std::max<std::int64_t>(0, k);
  return MoveTo(out, from, below * rows + right * columns);
}

bool LowerDiagonal(LowerContext& c, std::int64_t k, const std::vector<int>& axes) {
  const Shape& data = c.in_type(0).shape;
  return data.rank() == 1 ? LowerToDiagonal(c, k)
                          : LowerToMove(c, MoveFromDiagonal(data, k, axes, c.out_type(0).shape));
}

struct DiagParam {
  std::int64_t k = 0;
  std::int64_t axis1 = 0;
  std::int64_t axis2 = 1;
};

// The parameters of NumPy's operators, which call k `offset`.
struct DiagonalParam {
  std::int64_t offset = 0;
  std::int64_t axis1 = 0;
  std::int64_t axis2 = 1;
};

ParamSchema<DiagParam> SchemaOf(DiagParam) {
  return ParamSchema<DiagParam>()
      .Optional("k", &DiagParam::k, "Which diagonal; below the main one negative.")
      .Range(-kFarthest, kFarthest)
      .Optional("axis1", &DiagParam::axis1, "The axis of rows.")
      .Optional("axis2", &DiagParam::axis2, "The axis of columns.");
}

// The other axes, then those of rows and columns.
template <class P>
std::vector<int> AxesOf(const Node& node, const P& p, const Shape& data) {
  const int rows = RequireAxis(node, p.axis1, data), columns = RequireAxis(node, p.axis2, data);
  if (rows == columns) FailAt(node, "axis1 and axis2 are both axis {}", rows);
  std::vector<int> axes;
  for (int a = 0; a < data.rank(); ++a) {
    if (a != rows && a != columns) axes.push_back(a);
  }
  axes.insert(axes.end(), {rows, columns});
  return axes;
}

Shape NewShape(const Node& node, const DiagParam& p, const Shape& data) {
  if (data.rank() == 1) return Around(data[0], p.k);
  const std::vector<int> axes = AxesOf(node, p, data);
  const std::size_t others = axes.size() - 2;
  const std::int64_t length = LengthOf(data[axes[others]], data[axes[others + 1]], p.k);
  if (length <= 0) FailAt(node, "data of shape {} has no diagonal {}", data.ToString(), p.k);
  std::vector<std::int64_t> dims;
  for (std::size_t a = 0; a < others; ++a) dims.push_back(data[axes[a]]);
  dims.push_back(length);
  return Shape(dims);
}

[[maybe_unused]] const auto kDiag =
    Register<DiagParam>("diag",
                        "A matrix with the data on a diagonal; of data with more axes the diagonals, last axis.")
        .Set(MoveGradient())
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<DiagParam>();
          if (in[0].shape().rank() == 1) return ToDiagonal(p.k, in[0], out[0]);
          FromDiagonal(p.k, AxesOf(node, p, in[0].shape()), in[0], out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<DiagParam>();
          const Shape& data = c.in_type(0).shape;
          return LowerDiagonal(c, p.k, data.rank() == 1 ? std::vector<int>() : AxesOf(c.node(), p, data));
        }});

ParamSchema<DiagonalParam> SchemaOf(DiagonalParam) {
  return ParamSchema<DiagonalParam>()
      .Optional("offset", &DiagonalParam::offset, "Which diagonal; below the main one negative.")
      .Range(-kFarthest, kFarthest)
      .Optional("axis1", &DiagonalParam::axis1, "The axis of rows.")
      .Optional("axis2", &DiagonalParam::axis2, "The axis of columns.");
}

Shape NewShape(const Node& node, const DiagonalParam& p, const Shape& data) {
  if (data.rank() < 2) FailAt(node, "expected data of rank 2 or more, got {}", data.ToString());
  const std::vector<int> axes = AxesOf(node, p, data);
  std::vector<std::int64_t> dims;
  for (const int axis : axes) dims.push_back(data[axis]);
  const std::int64_t columns = dims.back(), rows = dims[dims.size() - 2];
  dims.pop_back();
  dims.back() = std::max<std::int64_t>(0, LengthOf(rows, columns, p.offset));
  return Shape(dims);
}

[[maybe_unused]] const auto kNpDiagonal =
    Register<DiagonalParam>("_np_diagonal", "Diagonals of matrices, last axis; empty ones beyond the matrices.")
        .Alias("_npi_diagonal")
        .Set(MoveGradient())
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<DiagonalParam>();
          FromDiagonal(p.offset, AxesOf(node, p, in[0].shape()), in[0], out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<DiagonalParam>();
          return LowerDiagonal(c, p.offset, AxesOf(c.node(), p, c.in_type(0).shape));
        }});

// ---- sums of diagonals ----

void TraceReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<DiagonalParam>();
  NDArray diagonals(in[0].dtype(), NewShape(node, p, in[0].shape()));
  FromDiagonal(p.offset, AxesOf(node, p, in[0].shape()), in[0], diagonals);
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
    const std::vector<T> x = Numbers<T>(diagonals);
    const std::size_t length = x.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, out[0].size()));
    std::vector<T> y;
    for (std::size_t i = 0; i < static_cast<std::size_t>(out[0].size()); ++i) {
      Sum sum = 0;
      for (std::size_t k = 0; k < length; ++k) sum += static_cast<Sum>(x[i * length + k]);
      y.push_back(static_cast<T>(sum));
    }
    Store(y, out[0]);
  });
}

bool LowerTrace(LowerContext& c) {
  const auto& p = c.node().params<DiagonalParam>();
  const Shape &data = c.in_type(0).shape, diagonals = NewShape(c.node(), p, data);
  if (diagonals.size() == 0) return LowerToFill(c, 0);
  const Move move = MoveFromDiagonal(data, p.offset, AxesOf(c.node(), p, data), diagonals);
  const ValueId lines = EmitMoves(c, {c.in(0)}, {move}, {c.in_type(0).dtype, diagonals});
  std::vector<bool> last(static_cast<std::size_t>(diagonals.rank()), false);
  last.back() = true;
  const ValueId sums =
      EmitReduce(c, lines, kernels::ReduceOp::kSum, kernels::ReduceEpilogue::kNone, last, c.out_type(0).dtype);
  if (sums == kNoValue) return false;
  c.SetOut(0, c.Reshape(sums, c.out_type(0).shape));
  return true;
}

[[maybe_unused]] const auto kNpTrace =
    RegisterOp<DiagonalParam>("_np_trace")
        .Alias("_npi_trace")
        .Doc("Sums of the diagonals of matrices; of those beyond the matrices 0.")
        .Params(SchemaOf(DiagonalParam()))
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known()) return;
          std::vector<std::int64_t> dims = NewShape(r.node(), r.node().params<DiagonalParam>(), r.in(0)).dims();
          dims.pop_back();
          r.Out(0, Shape(dims));
        }})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          const Shape diagonals = NewShape(node, node.params<DiagonalParam>(), in[0]);
          return diagonals[diagonals.rank() - 1];
        }})
        .Set(CompositionRule([](GradientContext& c) -> std::vector<Term> {
          return {c.Call("_npi_sum", {c.Call("_np_diagonal", {c.in(0)}, c.attrs())}, {{"axis", "-1"}})};
        }))
        .Set(ReferenceKernel{TraceReference})
        .Set(KernelRule{LowerTrace});

// ---- lines that become matrices ----

struct DiagFlatParam {
  std::int64_t k = 0;
};

template <class P>
ParamSchema<P> SchemaOfK(const char* doc) {
  return ParamSchema<P>().Optional("k", &P::k, doc).Range(-kFarthest, kFarthest);
}

ParamSchema<DiagFlatParam> SchemaOf(DiagFlatParam) {
  return SchemaOfK<DiagFlatParam>("Which diagonal; below the main one negative.");
}

Shape NewShape(const Node&, const DiagFlatParam& p, const Shape& data) { return Around(data.size(), p.k); }

[[maybe_unused]] const auto kNpDiagFlat =
    Register<DiagFlatParam>("_np_diagflat", "A matrix with all elements of the data on a diagonal.")
        .Alias("_npi_diagflat")
        .Set(MoveGradient())
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          ToDiagonal(node.params<DiagFlatParam>().k, in[0].Reshaped(Shape{in[0].size()}), out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) { return LowerToDiagonal(c, c.node().params<DiagFlatParam>().k); }});

struct NpiDiagParam {
  std::int64_t k = 0;
};

ParamSchema<NpiDiagParam> SchemaOf(NpiDiagParam) {
  return SchemaOfK<NpiDiagParam>("Which diagonal; below the main one negative.");
}

Shape NewShape(const Node& node, const NpiDiagParam& p, const Shape& data) {
  if (data.rank() == 1) return Around(data[0], p.k);
  if (data.rank() != 2) FailAt(node, "expected data of rank 1 or 2, got {}", data.ToString());
  return {std::max<std::int64_t>(0, LengthOf(data[0], data[1], p.k))};
}

[[maybe_unused]] const auto kNpiDiag =
    Register<NpiDiagParam>("_npi_diag", "A matrix with the data on a diagonal; of a matrix the diagonal.")
        .Alias("_np_diag")
        .Set(MoveGradient())
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const std::int64_t k = node.params<NpiDiagParam>().k;
          in[0].shape().rank() == 1 ? ToDiagonal(k, in[0], out[0]) : FromDiagonal(k, {0, 1}, in[0], out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          return LowerDiagonal(c, c.node().params<NpiDiagParam>().k, {0, 1});
        }});

// Triangles of matrices along the last two axes; one line stands for a square of equal rows.
struct TriangleParam {
  std::int64_t k = 0;
};

ParamSchema<TriangleParam> SchemaOf(TriangleParam) {
  return SchemaOfK<TriangleParam>("The diagonal that ends the triangle; below the main one negative.");
}

Shape NewShape(const Node& node, const TriangleParam&, const Shape& data) {
  if (data.rank() == 0) FailAt(node, "expected data of rank 1 or more, got a scalar");
  return data.rank() == 1 ? Shape{data[0], data[0]} : data;
}

void Triangle(const Node& node, bool lower, const NDArray& in, NDArray& out) {
  const std::int64_t k = node.params<TriangleParam>().k;
  const bool line = in.shape().rank() == 1;
  FromPlaces(in, Zero(in), out, [&](const Index& index) {
    const std::int64_t column = index.back(), above = column - index[index.size() - 2];
    if (lower ? above > k : above < k) return std::int64_t{-1};
    return line ? column : PlaceOf(index, in.shape());
  });
}

bool LowerTriangle(LowerContext& c, bool lower) {
  const Shape &in = c.in_type(0).shape, &out = c.out_type(0).shape;
  kernels::Triangle work;
  work.matrices = out.SizeOf(0, out.rank() - 2);
  work.rows = out[out.rank() - 2];
  work.columns = out[out.rank() - 1];
  work.row_stride = in.rank() == 1 ? 0 : work.columns;
  work.diagonal = c.node().params<TriangleParam>().k;
  work.lower = lower;
  work.element_bytes = static_cast<std::size_t>(BytesOf(c.in_type(0).dtype));
  const auto run = [work](const KernelOperands& operands) { work.Run(operands.input(0), operands.output()); };
  c.SetOut(0, c.Emit(KernelSpec{"triangle", run}, {c.in(0)}, c.out_type(0)));
  return true;
}

template <bool kLower>
ReferenceKernel TriangleKernel() {
  return {[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
    Triangle(node, kLower, in[0], out[0]);
  }};
}

[[maybe_unused]] const auto kTril = Register<TriangleParam>("_npi_tril", "Matrices with zeros above diagonal k.")
                                        .Set(MoveGradient())
                                        .Set(TriangleKernel<true>())
                                        .Set(KernelRule{[](LowerContext& c) { return LowerTriangle(c, true); }});
[[maybe_unused]] const auto kTriu = Register<TriangleParam>("_npi_triu", "Matrices with zeros below diagonal k.")
                                        .Set(MoveGradient())
                                        .Set(TriangleKernel<false>())
                                        .Set(KernelRule{[](LowerContext& c) { return LowerTriangle(c, false); }});

}  // namespace
}  // namespace amp::diagonal
