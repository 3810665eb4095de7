// The gradients of what repeats elements and of what sums them up: each is the other.
#include <algorithm>

#include "ops/common/axes.h"
#include "ops/common/broadcast.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/reduce_rules.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::broadcast_gradient {
namespace {

// Input 1 lends its shape and its dtype.
DTypeRule DTypeOfLike() {
  return {[](DTypeRelation& r) { r.Same({1}, {0}); }};
}

void InferShape(ShapeRelation& r) {
  r.Out(0, r.in(1));
  r.In(1, r.out(0));
}

// Which axes of `from` were broadcast to become those of `to`.
std::vector<bool> Broadcast(const Node& node, const Shape& to, const Shape& from) {
  if (from.rank() > to.rank()) {
    FailAt(node, "data of shape {} was not broadcast from {}", to.ToString(), from.ToString());
  }
  const Shape aligned = AlignedRight(from, to.rank());
  std::vector<bool> axes;
  for (int i = 0; i < to.rank(); ++i) {
    if (aligned[i] != to[i] && aligned[i] != 1) {
      FailAt(node, "data of shape {} was not broadcast from {}", to.ToString(), from.ToString());
    }
    axes.push_back(aligned[i] != to[i]);
  }
  return axes;
}

void CheckBroadcast(ShapeRelation& r, int wide, int narrow) {
  InferShape(r);
  if (r.in(0).fully_known() && r.in(1).fully_known()) Broadcast(r.node(), r.in(wide), r.in(narrow));
}

// An operand of integers beside one of floats has no gradient.
bool IsCutOff(DType gradient, DType operand) { return IsFloat(gradient) && !IsFloat(operand); }

void SumReference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  if (IsCutOff(in[0].dtype(), out[0].dtype())) {
    Store(std::vector<std::int64_t>(static_cast<std::size_t>(out[0].size()), 0), out[0]);
    return;
  }
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_integral_v<T>, T, double>;
    const auto x = Numbers<T>(in[0]);
    std::vector<Sum> sums(static_cast<std::size_t>(out[0].size()), 0);
    BroadcastIndex place(out[0].shape(), in[0].shape());
    for (const auto value : x) sums[place.Next()] += static_cast<Sum>(value);
    if constexpr (std::is_integral_v<T>) {
      Store(sums, out[0]);
    } else {
      StoreResults(sums, out[0]);
    }
  });
}

bool LowerSum(LowerContext& c) {
  const TensorType &in = c.in_type(0), &out = c.out_type(0);
  if (IsCutOff(in.dtype, out.dtype)) return false;
  const std::vector<bool> axes = Broadcast(c.node(), in.shape, out.shape);
  if (std::none_of(axes.begin(), axes.end(), [](bool reduced) { return reduced; })) {
    c.SetOut(0, c.Cast(c.Reshape(c.in(0), out.shape), out.dtype));
    return true;
  }
  return IsFloat(in.dtype) && LowerToReduce(c, kernels::ReduceOp::kSum, kernels::ReduceEpilogue::kNone, axes);
}

[[maybe_unused]] const auto kSum = RegisterOp<NoParam>("_backward_broadcast")
                                       .Doc(
                                           "The sum of data over the axes along which an array of the shape of `like` "
                                           "is broadcast to its shape; zeros "
                                           "where data is float and `like` is not.")
                                       .Inputs({"data", "like"})
                                       .Set(ShapeRule{[](ShapeRelation& r) { CheckBroadcast(r, 0, 1); }})
                                       .Set(DTypeOfLike())
                                       .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIgnored}})
                                       .Set(GradientRule{[](GradientContext& c) {
                                         c.Set(0, c.Call("_broadcast_as", {c.gradient(), c.in(0)}));
                                       }})
                                       .Set(ReferenceKernel{SumReference})
                                       .Set(LowerRule{LowerSum});

bool LowerBroadcast(LowerContext& c, const Shape& aligned) {
  const ValueId data = c.Cast(c.Reshape(c.in(0), aligned), c.out_type(0).dtype);
  if (aligned == c.out_type(0).shape) return c.SetOut(0, data), true;
  c.SetOut(0, EmitMoves(c, {data}, {BroadcastMove(aligned, c.out_type(0).shape)}, c.out_type(0)));
  return true;
}

void Repeat(const NDArray& from, NDArray& to) {
  NDArray data(to.dtype(), from.shape());
  kernels::Cast(KernelType(from.dtype()), from.data(), KernelType(to.dtype()), data.data(),
                static_cast<std::size_t>(from.size()));
  BroadcastElements(data, to);
}

