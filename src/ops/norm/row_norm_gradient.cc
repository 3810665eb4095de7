#include "ops/norm/row_norm_gradient.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/reduce/row_gradients.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

// Blocks of elements that are normalised together. Element i of block b lies at place(b, i) and has scale(b, i).
template <class T, class Place, class Scale>
void Differentiate(std::int64_t blocks, std::int64_t size, double eps, std::span<const NDArray> in,
                   std::span<NDArray> out, Place place, Scale scale) {
  const std::vector<T> dy = Numbers<T>(in[0]), x = Numbers<T>(in[1]);
  const std::vector<double> gamma = Numbers<double>(in[2]);
  std::vector<T> dx(x.size());
  std::vector<double> dgamma(gamma.size(), 0), dbeta(gamma.size(), 0), normal(static_cast<std::size_t>(size));
  const double count = static_cast<double>(size);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(place(b, i)); };
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(x[at(i)]);
    for (std::int64_t i = 0; i < size; ++i) {
      normal[i] = static_cast<double>(x[at(i)]) - sum / count;
      squares += normal[i] * normal[i];
    }
    const double inverse = 1 / std::sqrt(squares / count + eps);
    double share = 0, slope = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      normal[i] *= inverse;
      const auto gradient = static_cast<double>(dy[at(i)]);
      const auto s = static_cast<std::size_t>(scale(b, i));
      dgamma[s] += gradient * normal[i];
      dbeta[s] += gradient;
      share += gradient * gamma[s];
      slope += gradient * gamma[s] * normal[i];
    }
    for (std::int64_t i = 0; i < size; ++i) {
      const double scaled = static_cast<double>(dy[at(i)]) * gamma[static_cast<std::size_t>(scale(b, i))];
      dx[at(i)] = static_cast<T>(inverse * (scaled - share / count - normal[i] * slope / count));
    }
  }
  if (out[0].defined()) Store(dx, out[0]);
  if (out[1].defined()) Store(dgamma, out[1]);
  if (out[2].defined()) Store(dbeta, out[2]);
}

struct BackwardLayerNormParam {
  std::int64_t axis = -1;
  double eps = 1e-5;
};

void LayerNormReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<BackwardLayerNormParam>();
  const Shape& shape = in[1].shape();
  const int axis = RequireAxis(node, p.axis, shape);
  const std::int64_t size = shape[axis], inner = shape.SizeOf(axis + 1, shape.rank());
  WithFloatType(in[1].dtype(), [&](auto zero) {
    Differentiate<decltype(zero)>(
        shape.SizeOf(0, axis) * inner, size, p.eps, in, out,
        [=](std::int64_t b, std::int64_t i) { return b / inner * size * inner + b % inner + i * inner; },
        [](std::int64_t, std::int64_t i) { return i; });
  });
}

// The last axis is normalised once that axis and it have changed places.
bool LowerLayerNorm(LowerContext& c) {
  const auto& p = c.node().params<BackwardLayerNormParam>();
  const Shape& shape = c.in_type(1).shape;
  const int axis = RequireAxis(c.node(), p.axis, shape), last = shape.rank() - 1;
  const DType given = c.in_type(1).dtype, dtype = given == DType::kFloat16 ? DType::kFloat32 : given;
  if ((dtype != DType::kFloat32 && dtype != DType::kBFloat16) || shape.size() == 0) return false;
  std::vector<int> axes(static_cast<std::size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<std::size_t>(axis)], axes[static_cast<std::size_t>(last)]);
  const auto swapped = [&](ValueId v) { return axis == last ? v : c.Permute(v, axes); };
  const ValueId gradient = swapped(c.Cast(c.in(0), dtype)), data = swapped(c.Cast(c.in(1), dtype));
  kernels::LayerNormGradient job{shape.size() / shape[axis], shape[axis], static_cast<float>(p.eps),
                                 dtype == DType::kBFloat16};
  auto run = [job](const KernelOperands& operands) {
    const auto written = [&](std::size_t i) { return static_cast<float*>(operands.output(i)); };
    kernels::RunLayerNormGradient(job, operands.input(0), operands.input(1),
                                  static_cast<const float*>(operands.input(2)), operands.output(), written(1),
                                  written(2), operands.scratch());
  };
  const TensorType numbers{DType::kFloat32, c.in_type(2).shape};
  const KernelSpec work{"layer_norm_gradient", run, kernels::LayerNormGradientScratchBytes(job)};
  const std::vector<ValueId> results = c.EmitSeveral(work, {gradient, data, c.Cast(c.in(2), numbers.dtype)},
                                                     {{dtype, c.ShapeOf(data)}, numbers, numbers});
  c.SetOut(0, c.Cast(swapped(results[0]), c.out_type(0).dtype));
  for (int i = 1; i < 3; ++i) c.SetOut(i, c.Cast(results[static_cast<std::size_t>(i)], c.out_type(i).dtype));
  return true;
}

