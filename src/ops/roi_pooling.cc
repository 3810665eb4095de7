// ROIPooling: the largest elements in bins of regions of feature maps.
#include <cmath>
#include <limits>

#include "kernels/roi_pooling.h"
#include "ops/float32_kernel.h"
#include "ops/numeric.h"
#include "ops/regions.h"
#include "ops/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp {
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

void RequireImage(float image, std::int64_t images, const std::string& where) {
  if (!(image < static_cast<float>(images))) Throw<GraphError>("{}: there is no image {}", where, image);
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const kernels::RoiPooling work = WorkOf(node.params<RoiParam>(), in[0].shape(), in[1].shape());
  const std::vector<float> rois = Numbers<float>(in[1]);
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Numbers<T>(in[0]);
    std::vector<T> y(out[0].size(), T{0});
    const std::int64_t bins = work.bin_rows * work.bin_columns;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const float* roi = rois.data() + at / (bins * work.channels) * 5;
      RequireImage(roi[0], work.images, node.Describe());
      if (!(roi[0] >= 0)) continue;
      const std::int64_t plane = static_cast<std::int64_t>(roi[0]) * work.channels + at / bins % work.channels;
      y[i] = Largest(x.data() + plane * work.height * work.width, work.width,
                     work.SpanOf(roi[2], roi[4], at % bins / work.bin_columns, work.bin_rows, work.height),
                     work.SpanOf(roi[1], roi[3], at % work.bin_columns, work.bin_columns, work.width));
    }
    Store(y, out[0]);
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

[[maybe_unused]] const auto kCard =
    RegisterOp<RoiParam>("ROIPooling")
        .Alias("_npx_roi_pooling")
        .Doc("The largest elements in bins of regions (image, left, top, right, bottom) of feature maps (N, C, H, W).")
        .Params(ParamSchema<RoiParam>()
                    .Required("pooled_size", &RoiParam::pooled_size, "Height and width of the output.")
                    .Required("spatial_scale", &RoiParam::spatial_scale, "From regions' units to those of maps.")
                    .Range(0, 1),
                Validate)
        .Inputs({"data", "rois"})
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferRegionDTypes})
        .Set(AmpFacts{Arithmetic::kElementwise, {SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"gradients of ROIPooling are not implemented"})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp
