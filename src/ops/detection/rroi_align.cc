// _contrib_RROIAlign: rotated regions of feature maps, sampled to one size.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/regions.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::rroi_align {
namespace {

struct RotatedRoiParam {
  IntTuple pooled_size;
  double spatial_scale = 0;
  std::int64_t sampling_ratio = -1;
};

void Validate(RotatedRoiParam& p) { CheckPooledSize(p.pooled_size); }

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<RotatedRoiParam>();
  r.In(0, Shape::OfRank(4));
  r.In(1, Shape{kUnknownDim, 6});
  if (r.in(0)[2] == 0 || r.in(0)[3] == 0) FailAt(r.node(), "feature maps of shape {} are empty", r.in(0).ToString());
  r.Out(0, Shape{r.in(1)[0], r.in(0)[1], p.pooled_size[0], p.pooled_size[1]});
}

// One axis of a region, from its middle on: bins of this size, each with so many samples.
struct RotatedBins {
  float begin, size;
  std::int64_t samples;

  // A bin larger than the map has no more different samples than the map has positions.
  RotatedBins(float extent, std::int64_t count, std::int64_t ratio, std::int64_t map) {
    extent = extent > 1 ? extent : 1;  // of a NaN, too
    begin = -extent / 2;
    size = extent / static_cast<float>(count);
    const float given = ratio > 0 ? static_cast<float>(ratio) : std::ceil(size);
    samples = static_cast<std::int64_t>(std::clamp(given, 1.f, static_cast<float>(map + 2)));
  }
  float At(std::int64_t bin, std::int64_t sample) const {
    return begin + static_cast<float>(bin) * size +
           (static_cast<float>(sample) + 0.5f) * size / static_cast<float>(samples);
  }
};

// A region on the maps: its middle, its direction and its bins.
class RotatedRegion {
 public:
  // `roi`: image, middle (x, y), width, height, and degrees counter-clockwise.
  RotatedRegion(const RotatedRoiParam& p, const float* roi, const Shape& data)
      : height_(data[2]),
        width_(data[3]),
        x_(roi[1] * static_cast<float>(p.spatial_scale)),
        y_(roi[2] * static_cast<float>(p.spatial_scale)),
        cos_(std::cos(Radians(roi[5]))),
        sin_(std::sin(Radians(roi[5]))),
        rows_(roi[4] * static_cast<float>(p.spatial_scale), p.pooled_size[0], p.sampling_ratio, height_ + width_),
        columns_(roi[3] * static_cast<float>(p.spatial_scale), p.pooled_size[1], p.sampling_ratio, height_ + width_) {}

  float Average(const float* map, std::int64_t i, std::int64_t j) const {
    float sum = 0;
    for (std::int64_t a = 0; a < rows_.samples; ++a) {
      for (std::int64_t b = 0; b < columns_.samples; ++b) {
        const float down = rows_.At(i, a), across = columns_.At(j, b);
        sum += SampleOfMap(map, height_, width_, down * cos_ - across * sin_ + y_, across * cos_ + down * sin_ + x_);
      }
    }
    return sum / static_cast<float>(rows_.samples * columns_.samples);
  }

 private:
  static float Radians(float degrees) {
    return static_cast<float>(static_cast<double>(degrees) * std::numbers::pi / 180);
  }

  std::int64_t height_, width_;
  float x_, y_, cos_, sin_;
  RotatedBins rows_, columns_;
};

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<RotatedRoiParam>();
  const Shape &data = in[0].shape(), &shape = out[0].shape();
  const std::vector<float> x = Numbers<float>(in[0]), rois = Numbers<float>(in[1]);
  std::vector<float> y(static_cast<std::size_t>(out[0].size()));
  for (std::size_t roi = 0; roi < rois.size(); roi += 6) {
    if (!(rois[roi] >= 0 && rois[roi] < static_cast<float>(data[0]))) FailAt(node, "there is no image {}", rois[roi]);
  }
  kernels::ParallelFor(shape[0], 1, [&](std::int64_t n) {
    const float* roi = rois.data() + 6 * n;
    const RotatedRegion region(p, roi, data);
    const std::int64_t bins = shape[2] * shape[3], image = static_cast<std::int64_t>(roi[0]) * data[1];
    for (std::int64_t k = 0; k < data[1] * bins; ++k) {
      const float* map = x.data() + (image + k / bins) * data[2] * data[3];
      y[static_cast<std::size_t>(n * data[1] * bins + k)] = region.Average(map, k % bins / shape[3], k % shape[3]);
    }
  });
  Store(y, out[0]);
}

[[maybe_unused]] const auto kRotated =
    RegisterOp<RotatedRoiParam>("_contrib_RROIAlign")
        .Doc(
            "Averages of samples in rotated regions (image, x, y, width, height, degrees) of feature maps (N, C, H, "
            "W):\n"
            "(x, y) is the middle.")
        .Params(ParamSchema<RotatedRoiParam>()
                    .Required("pooled_size", &RotatedRoiParam::pooled_size, "Height and width of the output.")
                    .Required("spatial_scale", &RotatedRoiParam::spatial_scale, "From regions' units to those of maps.")
                    .Optional("sampling_ratio", &RotatedRoiParam::sampling_ratio,
                              "Samples of a bin along an axis; below 1: by size.")
                    .Range(-1e9, 64),
                Validate)
        .Inputs({"data", "rois"})
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferRegionDTypes})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{"MXNet has none"})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::rroi_align
