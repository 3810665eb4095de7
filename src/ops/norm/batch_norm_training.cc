// BatchNorm with the statistics of the batch, and the gradient of both forms.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/batch_norm_over_ranks.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/gradient/recompute.h"
#include "passes/op_facts.h"
#include "passes/training_form.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

// The data as (outer, channels, inner).
struct Extents {
  std::int64_t outer, channels, inner;

  std::int64_t count() const { return outer * inner; }

  // Calls f(place) for each element of a channel.
  template <class F>
  void ForElements(std::int64_t channel, F&& f) const {
    for (std::int64_t o = 0; o < outer; ++o) {
      const std::int64_t row = (o * channels + channel) * inner;
      for (std::int64_t i = 0; i < inner; ++i) f(static_cast<std::size_t>(row + i));
    }
  }
};

Extents ExtentsOf(const Node& node, const Shape& data) {
  const int axis = BatchNormAxis(node, data);
  return {data.SizeOf(0, axis), data[axis], data.SizeOf(axis + 1, data.rank())};
}

// Whose statistics these are: this rank's batch has its own, or the batches of all ranks have them together.
enum class Batch { kOfThisRank, kOfAllRanks };
using enum Batch;

template <class T>
BatchStatistics StatisticsOf(const Extents& extents, const std::vector<T>& x) {
  const auto channels = static_cast<std::size_t>(extents.channels);
  BatchStatistics statistics{static_cast<double>(extents.count()), std::vector<double>(channels),
                             std::vector<double>(channels)};
  const double count = std::max(1.0, statistics.count);
  kernels::ParallelFor(extents.channels, 1, [&](std::int64_t channel) {
    double sum = 0, squares = 0;
    extents.ForElements(channel, [&](std::size_t i) { sum += static_cast<double>(x[i]); });
    const double mean = sum / count;
    extents.ForElements(channel, [&](std::size_t i) {
      const double distance = static_cast<double>(x[i]) - mean;
      squares += distance * distance;
    });
    statistics.mean[static_cast<std::size_t>(channel)] = mean;
    statistics.variance[static_cast<std::size_t>(channel)] = squares / count;
  });
  return statistics;
}

template <Batch kBatch>
void BatchNormTrainingReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<BatchNormParam>();
  const Extents extents = ExtentsOf(node, in[0].shape());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Numbers<T>(in[0]), gamma = Numbers<T>(in[1]), beta = Numbers<T>(in[2]);
    BatchStatistics statistics = StatisticsOf(extents, x);
    if (kBatch == kOfAllRanks) JoinOverRanks(&statistics);
    std::vector<T> y(x.size());
    std::vector<T> means(gamma.size()), inverses(gamma.size()), variances(gamma.size());
    kernels::ParallelFor(extents.channels, 1, [&](std::int64_t channel) {
      const auto c = static_cast<std::size_t>(channel);
      const double mean = statistics.mean[c], inverse = 1 / std::sqrt(statistics.variance[c] + p.eps);
      const double scale = (p.fix_gamma ? 1.0 : static_cast<double>(gamma[c])) * inverse;
      extents.ForElements(channel, [&](std::size_t i) {
        const double normal = (static_cast<double>(x[i]) - mean) * scale;
        y[i] = static_cast<T>(normal + static_cast<double>(beta[c]));
      });
      means[c] = static_cast<T>(mean);
      inverses[c] = static_cast<T>(inverse);
      variances[c] = static_cast<T>(statistics.variance[c]);
    });
    const std::vector<T>* results[] = {&y, &means, &inverses, &variances};
    for (std::size_t i = 0; i < 4; ++i) {
      if (out[i].defined()) Store(*results[i], out[i]);
    }
  });
}

// ---- lowering: all numbers of channels are float32 ----

