// InstanceNorm and GroupNorm: the places of each channel, or of each group of channels, normalised.
#include <algorithm>
#include <cmath>

#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/norm/row_norm_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::group_norm {
namespace {

struct InstanceNormParam {
  double eps = 1e-3;
};

struct GroupNormParam {
  std::int64_t num_groups = 1;
  double eps = 1e-5;
  bool output_mean_var = false;
};

void CheckRank(ShapeRelation& r) {
  if (r.in(0).rank() >= 3) return;
  FailAt(r.node(), "expected data (batch, channels, ...) of rank 3 or more, got shape {}", r.in(0).ToString());
}

void InferInstanceNorm(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).rank_known()) return;
  CheckRank(r);
  // Nothing is asked of gamma and beta where there are no channels, as in MXNet.
  for (int i = 1; i < 3; ++i) {
    if (r.in(0)[1] != 0 || !r.in(i).fully_known()) r.In(i, Shape{r.in(0)[1]});
  }
}

// gamma and beta have one element for each channel; in files of 1.x, one for each group.
void InferGroupNorm(ShapeRelation& r) {
  const auto& p = r.node().params<GroupNormParam>();
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).rank_known()) return;
  CheckRank(r);
  const std::int64_t channels = r.in(0)[1];
  if (channels >= 0) RequireGroups(r.node(), channels, p.num_groups);
  for (int i = 1; i < 3; ++i) {
    if (r.in(i) != Shape{p.num_groups}) r.In(i, Shape{channels});
  }
  for (int i = 1; i < 3; ++i) r.Out(i, Shape{r.in(0)[0], p.num_groups});
}

void InferDType(DTypeRelation& r) {
  std::vector<int> outputs;
  for (int i = 0; i < r.num_outputs(); ++i) outputs.push_back(i);
  r.Same({0}, outputs);
  r.InIsFloat(0);
  for (int i = 1; i < 3; ++i) SameOrFloat32(r, i);
}

struct Moments {
  double mean, deviation;
};

template <class T>
Moments MomentsOf(const T* x, std::int64_t size, double eps) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const double distance = static_cast<double>(x[i]) - mean;
    squares += distance * distance;
  }
  return {mean, std::sqrt(squares / static_cast<double>(size) + eps)};
}

// `out` may have the means and deviations behind the output.
void Normalise(std::int64_t groups, double eps, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = in[0].shape();
  const std::int64_t channels = shape[1], places = shape.SizeOf(2, shape.rank());
  const std::int64_t size = channels / groups * places, blocks = shape[0] * groups;
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> gamma = Numbers<T>(in[1]), beta = Numbers<T>(in[2]);
    const std::int64_t channels_of_scale = in[1].size() == channels ? 1 : channels / groups;
    std::vector<T> y = Numbers<T>(in[0]), means(static_cast<std::size_t>(blocks)), deviations(means.size());
    const std::int64_t grain = std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, size));
    kernels::ParallelFor(blocks, grain, [&](std::int64_t block) {
      T* x = y.data() + block * size;
      const Moments moments = MomentsOf(x, size, eps);
      means[block] = static_cast<T>(moments.mean);
      deviations[block] = static_cast<T>(moments.deviation);
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t scale = (block % groups * (channels / groups) + i / places) / channels_of_scale;
        const double normal = (static_cast<double>(x[i]) - moments.mean) / moments.deviation;
        x[i] = static_cast<T>(normal) * gamma[scale] + beta[scale];
      }
    });
    if (out[0].defined()) Store(y, out[0]);
    if (out.size() > 1 && out[1].defined()) Store(means, out[1]);
    if (out.size() > 2 && out[2].defined()) Store(deviations, out[2]);
  });
}

