// BatchNorm at inference: normalises with the moving statistics.
#include <cmath>
#include <utility>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/norm/batch_norm.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/optimize/fold_batch_norm.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

// What output 2 is: MXNet's SyncBatchNorm has another one than its BatchNorm.
enum class Spread { kShowsInverse, kShowsVariance };
using enum Spread;

template <Spread kSpread>
void BatchNormReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<BatchNormParam>();
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Shape& shape = in[0].shape();
    const int axis = BatchNormAxis(node, shape);
    const std::int64_t outer = shape.SizeOf(0, axis), channels = shape[axis],
                       inner = shape.SizeOf(axis + 1, shape.rank());
    const std::vector<T> gamma = Numbers<T>(in[1]), beta = Numbers<T>(in[2]), mean = Numbers<T>(in[3]);
    std::vector<T> inverse_deviation = Numbers<T>(in[4]);
    for (T& value : inverse_deviation) value = T{1} / std::sqrt(value + static_cast<T>(p.eps));
    std::vector<T> y = Numbers<T>(in[0]);
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const T scale = (p.fix_gamma ? T{1} : gamma[c]) * inverse_deviation[c];
        T* row = y.data() + (o * channels + c) * inner;
        for (std::int64_t i = 0; i < inner; ++i) row[i] = (row[i] - mean[c]) * scale + beta[c];
      }
    }
    if (out[0].defined()) Store(y, out[0]);
    if (out[1].defined()) Store(mean, out[1]);
    if (!out[2].defined()) return;
    Store(kSpread == kShowsVariance ? Numbers<T>(in[4]) : inverse_deviation, out[2]);
  });
}

// gamma / sqrt(variance + eps) and beta - mean * that, from (gamma, beta, mean, variance); in double, rounded once.
void ScaleAndShift(const BatchNormParam& p, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto gamma = Numbers<double>(in[0]), beta = Numbers<double>(in[1]), mean = Numbers<double>(in[2]),
             variance = Numbers<double>(in[3]);
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    const double scale = (p.fix_gamma ? 1.0 : gamma[c]) / std::sqrt(variance[c] + p.eps);
    out[0].As<float>()[c] = static_cast<float>(scale);
    out[1].As<float>()[c] = static_cast<float>(beta[c] - mean[c] * scale);
  }
}

template <Spread kSpread>
bool LowerBatchNorm(LowerContext& c) {
  const auto& p = c.node().params<BatchNormParam>();
  const int rank = c.in_type(0).shape.rank();
  if (rank < 2 || rank > 5) return false;
  const int axis = BatchNormAxis(c.node(), c.in_type(0).shape);
  std::vector<int> axes(rank);
  for (int i = 0; i < rank; ++i) axes[i] = i;
  std::swap(axes[axis], axes[1]);  // its own inverse
  const ValueId data = axis == 1 ? c.in(0) : c.Permute(c.in(0), axes);
  const TensorType per_channel{DType::kFloat32, c.in_type(1).shape};
  auto run = [p](std::span<const NDArray> in, std::span<NDArray> out) { ScaleAndShift(p, in, out); };
  const auto numbers = c.EmitSeveral(CallSpec{run, c.node().op_name()}, {c.in(1), c.in(2), c.in(3), c.in(4)},
                                     {per_channel, per_channel});
  const auto out = c.Emit(ScaleShiftSpec{}, {data, numbers[0], numbers[1]}, {c.DTypeOf(data), c.ShapeOf(data)});
  c.SetOut(0, axis == 1 ? out : c.Permute(out, axes));
  if (c.is_read(1)) c.SetOut(1, c.in(3));
  if (c.is_read(2) && kSpread == kShowsVariance) {
    c.SetOut(2, c.in(4));
  } else if (c.is_read(2)) {
    auto invert = [p](std::span<const NDArray> in_arrays, std::span<NDArray> out_arrays) {
      std::vector<double> variance = Numbers<double>(in_arrays[0]);
      for (double& value : variance) value = 1 / std::sqrt(value + p.eps);
      Store(variance, out_arrays[0]);
    };
    c.SetOut(2, c.Emit(CallSpec{invert, c.node().op_name()}, {c.in(4)}, c.out_type(2)));
  }
  return true;
}

BatchNormFact::Use UseOf(const Node& node) {
  const auto& p = node.params<BatchNormParam>();
  return {p.axis, p.eps, p.fix_gamma, !p.output_mean_var};
}