// The channels as axis 1; its own inverse.
ValueId ChannelsSwapped(LowerContext& c, ValueId value, int axis) {
  if (axis == 1) return value;
  std::vector<int> axes(static_cast<std::size_t>(c.ShapeOf(value).rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<std::size_t>(axis)], axes[1]);
  return c.Permute(value, axes);
}

ValueId GammaOf(LowerContext& c, int input) {
  if (!c.node().params<BatchNormParam>().fix_gamma) return c.Cast(c.in(input), DType::kFloat32);
  NDArray ones(DType::kFloat32, c.in_type(input).shape);
  std::fill_n(ones.As<float>(), ones.size(), 1.0f);
  return c.Constant(ones, "ones");
}

bool IsLowerable(const Shape& data) { return data.rank() >= 2 && data.rank() <= 5 && data.size() != 0; }

// One number for each channel, of a step's operand.
std::vector<double> ChannelsOf(const KernelOperands& operands, std::size_t input, std::size_t channels) {
  const auto* numbers = static_cast<const float*>(operands.input(input));
  return {numbers, numbers + channels};
}

float* WrittenChannels(const KernelOperands& operands, std::size_t output) {
  return static_cast<float*>(operands.output(output));
}

// Inputs from `first` on become the outputs.
void CopyChannels(const KernelOperands& operands, std::size_t first, std::size_t channels) {
  for (std::size_t i = 0; i < operands.num_outputs(); ++i) {
    std::copy_n(static_cast<const float*>(operands.input(first + i)), channels, WrittenChannels(operands, i));
  }
}

// From what ChannelSums::kStatistics gives for this rank's batch to the same for the batches of all ranks.
std::vector<ValueId> EmitStatisticsOverRanks(LowerContext& c, const std::vector<ValueId>& own, ValueId gamma,
                                             ValueId beta) {
  const TensorType type{DType::kFloat32, c.ShapeOf(gamma)};
  const auto channels = static_cast<std::size_t>(type.shape.size());
  const auto count = static_cast<double>(ExtentsOf(c.node(), c.in_type(0).shape).count());
  const double eps = c.node().params<BatchNormParam>().eps;
  const auto run = [=](const KernelOperands& operands) {
    if (!HasOtherRanks()) return CopyChannels(operands, 0, channels);
    BatchStatistics all{count, ChannelsOf(operands, 0, channels), ChannelsOf(operands, 2, channels)};
    JoinOverRanks(&all);
    const std::vector<double> scales = ChannelsOf(operands, 5, channels), shifts = ChannelsOf(operands, 6, channels);
    for (std::size_t i = 0; i < channels; ++i) {
      const double inverse = 1 / std::sqrt(all.variance[i] + eps), scale = scales[i] * inverse;
      const double numbers[] = {all.mean[i], inverse, all.variance[i], scale, shifts[i] - all.mean[i] * scale};
      for (std::size_t k = 0; k < 5; ++k) WrittenChannels(operands, k)[i] = static_cast<float>(numbers[k]);
    }
  };
  std::vector<ValueId> read = own;
  read.insert(read.end(), {gamma, beta});
  return c.EmitSeveral(KernelSpec{"statistics_over_ranks", run}, read, std::vector<TensorType>(5, type));
}

template <Batch kBatch>
bool LowerTraining(LowerContext& c) {
  const auto& p = c.node().params<BatchNormParam>();
  const TensorType& in = c.in_type(0);
  if (!IsLowerable(in.shape) || in.dtype == DType::kFloat64) return false;
  const int axis = BatchNormAxis(c.node(), in.shape);
  const ValueId data = ChannelsSwapped(c, c.in(0), axis);
  const TensorType channels{DType::kFloat32, c.in_type(1).shape};
  const ValueId gamma = GammaOf(c, 1), beta = c.Cast(c.in(2), channels.dtype);
  std::vector<ValueId> numbers = c.EmitSeveral(ChannelSumsSpec{ChannelSums::kStatistics, static_cast<float>(p.eps)},
                                               {data, gamma, beta}, std::vector<TensorType>(5, channels));
  if (kBatch == kOfAllRanks) numbers = EmitStatisticsOverRanks(c, numbers, gamma, beta);
  const ValueId out = c.Emit(ScaleShiftSpec{}, {data, numbers[3], numbers[4]}, {c.out_type(0).dtype, c.ShapeOf(data)});
  c.SetOut(0, ChannelsSwapped(c, out, axis));
  for (int i = 1; i < 4; ++i) c.SetOut(i, c.Cast(numbers[static_cast<std::size_t>(i - 1)], c.out_type(i).dtype));
  return true;
}

