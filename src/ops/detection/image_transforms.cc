// _image_to_tensor and _image_normalize: what pictures go through before they are a network's input.
#include <algorithm>

#include "ops/common/float_tuple.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::image_transforms {
namespace {

constexpr float kMaxPixel = 255;

void RequireImage(const Node& node, const Shape& shape, const char* form) {
  if (shape.rank() == 3 || shape.rank() == 4) return;
  FailAt(node, "expected {}, or several of them, got {}", form, shape.ToString());
}

// ---- _image_to_tensor ----

// The last axis in front of the two before it.
std::vector<int> ChannelsFirst(int rank) {
  return rank == 3 ? std::vector<int>{2, 0, 1} : std::vector<int>{0, 3, 1, 2};
}

void InferTensor(ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  RequireImage(r.node(), r.in(0), "a picture (height, width, channels)");
  const int rank = r.in(0).rank();
  Shape out = Shape::OfRank(rank);
  const std::vector<int> axes = ChannelsFirst(rank);
  for (int i = 0; i < rank; ++i) out[i] = r.in(0)[axes[static_cast<std::size_t>(i)]];
  r.Out(0, out);
}

void TensorReference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  std::vector<float> values;
  for (const double pixel : Numbers<double>(Transposed(in[0], ChannelsFirst(in[0].shape().rank())))) {
    values.push_back(static_cast<float>(pixel) / kMaxPixel);
  }
  Store(values, out[0]);
}

bool LowerTensor(LowerContext& c) {
  const ValueId pixels = c.Permute(c.Cast(c.in(0), DType::kFloat32), ChannelsFirst(c.in_type(0).shape.rank()));
  const MapSpec divide{
      {{.op = kernels::MapOp::kConstant, .alpha = kMaxPixel}, {.op = kernels::MapOp::kDiv, .x = 0, .y = 1}}};
  c.SetOut(0, c.Emit(divide, {pixels}, {DType::kFloat32, c.out_type(0).shape}));
  return true;
}

[[maybe_unused]] const auto kToTensor =
    RegisterOp<NoParam>("_image_to_tensor")
        .Alias("_npx__image_to_tensor")
        .Doc(
            "Pixels from 0 to 255, channels last, as float32 from 0 to 1, channels first: (height, width, channels) "
            "to\n"
            "(channels, height, width), or several of them.")
        .Inputs({"data"})
        .Set(ShapeRule{InferTensor})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, DType::kFloat32); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(NoGradient{"pixels have no derivatives"})
        .Set(ReferenceKernel{TensorReference})
        .Set(LowerRule{LowerTensor});

// ---- _image_normalize ----

struct NormalizeParam {
  FloatTuple mean{{0}};
  FloatTuple std{{1}};
};

struct Channels {
  std::vector<float> mean, std;
};

Channels ChannelsOf(const Node& node, const Shape& shape) {
  const auto& p = node.params<NormalizeParam>();
  const auto count = static_cast<std::size_t>(shape[shape.rank() - 3]);
  if (count != 1 && count != 3) FailAt(node, "expected data with 1 or 3 channels, got {}", shape.ToString());
  const auto spread = [&](const char* name, const std::vector<double>& given) {
    if (given.size() != 1 && given.size() != count) {
      FailAt(node, "attribute {}: expected 1 or {} numbers for data of shape {}, got {}", name, count, shape.ToString(),
             given.size());
    }
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(given[given.size() == 1 ? 0 : i]));
    return values;
  };
  return {spread("mean", p.mean.values), spread("std", p.std.values)};
}

void InferNormalized(ShapeRelation& r) {
  r.AllSame();
  if (!r.in(0).fully_known()) return;
  RequireImage(r.node(), r.in(0), "a picture (channels, height, width)");
  ChannelsOf(r.node(), r.in(0));
}

void NormalizeReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = in[0].shape();
  const Channels channels = ChannelsOf(node, shape);
  const auto plane = static_cast<std::size_t>(shape.SizeOf(shape.rank() - 2, shape.rank()));
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values = Numbers<T>(in[0]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t channel = i / plane % channels.mean.size();
      values[i] = (values[i] - static_cast<T>(channels.mean[channel])) / static_cast<T>(channels.std[channel]);
    }
    Store(values, out[0]);
  });
}

bool LowerNormalize(LowerContext& c) {
  const Shape& shape = c.in_type(0).shape;
  if (c.in_type(0).dtype == DType::kFloat64) return false;
  const Channels channels = ChannelsOf(c.node(), shape);
  std::vector<std::int64_t> dims(static_cast<std::size_t>(shape.rank()), 1);
  dims[dims.size() - 3] = static_cast<std::int64_t>(channels.mean.size());
  const auto constant = [&](const std::vector<float>& values, const char* name) {
    NDArray array(DType::kFloat32, Shape(dims));
    Store(values, array);
    return c.Constant(array, name);
  };
  const MapSpec work{{{.op = kernels::MapOp::kSub, .x = 0, .y = 1}, {.op = kernels::MapOp::kDiv, .x = 3, .y = 2}}};
  const ValueId data = c.Cast(c.in(0), DType::kFloat32);
  const ValueId normalized =
      c.Emit(work, {data, constant(channels.mean, "mean"), constant(channels.std, "std")}, {DType::kFloat32, shape});
  c.SetOut(0, c.Cast(normalized, c.out_type(0).dtype));
  return true;
}

[[maybe_unused]] const auto kNormalize =
    RegisterOp<NormalizeParam>("_image_normalize")
        .Alias("_npx__image_normalize")
        .Doc("(data - mean) / std of pictures (channels, height, width) or several of them, channel by channel.")
        .Params(ParamSchema<NormalizeParam>()
                    .Optional("mean", &NormalizeParam::mean, "A number, or one for each channel.")
                    .Optional("std", &NormalizeParam::std, "A number, or one for each channel."))
        .Inputs({"data"})
        .Set(ShapeRule{InferNormalized})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          AttrMap attrs = c.attrs();
          attrs["mean"] = "(0.0,)";
          c.Set(0, c.Call("_image_normalize", {c.gradient()}, attrs));
        }})
        .Set(ReferenceKernel{NormalizeReference})
        .Set(LowerRule{LowerNormalize});

}  // namespace
}  // namespace amp::image_transforms
