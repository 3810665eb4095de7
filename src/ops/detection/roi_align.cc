// _contrib_ROIAlign: regions of feature maps, sampled to one size.
#include <algorithm>

#include "kernels/vision/roi_align.h"
#include "ops/common/float32_kernel.h"
#include "ops/common/numeric.h"
#include "ops/common/regions.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::roi_align {
namespace {

struct RoiParam {
  IntTuple pooled_size;
  double spatial_scale = 0;
  std::int64_t sample_ratio = -1;
  bool position_sensitive = false;
  bool aligned = false;
};

void Validate(RoiParam& p) { CheckPooledSize(p.pooled_size); }

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<RoiParam>();
  r.In(0, Shape::OfRank(4));
  r.In(1, Shape{kUnknownDim, 5});
  const std::int64_t bins = p.pooled_size[0] * p.pooled_size[1];
  std::int64_t channels = r.in(0)[1];
  if (p.position_sensitive && channels >= 0) {
    if (channels % bins != 0) FailAt(r.node(), "{} channels are no multiple of {} bins", channels, bins);
    channels /= bins;
  }
  if (r.in(0)[2] == 0 || r.in(0)[3] == 0) FailAt(r.node(), "feature maps of shape {} are empty", r.in(0).ToString());
  r.Out(0, Shape{r.in(1)[0], channels, p.pooled_size[0], p.pooled_size[1]});
}

kernels::RoiAlign WorkOf(const RoiParam& p, const Shape& data, const Shape& rois) {
  kernels::RoiAlign work;
  work.images = data[0];
  work.channels = data[1];
  work.height = data[2];
  work.width = data[3];
  work.regions = rois[0];
  work.bin_rows = p.pooled_size[0];
  work.bin_columns = p.pooled_size[1];
  work.spatial_scale = static_cast<float>(p.spatial_scale);
  work.sample_ratio = p.sample_ratio;
  work.position_sensitive = p.position_sensitive;
  work.aligned = p.aligned;
  return work;
}

using kernels::RoiBins;

float Average(const float* image, const Shape& data, const RoiBins& rows, const RoiBins& columns, std::int64_t i,
              std::int64_t j) {
  float sum = 0;
  for (std::int64_t a = 0; a < rows.samples; ++a) {
    for (std::int64_t b = 0; b < columns.samples; ++b) {
      sum += SampleOfMap(image, data[2], data[3], rows.At(i, a), columns.At(j, b));
    }
  }
  return sum / static_cast<float>(std::max<std::int64_t>(1, rows.samples * columns.samples));
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<RoiParam>();
  const Shape &data = in[0].shape(), &shape = out[0].shape();
  const std::vector<float> x = Numbers<float>(in[0]), rois = Numbers<float>(in[1]);
  std::vector<float> y(out[0].size(), 0);
  const kernels::RoiAlign work = WorkOf(p, data, in[1].shape());
  auto to = y.begin();
  for (const float* roi = rois.data(); to != y.end(); roi += 5) {
    if (!(roi[0] < static_cast<float>(data[0]))) FailAt(node, "there is no image {}", roi[0]);
    const RoiBins rows(work, roi[2], roi[4], shape[2], data[2]), columns(work, roi[1], roi[3], shape[3], data[3]);
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      for (std::int64_t i = 0; i < shape[2]; ++i) {
        for (std::int64_t j = 0; j < shape[3]; ++j, ++to) {
          const std::int64_t channel = p.position_sensitive ? (c * shape[2] + i) * shape[3] + j : c;
          if (!(roi[0] >= 0)) continue;
          const std::int64_t image = static_cast<std::int64_t>(roi[0]) * data[1] + channel;
          *to = Average(x.data() + image * data[2] * data[3], data, rows, columns, i, j);
        }
      }
    }
  }
  Store(y, out[0]);
}

bool Lower(LowerContext& c) {
  const kernels::RoiAlign work = WorkOf(c.node().params<RoiParam>(), c.in_type(0).shape, c.in_type(1).shape);
  const auto run = [work, where = c.node().Describe()](const KernelOperands& operands) {
    const auto* rois = static_cast<const float*>(operands.input(1));
    for (std::int64_t i = 0; i < work.regions; ++i) {
      const float image = rois[i * 5];
      if (!(image < static_cast<float>(work.images))) Throw<GraphError>("{}: there is no image {}", where, image);
    }
    work.Run(static_cast<const float*>(operands.input(0)), rois, static_cast<float*>(operands.output()),
             operands.scratch());
  };
  return LowerInFloat32(c, {"roi_align", run, work.ScratchBytes()});
}