// Gamma has no gradient where it counts as 1.
void SetBatchNormGradients(GradientContext& c, const char* backward, bool constant_statistics,
                           const Term& inverse_deviation) {
  if (!c.has_gradient(0)) return;
  const auto& p = c.params<BatchNormParam>();
  const AttrMap attrs{{"fix_gamma", PrintAttr(p.fix_gamma)},
                      {"axis", PrintAttr(p.axis)},
                      {"use_global_stats", PrintAttr(constant_statistics)}};
  const std::vector<Term> gradients =
      c.CallAll(backward, {c.gradient(), c.in(0), c.in(1), c.out(1), inverse_deviation}, attrs);
  c.Set(0, gradients[0]);
  if (!p.fix_gamma) c.Set(1, gradients[1]);
  c.Set(2, gradients[2]);
}

ParamSchema<BatchNormParam> SchemaWithAxis() {
  return BatchNormSchema().Optional("axis", &BatchNormParam::axis, "The channel axis; may be negative.");
}

template <Batch kBatch>
OpDefinition<BatchNormParam> RegisterTraining(const char* name, const char* backward, const char* doc) {
  return RegisterOp<BatchNormParam>(name)
      .Doc(doc)
      .Params(SchemaWithAxis())
      .Inputs({"data", "gamma", "beta", "moving_mean", "moving_var"})
      .Outputs({"output", "mean", "var", "variance"})
      .VisibleOutputs([](const BatchNormParam& p) { return p.output_mean_var ? 3 : 1; })
      .MutableInputs({3, 4})
      .Set(ShapeRule{InferBatchNormShape})
      .Set(DTypeRule{InferBatchNormDType})
      .Set(AmpFacts{
          Arithmetic::kNeedsFloat32,
          {SlotRole::kData, SlotRole::kStatistic, SlotRole::kStatistic, SlotRole::kIgnored, SlotRole::kIgnored}})
      .Set(UpdatesStates{[](const Node& node) {
        const double momentum = node.params<BatchNormParam>().momentum;
        return std::vector<StateUpdate>{{3, 1, momentum}, {4, 3, momentum}};
      }})
      .Set(GradientRule{[backward](GradientContext& c) { SetBatchNormGradients(c, backward, false, c.out(2)); }})
      .Set(ReferenceKernel{BatchNormTrainingReference<kBatch>})
      .Set(LowerRule{LowerTraining<kBatch>});
}

[[maybe_unused]] const auto kTraining = RegisterTraining<kOfThisRank>(
    "_train_BatchNorm", "_backward_BatchNorm",
    "BatchNorm in training: (data - mean) * gamma / sqrt(variance + eps) + beta with the statistics of the\n"
    "batch. The moving statistics are not read.");

[[maybe_unused]] const auto kSyncTraining =
    RegisterTraining<kOfAllRanks>(
        "_train_contrib_SyncBatchNorm", "_backward_contrib_SyncBatchNorm",
        "_contrib_SyncBatchNorm in training: _train_BatchNorm with the statistics of the batches of all ranks. The\n"
        "ranks are those of `with amp.distributed.group(comm):`; outside of one there is one rank. All ranks run the\n"
        "same graph; their batches may have different sizes.")
        .Set(ExchangesMessages{});

// ---- moving statistics ----