// LayerNorm over the places of each group, then a scale and a shift per channel; float32 in between.
bool Lower(LowerContext& c, std::int64_t groups, double eps) {
  const Shape& shape = c.in_type(0).shape;
  const std::int64_t channels = shape[1], places = shape.SizeOf(2, shape.rank()), size = channels / groups * places;
  for (std::size_t i = 1; i < c.out_types().size(); ++i) {
    if (c.is_read(static_cast<int>(i))) return false;
  }
  if (c.in_type(0).dtype == DType::kFloat64 || shape.size() == 0 || c.in_type(1).shape[0] != channels) return false;
  const auto rows = c.Reshape(c.Cast(c.in(0), DType::kFloat32), Shape{shape[0] * groups, size});
  const LayerNormSpec norm{.epsilon = static_cast<float>(eps), .is_scaled = false};
  const auto normal = c.Emit(norm, {rows}, {DType::kFloat32, c.ShapeOf(rows)});
  const auto gamma = c.Cast(c.in(1), DType::kFloat32), beta = c.Cast(c.in(2), DType::kFloat32);
  const Shape by_channel{shape[0], channels, places};
  const auto out =
      c.Emit(ScaleShiftSpec{}, {c.Reshape(normal, by_channel), gamma, beta}, {DType::kFloat32, by_channel});
  c.SetOut(0, c.Cast(c.Reshape(out, shape), c.out_type(0).dtype));
  return true;
}

AmpFacts Facts() { return {Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kStatistic, SlotRole::kStatistic}}; }

[[maybe_unused]] const auto kInstanceNorm =
    RegisterOp<InstanceNormParam>("InstanceNorm")
        .Alias("_npx_instance_norm")
        .Doc("(data - mean) / sqrt(variance + eps) * gamma + beta, over all places of each channel.")
        .Params(ParamSchema<InstanceNormParam>()
                    .Optional("eps", &InstanceNormParam::eps, "Added to the variance.")
                    .Range(0))
        .Inputs({"data", "gamma", "beta"})
        .Set(ShapeRule{InferInstanceNorm})
        .Set(DTypeRule{InferDType})
        .Set(Facts())
        .Set(GradientRule{[](GradientContext& c) {
          SetNormGradients(c, "_backward_GroupNorm",
                           {{"num_groups", "0"}, {"eps", PrintAttr(c.params<InstanceNormParam>().eps)}});
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          Normalise(in[0].shape()[1], node.params<InstanceNormParam>().eps, in, out);
        }})
        .Set(LowerRule{
            [](LowerContext& c) { return Lower(c, c.in_type(0).shape[1], c.node().params<InstanceNormParam>().eps); }});

[[maybe_unused]] const auto kGroupNorm =
    RegisterOp<GroupNormParam>("GroupNorm")
        .Alias("_npx_group_norm")
        .Doc("(data - mean) / sqrt(variance + eps) * gamma + beta, over all places of each group of channels.")
        .Params(ParamSchema<GroupNormParam>()
                    .Optional("num_groups", &GroupNormParam::num_groups, "Number of groups; divides the channels.")
                    .Range(1, 2147483647)
                    .Optional("eps", &GroupNormParam::eps, "Added to the variance.")
                    .Range(0)
                    .Optional("output_mean_var", &GroupNormParam::output_mean_var,
                              "Mean and standard deviation are visible outputs."))
        .Inputs({"data", "gamma", "beta"})
        .Outputs({"output", "mean", "std"})
        .VisibleOutputs([](const GroupNormParam& p) { return p.output_mean_var ? 3 : 1; })
        .Set(ShapeRule{InferGroupNorm})
        .Set(DTypeRule{InferDType})
        .Set(Facts())
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<GroupNormParam>();
          SetNormGradients(c, "_backward_GroupNorm",
                           {{"num_groups", PrintAttr(p.num_groups)}, {"eps", PrintAttr(p.eps)}});
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<GroupNormParam>();
          Normalise(p.num_groups, p.eps, in, out);
        }})
        .Set(LowerRule{[](LowerContext& c) {
          const auto& p = c.node().params<GroupNormParam>();
          return Lower(c, p.num_groups, p.eps);
        }});

}  // namespace
}  // namespace amp::group_norm
