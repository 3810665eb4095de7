// ROIPooling: the largest elements in bins of regions of feature maps.
#include <cmath>
#include <limits>

#include "kernels/vision/roi_pooling.h"
#include "ops/common/float32_kernel.h"
#include "ops/common/numeric.h"
#include "ops/common/regions.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::roi_pooling {
namespace {

struct RoiParam {
  IntTuple pooled_size;
  double spatial_scale = 1;
};

void Validate(RoiParam& p) { CheckPooledSize(p.pooled_size); }

void InferShape(ShapeRelation& r) {
  const IntTuple& size = r.node().params<RoiParam>().pooled_size;
  r.In(0, Shape{kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim});
  r.In(1, Shape{kUnknownDim, 5});
  r.Out(0, Shape{r.in(1)[0], r.in(0)[1], size[0], size[1]});
}

kernels::RoiPooling WorkOf(const RoiParam& p, const Shape& data, const Shape& rois) {
  kernels::RoiPooling work;
  work.images = data[0];
  work.channels = data[1];
  work.height = data[2];
  work.width = data[3];
  work.regions = rois[0];
  work.bin_rows = p.pooled_size[0];
  work.bin_columns = p.pooled_size[1];
  work.spatial_scale = static_cast<float>(p.spatial_scale);
  return work;
}

template <class T>
T Largest(const T* plane, std::int64_t width, const kernels::RoiPooling::Span& down,
          const kernels::RoiPooling::Span& across) {
  if (down.end <= down.begin || across.end <= across.begin) return T{0};
  T largest = std::numeric_limits<float>::lowest();  // of every dtype
  for (std::int64_t row = down.begin; row < down.end; ++row) {
    for (std::int64_t column = across.begin; column < across.end; ++column) {
      if (plane[row * width + column] > largest) largest = plane[row * width + column];
    }
  }
  return largest;
}

// The place of the first of the largest elements of a bin in its plane; -1 where there are none.
template <class T>
std::int64_t PlaceOfLargest(const T* plane, std::int64_t width, const kernels::RoiPooling::Span& down,
                            const kernels::RoiPooling::Span& across) {
  std::int64_t place = -1;
  for (std::int64_t row = down.begin; row < down.end; ++row) {
    for (std::int64_t column = across.begin; column < across.end; ++column) {
      const std::int64_t here = row * width + column;
      if (place < 0 || plane[here] > plane[place]) place = here;
    }
  }
  return place;
}

void RequireImage(float image, std::int64_t images, const std::string& where) {
  if (!(image < static_cast<float>(images))) Throw<GraphError>("{}: there is no image {}", where, image);
}

// Calls f(i, the first element of the plane, rows, columns) for each result i whose region lies in an image.
template <class F>
void ForEachBin(const Node& node, const kernels::RoiPooling& work, const NDArray& regions, F&& f) {
  const std::vector<float> rois = Numbers<float>(regions);
  const std::int64_t bins = work.bin_rows * work.bin_columns;
  for (std::int64_t i = 0; i < work.regions * work.channels * bins; ++i) {
    const float* roi = rois.data() + i / (bins * work.channels) * 5;
    RequireImage(roi[0], work.images, node.Describe());
    if (!(roi[0] >= 0)) continue;
    const std::int64_t plane = static_cast<std::int64_t>(roi[0]) * work.channels + i / bins % work.channels;
    f(i, plane * work.height * work.width,
      work.SpanOf(roi[2], roi[4], i % bins / work.bin_columns, work.bin_rows, work.height),
      work.SpanOf(roi[1], roi[3], i % work.bin_columns, work.bin_columns, work.width));
  }
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const kernels::RoiPooling work = WorkOf(node.params<RoiParam>(), in[0].shape(), in[1].shape());
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Numbers<T>(in[0]);
    std::vector<T> y(out[0].size(), T{0});
    ForEachBin(node, work, in[1], [&](std::int64_t i, std::int64_t first, const auto& rows, const auto& columns) {
      y[i] = Largest(x.data() + first, work.width, rows, columns);
    });
    Store(y, out[0]);
  });
}

// Inputs: gradient, data, rois.
void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const kernels::RoiPooling work = WorkOf(node.params<RoiParam>(), in[1].shape(), in[2].shape());
  WithFloatType(in[1].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> dy = Numbers<T>(in[0]), x = Numbers<T>(in[1]);
    std::vector<T> dx(x.size(), T{0});
    ForEachBin(node, work, in[2], [&](std::int64_t i, std::int64_t first, const auto& rows, const auto& columns) {
      const std::int64_t place = PlaceOfLargest(x.data() + first, work.width, rows, columns);
      if (place >= 0) dx[first + place] += dy[i];
    });
    Store(dx, out[0]);
  });
}

bool Lower(LowerContext& c) {
  const kernels::RoiPooling work = WorkOf(c.node().params<RoiParam>(), c.in_type(0).shape, c.in_type(1).shape);
  const auto run = [work, where = c.node().Describe()](const KernelOperands& operands) {
    const auto* rois = static_cast<const float*>(operands.input(1));
    for (std::int64_t i = 0; i < work.regions; ++i) RequireImage(rois[i * 5], work.images, where);
    work.Run(static_cast<const float*>(operands.input(0)), rois, static_cast<float*>(operands.output()),
             operands.scratch());
  };
  return LowerInFloat32(c, {"roi_pooling", run, work.ScratchBytes()});
}

ParamSchema<RoiParam> Schema() {
  return ParamSchema<RoiParam>()
      .Required("pooled_size", &RoiParam::pooled_size, "Height and width of the output.")
      .Required("spatial_scale", &RoiParam::spatial_scale, "From regions' units to those of maps.")
      .Range(0, 1);
}

[[maybe_unused]] const auto kBackward =
    RegisterOp<RoiParam>("_backward_ROIPooling")
        .Doc("The gradient of ROIPooling's data. The first of several largest elements gets that of their bin.")
        .Params(Schema(), Validate)
        .Inputs({"gradient", "data", "rois"})
        .Set(ShapeRule{[](ShapeRelation& r) { InferRegionGradient(r, InferShape); }})
        .Set(DTypeRule{InferRegionGradientDTypes})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"second derivatives of ROIPooling are not implemented"})
        .Set(ReferenceKernel{BackwardReference});

[[maybe_unused]] const auto kCard =
    RegisterOp<RoiParam>("ROIPooling")
        .Alias("_npx_roi_pooling")
        .Doc("The largest elements in bins of regions (image, left, top, right, bottom) of feature maps (N, C, H, W).")
        .Params(Schema(), Validate)
        .Inputs({"data", "rois"})
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferRegionDTypes})
        .Set(AmpFacts{Arithmetic::kElementwise, {SlotRole::kData, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_ROIPooling", {c.gradient(), c.in(0), c.in(1)}, c.attrs()));
        }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::roi_pooling