struct MovingAverageParam {
  double momentum = 0.9;
};

[[maybe_unused]] const auto kMovingAverage =
    RegisterOp<MovingAverageParam>("_moving_average")
        .Doc("state * momentum + value * (1 - momentum): what a state becomes in one step.")
        .Params(ParamSchema<MovingAverageParam>().Optional("momentum", &MovingAverageParam::momentum,
                                                           "The share of the state that stays."))
        .Inputs({"state", "value"})
        .MutableInputs({0})
        .Set(SameShape())
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kStatistic, SlotRole::kStatistic}})
        .Set(GradientRule{
            [](GradientContext& c) { c.Set(1, c.gradient() * (1 - c.params<MovingAverageParam>().momentum)); }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const double momentum = node.params<MovingAverageParam>().momentum;
          std::vector<double> state = Numbers<double>(in[0]), value = Numbers<double>(in[1]);
          for (std::size_t i = 0; i < state.size(); ++i) state[i] = state[i] * momentum + value[i] * (1 - momentum);
          Store(state, out[0]);
        }})
        .Set(LowerRule{[](LowerContext& c) {
          using kernels::MapOp;
          const double momentum = c.node().params<MovingAverageParam>().momentum;
          return LowerToMap(c, {{MapOp::kLinear, 0, 0, 0, static_cast<float>(momentum)},
                                {MapOp::kLinear, 1, 0, 0, static_cast<float>(1 - momentum)},
                                {MapOp::kAdd, 2, 3}});
        }});

// ---- the gradient ----

void InferBatchNormBackwardShape(ShapeRelation& r) {
  r.In(0, r.in(1));
  r.In(1, r.in(0));
  r.Out(0, r.in(1));
  if (!r.in(1).rank_known()) return;
  const Shape channels{r.in(1)[BatchNormAxis(r.node(), r.in(1))]};
  for (int i = 2; i < 5; ++i) r.In(i, channels);
  for (int i = 1; i < 3; ++i) r.Out(i, channels);
}

void InferBackwardDType(DTypeRelation& r) {
  r.Same({0, 1}, {0});
  r.InIsFloat(1);
  const DType statistics = IsLowPrecision(r.in(1)) ? DType::kFloat32 : r.in(1);
  for (int i = 2; i < 5; ++i) r.In(i, statistics);
  r.Same({2, 3, 4}, {1, 2});
}

template <Batch kBatch>
void BatchNormBackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<BatchNormParam>();
  const Extents extents = ExtentsOf(node, in[1].shape());
  WithFloatType(in[1].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> dy = Numbers<T>(in[0]), x = Numbers<T>(in[1]);
    const std::vector<double> gamma = Numbers<double>(in[2]), mean = Numbers<double>(in[3]),
                              inverse = Numbers<double>(in[4]);
    std::vector<T> dx(x.size());
    std::vector<double> dgamma(gamma.size()), dbeta(gamma.size());
    const auto normal = [&](std::size_t c, std::size_t i) {
      return (static_cast<double>(x[i]) - mean[c]) * inverse[c];
    };
    kernels::ParallelFor(extents.channels, 1, [&](std::int64_t channel) {
      const auto c = static_cast<std::size_t>(channel);
      extents.ForElements(channel, [&](std::size_t i) {
        dbeta[c] += static_cast<double>(dy[i]);
        dgamma[c] += static_cast<double>(dy[i]) * normal(c, i);
      });
    });
    std::vector<double> sums = dbeta, products = dgamma;
    double count = static_cast<double>(extents.count());
    const bool tells_ranks = kBatch == kOfAllRanks && out[0].defined() && !p.use_global_stats;
    if (tells_ranks) count = AddOverRanks(count, {&sums, &products});
    count = std::max(1.0, count);
    kernels::ParallelFor(extents.channels, 1, [&](std::int64_t channel) {
      const auto c = static_cast<std::size_t>(channel);
      const double scale = (p.fix_gamma ? 1.0 : gamma[c]) * inverse[c];
      const double share = p.use_global_stats ? 0 : sums[c] / count,
                   slope = p.use_global_stats ? 0 : products[c] / count;
      extents.ForElements(channel, [&](std::size_t i) {
        dx[i] = static_cast<T>(scale * (static_cast<double>(dy[i]) - share - normal(c, i) * slope));
      });
    });
    if (out[0].defined()) Store(dx, out[0]);
    if (out[1].defined()) Store(dgamma, out[1]);
    if (out[2].defined()) Store(dbeta, out[2]);
  });
}