template <Spread kSpread>
OpDefinition<BatchNormParam> RegisterBatchNorm(const char* name, const char* training,
                                               ParamSchema<BatchNormParam> schema) {
  return RegisterOp<BatchNormParam>(name)
      .Doc("(data - moving_mean) * gamma / sqrt(moving_var + eps) + beta, per channel of `axis`.")
      .Params(std::move(schema))
      .Inputs({"data", "gamma", "beta", "moving_mean", "moving_var"})
      .Outputs({"output", "mean", "var"})
      .VisibleOutputs([](const BatchNormParam& p) { return p.output_mean_var ? 3 : 1; })
      .MutableInputs({3, 4})
      .Set(ShapeRule{InferBatchNormShape})
      .Set(DTypeRule{InferBatchNormDType})
      .Set(AmpFacts{
          Arithmetic::kElementwise,
          {SlotRole::kData, SlotRole::kStatistic, SlotRole::kStatistic, SlotRole::kStatistic, SlotRole::kStatistic}})
      .Set(IsElementwise{[](const Node& node, int rank) {
        return NormalizeAxis(node.params<BatchNormParam>().axis, rank).value_or(0);
      }})
      .Set(BatchNormFact{UseOf})
      .Set(kSpread == kShowsVariance ? SyncBatchNormGradient() : BatchNormGradient())
      .Set(BatchNormTraining(training, kSpread == kShowsVariance))
      .Set(ReferenceKernel{BatchNormReference<kSpread>})
      .Set(LowerRule{LowerBatchNorm<kSpread>});
}

[[maybe_unused]] const auto kBatchNorm =
    RegisterBatchNorm<kShowsInverse>("BatchNorm", "_train_BatchNorm",
                                     BatchNormSchema()
                                         .Optional("axis", &BatchNormParam::axis, "The channel axis; may be negative.")
                                         .Ignored("min_calib_range")
                                         .Ignored("max_calib_range"))
        .Alias("BatchNorm_v1")
        .Alias("CuDNNBatchNorm")
        .Alias("_npx_batch_norm");

// Training shares statistics among ranks; inference does not care.
[[maybe_unused]] const auto kSyncBatchNorm =
    RegisterBatchNorm<kShowsVariance>("_contrib_SyncBatchNorm", "_train_contrib_SyncBatchNorm",
                                      BatchNormSchema().Ignored("ndev").Ignored("key"))
        .Alias("_npx_sync_batch_norm");

}  // namespace

ParamSchema<BatchNormParam> BatchNormSchema() {
  return ParamSchema<BatchNormParam>()
      .Optional("eps", &BatchNormParam::eps, "Added to the variance.")
      .Range(0)
      .Optional("momentum", &BatchNormParam::momentum, "Of the moving averages in training; no effect at inference.")
      .Optional("fix_gamma", &BatchNormParam::fix_gamma, "Gamma counts as 1, whatever the array holds.")
      .Optional("use_global_stats", &BatchNormParam::use_global_stats,
                "Use the moving statistics in training, too; no effect at inference.")
      .Optional("output_mean_var", &BatchNormParam::output_mean_var,
                "Mean and inverse standard deviation (of SyncBatchNorm: variance) are visible outputs.")
      .Ignored("cudnn_off");
}

int BatchNormAxis(const Node& node, const Shape& data) {
  return RequireAxis(node, node.params<BatchNormParam>().axis, data);
}

void InferBatchNormShape(ShapeRelation& r) {
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  Shape channels{kUnknownDim};
  if (r.in(0).rank_known()) channels[0] = r.in(0)[BatchNormAxis(r.node(), r.in(0))];
  for (int i = 1; i < 5; ++i) {
    r.In(i, channels);
    channels = r.in(i);
  }
  for (int i = 1; i < 5; ++i) r.In(i, channels);
  for (int i = 1; i < r.num_outputs(); ++i) r.Out(i, channels);
  if (r.in(0).rank_known()) {
    Shape data = Shape::OfRank(r.in(0).rank());
    data[BatchNormAxis(r.node(), r.in(0))] = channels[0];
    r.In(0, data);
    r.Out(0, data);
  }
}

// Statistics of a low-precision tensor are float32.
void InferBatchNormDType(DTypeRelation& r) {
  r.Same({0}, {0});
  r.InIsFloat(0);
  const DType data = r.in(0);
  const DType statistics = IsLowPrecision(data) ? DType::kFloat32 : data;
  for (int i = 1; i < 5; ++i) r.In(i, statistics);
  std::vector<int> outputs;
  for (int i = 1; i < r.num_outputs(); ++i) outputs.push_back(i);
  r.Same({1, 2, 3, 4}, outputs);
}

}  // namespace amp