[[maybe_unused]] const auto kRepeat =
    RegisterOp<NoParam>("_broadcast_as")
        .Doc("Data broadcast to the shape of `like`, in its dtype.")
        .Inputs({"data", "like"})
        .Set(ShapeRule{[](ShapeRelation& r) { CheckBroadcast(r, 1, 0); }})
        .Set(DTypeOfLike())
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIgnored}})
        .Set(GradientRule{[](GradientContext& c) { c.Set(0, SumLike(c.gradient(), c.in(0))); }})
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { Repeat(in[0], out[0]); }})
        .Set(LowerRule{[](LowerContext& c) {
          return LowerBroadcast(c, AlignedRight(c.in_type(0).shape, c.out_type(0).shape.rank()));
        }});

// ---- of reductions ----

struct ReductionParam {
  std::optional<IntTuple> axis;
  bool exclude = false;
  bool numpy = false;
};

std::vector<bool> Reduced(const Node& node, const Shape& like) {
  const auto& p = node.params<ReductionParam>();
  std::vector<bool> reduced = NamedAxes(node, p.axis, like.rank(), p.numpy);
  if (p.exclude && p.axis && !p.axis->empty()) reduced.flip();
  return reduced;
}

// The shape of what was reduced, with size 1 along the axes that were.
Shape Kept(const Node& node, const Shape& like) { return WithoutAxes(like, Reduced(node, like), true, true); }

void InferReduced(ShapeRelation& r) {
  InferShape(r);
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  if (r.in(0).size() != Kept(r.node(), r.in(1)).size()) {
    FailAt(r.node(), "data of shape {} is no reduction of {}", r.in(0).ToString(), r.in(1).ToString());
  }
}

double CountAlong(const Node& node, const Shape& like) {
  return static_cast<double>(std::max<std::int64_t>(1, SizeAlong(like, Reduced(node, like))));
}

void RepeatReduced(const Node& node, const NDArray& data, bool is_mean, NDArray& out) {
  NDArray shares(DType::kFloat64, Kept(node, out.shape()));
  std::vector<double> values = Numbers<double>(data);
  if (is_mean) {
    for (double& value : values) value /= CountAlong(node, out.shape());
  }
  Store(values, shares);
  Repeat(shares, out);
}

bool LowerReduced(LowerContext& c, bool is_mean) {
  const Shape& out = c.out_type(0).shape;
  const TensorType single{DType::kFloat32, c.in_type(0).shape};
  if (!is_mean) return LowerBroadcast(c, Kept(c.node(), out));
  if (c.in_type(0).dtype == DType::kFloat64 || c.out_type(0).dtype == DType::kFloat64) return false;
  const EltwiseSpec share{EltwiseKind::kLinear, static_cast<float>(1 / CountAlong(c.node(), out)), 0};
  const ValueId shares = c.Reshape(c.Emit(share, {c.Cast(c.in(0), single.dtype)}, single), Kept(c.node(), out));
  const Move move = BroadcastMove(c.ShapeOf(shares), out);
  c.SetOut(0, EmitMoves(c, {c.Cast(shares, c.out_type(0).dtype)}, {move}, c.out_type(0)));
  return true;
}

void ReducedGradient(GradientContext& c, const char* reduction) {
  AttrMap attrs = c.attrs();
  const bool numpy = c.params<ReductionParam>().numpy;
  attrs.erase("numpy");
  if (numpy) attrs.erase("exclude");
  c.Set(0, ReshapeLike(c.Call(numpy ? std::string("_npi_") + reduction : reduction, {c.gradient()}, attrs), c.in(0)));
}

OpDefinition<ReductionParam> Register(const char* name, const char* doc, const char* reduction, bool is_mean) {
  return RegisterOp<ReductionParam>(name)
      .Doc(doc)
      .Params(ParamSchema<ReductionParam>()
                  .Optional("axis", &ReductionParam::axis, "The axes that were reduced; None: all.")
                  .Optional("exclude", &ReductionParam::exclude, "The others were.")
                  .Optional("numpy", &ReductionParam::numpy, "() names no axes rather than all."))
      .Inputs({"data", "like"})
      .Set(ShapeRule{InferReduced})
      .Set(DTypeOfLike())
      .Set(
          AmpFacts{is_mean ? Arithmetic::kNeedsFloat32 : Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIgnored}})
      .Set(GradientRule{[reduction](GradientContext& c) { ReducedGradient(c, reduction); }})
      .Set(ReferenceKernel{[is_mean](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        RepeatReduced(node, in[0], is_mean, out[0]);
      }})
      .Set(LowerRule{[is_mean](LowerContext& c) { return LowerReduced(c, is_mean); }});
}

[[maybe_unused]] const auto kOfSum =
    Register("_backward_sum", "Data repeated along the axes over which `like` was reduced to its shape.", "sum", false);
[[maybe_unused]] const auto kOfMean =
    Register("_backward_mean", "The same divided by the number of elements that were reduced to one.", "mean", true);

}  // namespace
}  // namespace amp::broadcast_gradient