ParamSchema<RoiParam> Schema() {
  return ParamSchema<RoiParam>()
      .Required("pooled_size", &RoiParam::pooled_size, "Height and width of the output.")
      .Required("spatial_scale", &RoiParam::spatial_scale, "From regions' units to those of maps.")
      .Optional("sample_ratio", &RoiParam::sample_ratio, "Samples of a bin along an axis; below 1: by size.")
      .Range(-1e9, 64)
      .Optional("position_sensitive", &RoiParam::position_sensitive, "Each bin has channels of its own.")
      .Optional("aligned", &RoiParam::aligned, "Pixels are half a unit further left and up.");
}

// ---- the gradient of the data; regions have none ----

// Adds the gradient of a sample to the elements that it was made of.
void AddSample(double* image, std::int64_t height, std::int64_t width, float y, float x, double gradient) {
  if (!(y >= -1 && y <= static_cast<float>(height) && x >= -1 && x <= static_cast<float>(width))) return;
  y = std::clamp(y, 0.f, static_cast<float>(height - 1));
  x = std::clamp(x, 0.f, static_cast<float>(width - 1));
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double down = static_cast<double>(y) - static_cast<double>(top);
  const double across = static_cast<double>(x) - static_cast<double>(left);
  image[top * width + left] += (1 - down) * (1 - across) * gradient;
  image[top * width + right] += (1 - down) * across * gradient;
  image[bottom * width + left] += down * (1 - across) * gradient;
  image[bottom * width + right] += down * across * gradient;
}

void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<RoiParam>();
  const Shape &data = out[0].shape(), &shape = in[0].shape();
  const std::vector<double> dy = Numbers<double>(in[0]);
  const std::vector<float> rois = Numbers<float>(in[2]);
  std::vector<double> dx(static_cast<std::size_t>(out[0].size()), 0);
  const kernels::RoiAlign work = WorkOf(p, data, in[2].shape());
  auto from = dy.begin();
  for (const float* roi = rois.data(); from != dy.end(); roi += 5) {
    if (!(roi[0] < static_cast<float>(data[0]))) FailAt(node, "there is no image {}", roi[0]);
    const RoiBins rows(work, roi[2], roi[4], shape[2], data[2]), columns(work, roi[1], roi[3], shape[3], data[3]);
    const auto samples = static_cast<double>(std::max<std::int64_t>(1, rows.samples * columns.samples));
    for (std::int64_t k = 0; k < shape[1] * shape[2] * shape[3]; ++k, ++from) {
      const std::int64_t c = k / (shape[2] * shape[3]), i = k / shape[3] % shape[2], j = k % shape[3];
      if (!(roi[0] >= 0)) continue;
      const std::int64_t image = static_cast<std::int64_t>(roi[0]) * data[1] + (p.position_sensitive ? k : c);
      for (std::int64_t a = 0; a < rows.samples * columns.samples; ++a) {
        AddSample(dx.data() + image * data[2] * data[3], data[2], data[3], rows.At(i, a / columns.samples),
                  columns.At(j, a % columns.samples), *from / samples);
      }
    }
  }
  Store(dx, out[0]);
}

[[maybe_unused]] const auto kBackward =
    RegisterOp<RoiParam>("_backward_ROIAlign")
        .Doc("The gradient of the data of _contrib_ROIAlign.")
        .Params(Schema(), Validate)
        .Inputs({"gradient", "data", "rois"})
        .Set(ShapeRule{[](ShapeRelation& r) { InferRegionGradient(r, InferShape); }})
        .Set(DTypeRule{InferRegionGradientDTypes})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIgnored, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {  // the operator is linear in its data
          c.Set(0, c.Call("_contrib_ROIAlign", {c.gradient(), c.in(2)}, c.attrs()));
        }})
        .Set(ReferenceKernel{BackwardReference});

[[maybe_unused]] const auto kCard =
    RegisterOp<RoiParam>("_contrib_ROIAlign")
        .Doc("Averages of samples in regions (image, left, top, right, bottom) of feature maps (N, C, H, W).")
        .Params(Schema(), Validate)
        .Inputs({"data", "rois"})
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferRegionDTypes})
        .Set(AmpFacts{Arithmetic::kElementwise, {SlotRole::kData, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_ROIAlign", {c.gradient(), c.in(0), c.in(1)}, c.attrs()));
        }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::roi_align
