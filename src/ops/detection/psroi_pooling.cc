// _contrib_PSROIPooling: means over bins of regions, each bin of feature maps of its own.
#include <algorithm>
#include <cmath>

#include "ops/common/numeric.h"
#include "ops/common/regions.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::psroi_pooling {
namespace {

struct PsRoiParam {
  double spatial_scale = 1;
  std::int64_t output_dim = 0, pooled_size = 0, group_size = 0;
};

void Validate(PsRoiParam& p) {
  if (p.group_size == 0) p.group_size = p.pooled_size;
}

ParamSchema<PsRoiParam> Schema() {
  return ParamSchema<PsRoiParam>()
      .Required("spatial_scale", &PsRoiParam::spatial_scale, "From regions' units to those of maps.")
      .Range(0, 1)
      .Required("output_dim", &PsRoiParam::output_dim, "Channels of the output.")
      .Range(1, 1 << 20)
      .Required("pooled_size", &PsRoiParam::pooled_size, "Height and width of the output.")
      .Range(1, 1 << 10)
      .Optional("group_size", &PsRoiParam::group_size, "Groups of maps down and across; 0: pooled_size.")
      .Range(0, 1 << 10);
}

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<PsRoiParam>();
  r.In(0, Shape{kUnknownDim, p.output_dim * p.group_size * p.group_size, kUnknownDim, kUnknownDim});
  r.In(1, Shape{kUnknownDim, 5});
  r.Out(0, Shape{r.in(1)[0], p.output_dim, p.pooled_size, p.pooled_size});
}

// Rows or columns [begin, end) of a map.
struct Span {
  std::int64_t begin, end;
};

// The span of one of p.pooled_size bins, of a region from `low` to `high` in its own units.
Span SpanOf(float low, float high, std::int64_t bin, const PsRoiParam& p, std::int64_t size) {
  const auto scale = static_cast<float>(p.spatial_scale);
  const float start = std::round(low) * scale, end = (std::round(high) + 1.f) * scale;
  const float length = std::max(end - start, 0.1f) / static_cast<float>(p.pooled_size);
  const auto cut = [size](float at) {
    return static_cast<std::int64_t>(std::clamp(at, 0.f, static_cast<float>(size)));
  };
  return {cut(std::floor(static_cast<float>(bin) * length + start)),
          cut(std::ceil(static_cast<float>(bin + 1) * length + start))};
}

// Calls f(i, the first element of the map, rows, columns) for each result i whose bin is not empty.
template <class F>
void ForEachBin(const Node& node, const Shape& data, const NDArray& regions, F&& f) {
  const auto& p = node.params<PsRoiParam>();
  const std::vector<float> rois = Numbers<float>(regions);
  const std::int64_t size = p.pooled_size, count = regions.shape()[0] * p.output_dim * size * size;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* roi = rois.data() + i / (p.output_dim * size * size) * 5;
    if (!(roi[0] >= 0 && roi[0] < static_cast<float>(data[0]))) FailAt(node, "there is no image {}", roi[0]);
    const std::int64_t row = i / size % size, column = i % size, channel = i / (size * size) % p.output_dim;
    const auto group = [&](std::int64_t bin) { return bin * p.group_size / size; };
    const std::int64_t map = (channel * p.group_size + group(row)) * p.group_size + group(column);
    const Span rows = SpanOf(roi[2], roi[4], row, p, data[2]), columns = SpanOf(roi[1], roi[3], column, p, data[3]);
    if (rows.end <= rows.begin || columns.end <= columns.begin) continue;
    f(i, (static_cast<std::int64_t>(roi[0]) * data[1] + map) * data[2] * data[3], rows, columns);
  }
}

// Calls f with each element of the bin; `width` is that of the map.
template <class F>
void ForEachElement(std::int64_t first, std::int64_t width, const Span& rows, const Span& columns, F&& f) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      f(static_cast<std::size_t>(first + row * width + column));
    }
  }
}

template <class T>
T AreaOf(const Span& rows, const Span& columns) {
  return static_cast<T>((rows.end - rows.begin) * (columns.end - columns.begin));
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& data = in[0].shape();
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Numbers<T>(in[0]);
    std::vector<T> y(static_cast<std::size_t>(out[0].size()), T{0});
    ForEachBin(node, data, in[1], [&](std::int64_t i, std::int64_t first, const Span& rows, const Span& columns) {
      T sum{0};
      ForEachElement(first, data[3], rows, columns, [&](std::size_t at) { sum += x[at]; });
      y[static_cast<std::size_t>(i)] = sum / AreaOf<T>(rows, columns);
    });
    Store(y, out[0]);
  });
}

// Inputs: gradient, data (ignored), rois.
void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& data = out[0].shape();
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> dy = Numbers<T>(in[0]);
    std::vector<T> dx(static_cast<std::size_t>(out[0].size()), T{0});
    ForEachBin(node, data, in[2], [&](std::int64_t i, std::int64_t first, const Span& rows, const Span& columns) {
      const T share = dy[static_cast<std::size_t>(i)] / AreaOf<T>(rows, columns);
      ForEachElement(first, data[3], rows, columns, [&](std::size_t at) { dx[at] += share; });
    });
    Store(dx, out[0]);
  });
}

[[maybe_unused]] const auto kBackward =
    RegisterOp<PsRoiParam>("_backward_PSROIPooling")
        .Doc("The gradient of PSROIPooling's data.")
        .Params(Schema(), Validate)
        .Inputs({"gradient", "data", "rois"})
        .Set(ShapeRule{[](ShapeRelation& r) { InferRegionGradient(r, InferShape); }})
        .Set(DTypeRule{InferRegionGradientDTypes})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIgnored, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {  // linear in the gradient
          c.Set(0, c.Call("_contrib_PSROIPooling", {c.gradient(), c.in(2)}, c.attrs()));
        }})
        .Set(ReferenceKernel{BackwardReference});

[[maybe_unused]] const auto kCard =
    RegisterOp<PsRoiParam>("_contrib_PSROIPooling")
        .Alias("_npx_psroi_pooling")
        .Doc(
            "Means over bins of regions (image, left, top, right, bottom) of data (N, output_dim * group_size², H, "
            "W):\n"
            "each bin reads maps of its own.")
        .Params(Schema(), Validate)
        .Inputs({"data", "rois"})
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferRegionDTypes})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_PSROIPooling", {c.gradient(), c.in(0), c.in(1)}, c.attrs()));
        }})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::psroi_pooling