// a g + b x + c, and with constant statistics only the first of these.
ValueId EmitSourceGradient(LowerContext& c, ValueId gradient, ValueId data, const std::vector<ValueId>& factors,
                           bool constant_statistics) {
  using kernels::MapOp;
  Shape broadcast = c.ShapeOf(data);
  for (int i = 0; i < broadcast.rank(); ++i) broadcast[i] = i == 1 ? broadcast[1] : 1;
  const auto factor = [&](std::size_t i) { return c.Reshape(factors[i], broadcast); };
  const TensorType type{c.out_type(0).dtype, c.ShapeOf(data)};
  if (constant_statistics) return c.Emit(MapSpec{{{MapOp::kMul, 0, 1}}}, {gradient, factor(2)}, type);
  const std::vector<kernels::MapStep> steps{{MapOp::kMulAdd, 0, 3, 4}, {MapOp::kMulAdd, 1, 2, 5}};
  return c.Emit(MapSpec{steps}, {data, gradient, factor(2), factor(3), factor(4)}, type);
}

// What ChannelSums::kGradient gives for this rank's batch, with the factors for the batches of all ranks: the gradient
// of an element depends on the sums over all of them, while each rank keeps its own sums as gradients of gamma and
// beta.
std::vector<ValueId> WithFactorsOverRanks(LowerContext& c, std::vector<ValueId> own, ValueId mean, ValueId inverse) {
  const TensorType type{DType::kFloat32, c.ShapeOf(mean)};
  const auto channels = static_cast<std::size_t>(type.shape.size());
  const auto own_count = static_cast<double>(ExtentsOf(c.node(), c.in_type(1).shape).count());
  const auto run = [=](const KernelOperands& operands) {
    if (!HasOtherRanks()) return CopyChannels(operands, 3, channels);
    const auto numbers = [&](std::size_t input) { return ChannelsOf(operands, input, channels); };
    std::vector<double> products = numbers(0), sums = numbers(1);
    const double count = AddOverRanks(own_count, {&sums, &products});
    const std::vector<double> scale = numbers(2), means = numbers(5), inverses = numbers(6);
    for (std::size_t i = 0; i < channels; ++i) {
      const double of_source = -scale[i] * inverses[i] * products[i] / count;
      WrittenChannels(operands, 0)[i] = static_cast<float>(of_source);
      WrittenChannels(operands, 1)[i] = static_cast<float>(-scale[i] * sums[i] / count - of_source * means[i]);
    }
  };
  std::vector<ValueId> read = own;
  read.insert(read.end(), {mean, inverse});
  const std::vector<ValueId> factors = c.EmitSeveral(KernelSpec{"sums_over_ranks", run}, read, {type, type});
  std::copy(factors.begin(), factors.end(), own.begin() + 3);
  return own;
}