struct BackwardGroupNormParam {
  std::int64_t num_groups = 1;
  double eps = 1e-5;
};

std::int64_t GroupsOf(const Node& node, std::int64_t channels) {
  const std::int64_t groups = node.params<BackwardGroupNormParam>().num_groups;
  return groups == 0 ? channels : groups;
}

void GroupNormReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<BackwardGroupNormParam>();
  const Shape& shape = in[1].shape();
  const std::int64_t channels = shape[1], places = shape.SizeOf(2, shape.rank());
  const std::int64_t groups = GroupsOf(node, channels), per_group = channels / groups;
  const std::int64_t size = per_group * places, channels_of_scale = channels / in[2].size();
  WithFloatType(in[1].dtype(), [&](auto zero) {
    Differentiate<decltype(zero)>(
        shape[0] * groups, size, p.eps, in, out, [=](std::int64_t b, std::int64_t i) { return b * size + i; },
        [=](std::int64_t b, std::int64_t i) { return (b % groups * per_group + i / places) / channels_of_scale; });
  });
}

void InferNormBackwardShape(ShapeRelation& r) {
  r.In(0, r.in(1));
  r.In(1, r.in(0));
  r.Out(0, r.in(1));
  for (int i = 1; i < 3; ++i) r.Out(i, r.in(2));
}

void InferNormBackwardDType(DTypeRelation& r) {
  r.Same({0, 1}, {0});
  r.InIsFloat(1);
  SameOrFloat32(r, 2);
  r.Same({2}, {1, 2});
}

template <class P>
OpDefinition<P> RegisterNormBackward(const char* name, const char* doc, ParamSchema<P> schema) {
  return RegisterOp<P>(name)
      .Doc(doc)
      .Params(schema.Optional("eps", &P::eps, "Added to the variance.").Range(0))
      .Inputs({"gradient", "data", "gamma"})
      .Outputs({"data", "gamma", "beta"})
      .VisibleOutputs([](const P&) { return 3; })
      .Set(DTypeRule{InferNormBackwardDType})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kData, SlotRole::kStatistic}})
      .Set(NoGradient{"second derivatives of norms are not implemented"});
}

[[maybe_unused]] const auto kLayerNorm =
    RegisterNormBackward<BackwardLayerNormParam>(
        "_backward_LayerNorm", "The gradients of LayerNorm's data, gamma and beta.",
        ParamSchema<BackwardLayerNormParam>().Optional("axis", &BackwardLayerNormParam::axis, "The axis."))
        .Set(ShapeRule{[](ShapeRelation& r) {
          InferNormBackwardShape(r);
          if (!r.in(1).rank_known()) return;
          r.In(2, Shape{r.in(1)[RequireAxis(r.node(), r.node().params<BackwardLayerNormParam>().axis, r.in(1))]});
          InferNormBackwardShape(r);
        }})
        .Set(ReferenceKernel{LayerNormReference})
        .Set(KernelRule{LowerLayerNorm});

[[maybe_unused]] const auto kGroupNorm =
    RegisterNormBackward<BackwardGroupNormParam>(
        "_backward_GroupNorm", "The gradients of the data, gamma and beta of GroupNorm and InstanceNorm.",
        ParamSchema<BackwardGroupNormParam>()
            .Optional("num_groups", &BackwardGroupNormParam::num_groups, "Number of groups; 0: as many as channels.")
            .Range(0, 2147483647))
        .Set(ShapeRule{[](ShapeRelation& r) {
          InferNormBackwardShape(r);
          if (!r.in(1).fully_known() || !r.in(2).fully_known()) return;
          const bool fits =
              r.in(1).rank() >= 3 && r.in(2).rank() == 1 && r.in(2)[0] > 0 && r.in(1)[1] % r.in(2)[0] == 0;
          if (!fits) {
            FailAt(r.node(), "gamma of shape {} does not fit data of shape {}", r.in(2).ToString(), r.in(1).ToString());
          }
          const std::int64_t channels = r.in(1)[1], groups = GroupsOf(r.node(), channels);
          if (groups != 0) RequireGroups(r.node(), channels, groups);
        }})
        .Set(ReferenceKernel{GroupNormReference});

}  // namespace

void RequireGroups(const Node& node, std::int64_t channels, std::int64_t groups) {
  if (channels % groups != 0) FailAt(node, "{} channels do not form {} groups", channels, groups);
}

void SetNormGradients(GradientContext& c, const char* backward, AttrMap attrs) {
  if (!c.has_gradient(0)) return;
  const std::vector<Term> gradients = c.CallAll(backward, {c.gradient(), c.in(0), c.in(1)}, std::move(attrs));
  for (int i = 0; i < 3; ++i) c.Set(i, gradients[static_cast<std::size_t>(i)]);
}

}  // namespace amp
