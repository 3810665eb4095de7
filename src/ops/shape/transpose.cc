// transpose, SwapAxis and _npi_moveaxis: axes in another order.
#include <algorithm>
#include <utility>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::transpose {
namespace {

struct TransposeParam {
  std::optional<IntTuple> axes;  // none or empty: reversed
};
struct SwapAxisParam {
  std::int64_t dim1 = 0;
  std::int64_t dim2 = 0;
};
struct MoveAxisParam {
  IntTuple source, destination;
};

// Axis i of the output is axis result[i] of the input. Throws GraphError where that is no permutation.
std::vector<int> Permutation(const Node& node, const TransposeParam& p, int rank) {
  const IntTuple given = p.axes.value_or(IntTuple());
  std::vector<int> axes;
  for (const std::int64_t axis : given) axes.push_back(NormalizeAxis(axis, rank).value_or(-1));
  for (int i = rank; given.empty() && i-- > 0;) axes.push_back(i);
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool legal = static_cast<int>(axes.size()) == rank;
  for (int i = 0; legal && i < rank; ++i) legal = sorted[i] == i;
  if (!legal) FailAt(node, "axes {} are no permutation of the axes of rank {}", Quotable(PrintAttr(given)), rank);
  return axes;
}

std::vector<int> Permutation(const Node& node, const SwapAxisParam& p, int rank) {
  const auto first = NormalizeAxis(p.dim1, rank), second = NormalizeAxis(p.dim2, rank);
  if (!first || !second) FailAt(node, "axes {} and {} do not both exist in rank {}", p.dim1, p.dim2, rank);
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  std::swap(axes[*first], axes[*second]);
  return axes;
}

// The axes that stay keep their order, in the places that are left.
std::vector<int> Permutation(const Node& node, const MoveAxisParam& p, int rank) {
  if (p.source.size() != p.destination.size()) {
    FailAt(node, "{} axes cannot move to {} places", p.source.size(), p.destination.size());
  }
  std::vector<int> axes(rank, -1);
  std::vector<bool> moves(axes.size());
  for (std::size_t i = 0; i < p.source.size(); ++i) {
    const auto from = NormalizeAxis(p.source[i], rank), to = NormalizeAxis(p.destination[i], rank);
    if (!from || !to) FailAt(node, "axis {} cannot move to {} in rank {}", p.source[i], p.destination[i], rank);
    if (moves[*from] || axes[*to] >= 0) FailAt(node, "axis {} or place {} occurs twice", *from, *to);
    moves[*from] = true;
    axes[*to] = *from;
  }
  int next = 0;
  for (int& axis : axes) {
    while (next < rank && moves[next]) ++next;
    if (axis < 0) axis = next++;
  }
  return axes;
}

template <class P>
void InferShape(ShapeRelation& r) {
  if (!r.in(0).rank_known() && !r.out(0).rank_known()) return;
  const int rank = r.in(0).rank_known() ? r.in(0).rank() : r.out(0).rank();
  const std::vector<int> axes = Permutation(r.node(), r.node().params<P>(), rank);
  r.In(0, Shape::OfRank(rank));
  Shape out = Shape::OfRank(rank);
  for (int i = 0; i < rank; ++i) out[i] = r.in(0)[axes[i]];
  r.Out(0, out);
  Shape in = Shape::OfRank(rank);
  for (int i = 0; i < rank; ++i) in[axes[i]] = r.out(0)[i];
  r.In(0, in);
}

// The inverse permutation.
AttrMap Inverse(const Node& node, const TransposeParam& p) {
  const IntTuple axes = p.axes.value_or(IntTuple());
  const auto rank = static_cast<int>(axes.size());
  IntTuple inverse(axes.size());
  const std::vector<int> permutation = Permutation(node, p, rank);
  for (int i = 0; i < rank; ++i) inverse[static_cast<std::size_t>(permutation[static_cast<std::size_t>(i)])] = i;
  return {{"axes", PrintAttr(inverse)}};
}
AttrMap Inverse(const Node&, const SwapAxisParam& p) {
  return {{"dim1", PrintAttr(p.dim1)}, {"dim2", PrintAttr(p.dim2)}};
}
AttrMap Inverse(const Node&, const MoveAxisParam& p) {
  return {{"source", PrintAttr(p.destination)}, {"destination", PrintAttr(p.source)}};
}

template <class P>
void Gradient(GradientContext& c) {
  c.Set(0, c.Call(c.node().op_name(), {c.gradient()}, Inverse(c.node(), c.params<P>())));
}

template <class P>
OpDefinition<P> Register(const char* name, const char* doc, ParamSchema<P> schema) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(std::move(schema))
      .Inputs({"data"})
      .Set(ShapeRule{InferShape<P>})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(PermutesAxes{[](const Node& node, int rank) { return Permutation(node, node.params<P>(), rank); }})
      .Set(GradientRule{Gradient<P>})
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        const std::vector<int> axes = Permutation(node, node.params<P>(), in[0].shape().rank());
        CopyElements(Transposed(in[0], axes), out[0]);
      }})
      .Set(LowerRule{[](LowerContext& c) {
        const int rank = c.in_type(0).shape.rank();
        if (rank == 0) return false;
        c.SetOut(0, c.Permute(c.in(0), Permutation(c.node(), c.node().params<P>(), rank)));
        return true;
      }})
      .Set(KernelRule{[](LowerContext& c) {
        const Shape& data = c.in_type(0).shape;
        const std::vector<std::int64_t> strides = RowMajorStrides(data);
        std::vector<std::int64_t> from;
        for (const int axis : Permutation(c.node(), c.node().params<P>(), data.rank())) {
          from.push_back(strides[static_cast<std::size_t>(axis)]);
        }
        return LowerToMove(c, MoveTo(c.out_type(0).shape, from));
      }});
}

ParamSchema<TransposeParam> TransposeSchema() {
  return ParamSchema<TransposeParam>().Optional("axes", &TransposeParam::axes,
                                                "Axis i of the output is axis axes[i] of the data.");
}

[[maybe_unused]] const auto kTranspose = Register<TransposeParam>(
    "transpose", "The axes in the order `axes`; reversed where that is empty.", TransposeSchema());
[[maybe_unused]] const auto kNpiTranspose =
    Register<TransposeParam>("_npi_transpose", "The axes in the order `axes`; reversed where that is empty.",
                             TransposeSchema())
        .Alias("_np_transpose");

[[maybe_unused]] const auto kSwapAxis =
    Register<SwapAxisParam>("SwapAxis", "Two axes exchanged.",
                            ParamSchema<SwapAxisParam>()
                                .Optional("dim1", &SwapAxisParam::dim1, "The first axis; may be negative.")
                                .Optional("dim2", &SwapAxisParam::dim2, "The second axis; may be negative."))
        .Alias("swapaxes")
        .Alias("_npi_swapaxes");

[[maybe_unused]] const auto kMoveAxis =
    Register<MoveAxisParam>(
        "_npi_moveaxis", "Axes moved to other places; the others keep their order.",
        ParamSchema<MoveAxisParam>()
            .Required("source", &MoveAxisParam::source, "The axes that move; may be negative.")
            .Required("destination", &MoveAxisParam::destination, "Their places in the output; may be negative."))
        .Alias("_np_moveaxis");

}  // namespace
}  // namespace amp::transpose