template <Batch kBatch>
bool LowerBatchNormBackward(LowerContext& c) {
  const auto& p = c.node().params<BatchNormParam>();
  const TensorType& in = c.in_type(1);
  if (!IsLowerable(in.shape) || in.dtype == DType::kFloat64) return false;
  const int axis = BatchNormAxis(c.node(), in.shape);
  const ValueId gradient = ChannelsSwapped(c, c.in(0), axis), data = ChannelsSwapped(c, c.in(1), axis);
  const TensorType channels{DType::kFloat32, c.in_type(2).shape};
  const ValueId mean = c.Cast(c.in(3), channels.dtype), inverse = c.Cast(c.in(4), channels.dtype);
  std::vector<ValueId> sums =
      c.EmitSeveral(ChannelSumsSpec{ChannelSums::kGradient}, {gradient, data, GammaOf(c, 2), mean, inverse},
                    std::vector<TensorType>(5, channels));
  const bool tells_ranks = kBatch == kOfAllRanks && c.is_read(0) && !p.use_global_stats;
  if (tells_ranks) sums = WithFactorsOverRanks(c, std::move(sums), mean, inverse);
  c.SetOut(0, ChannelsSwapped(c, EmitSourceGradient(c, gradient, data, sums, p.use_global_stats), axis));
  for (int i = 1; i < 3; ++i) c.SetOut(i, c.Cast(sums[static_cast<std::size_t>(i - 1)], c.out_type(i).dtype));
  return true;
}

template <Batch kBatch>
OpDefinition<BatchNormParam> RegisterBackward(const char* name, const char* doc) {
  return RegisterOp<BatchNormParam>(name)
      .Doc(doc)
      .Params(SchemaWithAxis())
      .Inputs({"gradient", "data", "gamma", "mean", "inverse_deviation"})
      .Outputs({"data", "gamma", "beta"})
      .VisibleOutputs([](const BatchNormParam&) { return 3; })
      .Set(ShapeRule{InferBatchNormBackwardShape})
      .Set(DTypeRule{InferBackwardDType})
      .Set(AmpFacts{
          Arithmetic::kNeedsFloat32,
          {SlotRole::kData, SlotRole::kData, SlotRole::kStatistic, SlotRole::kStatistic, SlotRole::kStatistic}})
      .Set(NoGradient{"second derivatives of batch norms are not implemented"})
      .Set(ReferenceKernel{BatchNormBackwardReference<kBatch>})
      .Set(LowerRule{LowerBatchNormBackward<kBatch>});
}

[[maybe_unused]] const auto kBatchNormBackward =
    RegisterBackward<kOfThisRank>("_backward_BatchNorm", "The gradients of BatchNorm's data, gamma and beta.");

[[maybe_unused]] const auto kSyncBackward = RegisterBackward<kOfAllRanks>(
    "_backward_contrib_SyncBatchNorm",
    "The gradients of _train_contrib_SyncBatchNorm's data, gamma and beta: those of gamma and beta are of this rank's\n"
    "batch, to be added over ranks.");

}  // namespace

GradientRule BatchNormGradient() {
  return {[](GradientContext& c) { SetBatchNormGradients(c, "_backward_BatchNorm", true, c.out(2)); }};
}

GradientRule SyncBatchNormGradient() {
  return {[](GradientContext& c) {
    const Term inverse = Unary("rsqrt", c.out(2) + c.params<BatchNormParam>().eps);
    SetBatchNormGradients(c, "_backward_BatchNorm", true, inverse);
  }};
}

// Global statistics are used in training as at inference.
TrainingForm BatchNormTraining(const char* op, bool shows_variance) {
  return {[op, shows_variance](TrainingContext& c) {
    const auto& p = c.node().params<BatchNormParam>();
    if (p.use_global_stats) return c.Keep();
    AttrMap attrs{{"eps", PrintAttr(p.eps)},
                  {"momentum", PrintAttr(p.momentum)},
                  {"fix_gamma", PrintAttr(p.fix_gamma)},
                  {"output_mean_var", PrintAttr(p.output_mean_var)},
                  {"axis", PrintAttr(p.axis)}};
    std::vector<NodeEntry> outputs = c.Make(op, std::move(attrs), c.inputs());
    if (shows_variance) std::swap(outputs[2], outputs[3]);
    outputs.resize(3);
    return outputs;
  }};
}

}  // namespace amp
