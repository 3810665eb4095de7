// Dropout: the identity at inference.
#include <algorithm>
#include <array>

#include "kernels/elementwise/dropout_mask.h"
#include "kernels/elementwise/random.h"
#include "kernels/threads/parallel.h"
#include "ops/common/broadcast.h"
#include "ops/common/map_rules.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/random_stream.h"
#include "ops/common/rules.h"
#include "passes/draws_at_inference.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/range_rule.h"
#include "passes/training_form.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::dropout {
namespace {

struct DropoutParam {
  double p = 0.5;
  std::string mode = "training";
  IntTuple axes;
};

ParamSchema<DropoutParam> Schema() {
  return ParamSchema<DropoutParam>()
      .Optional("p", &DropoutParam::p, "Fraction that is dropped.")
      .Range(0, 1)
      .Optional("mode", &DropoutParam::mode, "'always' drops at inference, too.")
      .OneOf({"training", "always"})
      .Optional("axes", &DropoutParam::axes, "Axes that share one mask.")
      .Ignored("cudnn_off");
}

bool DropsAlways(const Node& node) {
  const auto& p = node.params<DropoutParam>();
  return p.mode == "always" && p.p > 0;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  if (DropsAlways(node)) RefuseToDraw(node);
  if (out[0].defined()) CopyElements(in[0], out[0]);
  if (!out[1].defined()) return;
  WithNumberType(out[1].dtype(), [&](auto zero) {  // the mask: everything is kept
    Store(std::vector<decltype(zero)>(static_cast<std::size_t>(out[1].size()), 1), out[1]);
  });
}

bool Lower(LowerContext& c) {
  if (DropsAlways(c.node())) RefuseToDraw(c.node());
  c.SetOut(0, c.in(0));
  return true;
}

// ---- training ----

// What is kept is divided by the fraction that is kept.
struct TrainDropoutParam {
  double p = 0.5;
  IntTuple axes;
  std::int64_t stream = 0;
};

// The numbers of one mask; the axes that share one have size 1 there.
Shape MaskShape(const Node& node, const Shape& data) {
  Shape mask = data;
  for (const std::int64_t axis : node.params<TrainDropoutParam>().axes) mask[RequireAxis(node, axis, data)] = 1;
  return mask;
}

float ScaleOf(const TrainDropoutParam& p) { return static_cast<float>(p.p < 1 ? 1 / (1 - p.p) : 0); }

// Number i of the mask depends on the seed, the run, the stream and i alone.
std::vector<float> Mask(const TrainDropoutParam& p, const NDArray& key, std::int64_t size) {
  const kernels::RandomStream stream = RandomStreamOf(p.stream, key.As<std::int64_t>());
  const float scale = ScaleOf(p);
  std::vector<float> mask(static_cast<std::size_t>(size));
  kernels::ParallelFor((size + 3) / 4, 1 << 12, [&](std::int64_t block) {
    const std::array<std::uint32_t, 4> drawn = stream.Block(static_cast<std::uint64_t>(block));
    for (std::int64_t i = 4 * block; i < std::min(size, 4 * block + 4); ++i) {
      const double uniform = static_cast<double>(drawn[static_cast<std::size_t>(i % 4)]) * 0x1p-32;
      mask[static_cast<std::size_t>(i)] = uniform < p.p ? 0.0f : scale;
    }
  });
  return mask;
}

void TrainReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape shape = MaskShape(node, in[0].shape());
  const std::vector<float> mask = Mask(node.params<TrainDropoutParam>(), in[1], shape.size());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> y = Numbers<T>(in[0]), kept(y.size());
    BroadcastIndex place(shape, in[0].shape());
    for (std::size_t i = 0; i < y.size(); ++i) {
      kept[i] = static_cast<T>(mask[place.Next()]);
      y[i] *= kept[i];
    }
    if (out[0].defined()) Store(y, out[0]);
    if (out[1].defined()) Store(kept, out[1]);
  });
}

bool LowerTraining(LowerContext& c) {
  const auto& p = c.node().params<TrainDropoutParam>();
  const Shape& data = c.in_type(0).shape;
  if (c.in_type(0).dtype == DType::kFloat64 || data.rank() > kMaxMapRank) return false;
  const Shape shape = MaskShape(c.node(), data);
  auto run = [p, count = shape.size()](const KernelOperands& operands) {
    const kernels::RandomStream stream = RandomStreamOf(p.stream, static_cast<const std::int64_t*>(operands.input(0)));
    kernels::RunDropoutMask({p.p, ScaleOf(p)}, stream, count, static_cast<float*>(operands.output()));
  };
  const ValueId mask = c.Emit(KernelSpec{"dropout_mask", run}, {c.in(1)}, {DType::kFloat32, shape});
  if (c.is_read(1)) {
    const ValueId whole = EmitMoves(c, {mask}, {BroadcastMove(shape, data)}, {DType::kFloat32, data});
    c.SetOut(1, c.Cast(whole, c.out_type(1).dtype));
  }
  return LowerToMap(c, {{.op = kernels::MapOp::kMul, .x = 0, .y = 1}}, {c.in(0), mask}, {});
}

[[maybe_unused]] const auto kTraining =
    RegisterOp<TrainDropoutParam>("_train_Dropout")
        .Doc(
            "Dropout in training: a fraction p of the data becomes 0, the rest is divided by 1 - p. The choice is a\n"
            "function of `key` (a seed and the number of the run) and of the stream.")
        .Params(ParamSchema<TrainDropoutParam>()
                    .Optional("p", &TrainDropoutParam::p, "Fraction that is dropped.")
                    .Range(0, 1)
                    .Optional("axes", &TrainDropoutParam::axes, "Axes that share one mask.")
                    .Optional("stream", &TrainDropoutParam::stream, "Tells the nodes of a graph apart."))
        .Inputs({"data", "key"})
        .Outputs({"output", "mask"})
        .VisibleOutputs([](const TrainDropoutParam&) { return 1; })
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(0, r.out(0));
          r.In(1, Shape{2});
          for (int i = 0; i < 2; ++i) r.Out(i, r.in(0));
          if (r.in(0).rank_known()) MaskShape(r.node(), r.in(0));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0, 1});
          r.InIsFloat(0);
          r.In(1, DType::kInt64);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_train_Dropout", {c.gradient(), c.in(1)}, c.attrs()));
        }})
        .Set(ReferenceKernel{TrainReference})
        .Set(KernelRule{LowerTraining});

TrainingForm DropoutTraining() {
  return {[](TrainingContext& c) {
    const auto& p = c.node().params<DropoutParam>();
    if (p.p == 0) return c.Keep();
    return c.Make("_train_Dropout",
                  {{"p", PrintAttr(p.p)}, {"axes", PrintAttr(p.axes)}, {"stream", PrintAttr(c.NextStream())}},
                  {c.inputs()[0], c.RandomKey()});
  }};
}

[[maybe_unused]] const auto kCard =
    RegisterOp<DropoutParam>("Dropout")
        .Alias("_npx_dropout")
        .Doc("The identity at inference, unless the mode is 'always'; in training a fraction of the data becomes 0.")
        .Params(Schema())
        .Inputs({"data"})
        .Outputs({"output", "mask"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(RangeRule{[](const RangeQuery& q, int index) { return index == 0 ? q.in[0] : ValueRange::Of(1); }})
        .Set(IdentityFact{[](const Node& node) { return !DropsAlways(node); }})
        .Set(DrawsAtInference{DropsAlways})
        .Set(DropoutTraining())
        .Set(GradientRule{[](GradientContext& c) { c.Set(0, c.gradient()); }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::dropout
