// Anchors and detections of single-shot detectors: _contrib_MultiBoxPrior, _contrib_MultiBoxDetection.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/vision/multibox_detection.h"
#include "ops/common/float32_kernel.h"
#include "ops/common/float_tuple.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::multibox {
namespace {

// ---- anchors ----

struct PriorParam {
  FloatTuple sizes{{1}}, ratios{{1}};
  bool clip = false;
  FloatTuple steps{{-1, -1}}, offsets{{0.5, 0.5}};
};

void ValidatePrior(PriorParam& p) {
  if (p.sizes.values.empty() || p.ratios.values.empty()) throw GraphError("sizes and ratios must not be empty");
  for (const double ratio : p.ratios.values) {
    if (!(ratio > 0)) Throw<GraphError>("attribute ratios: {} is not above 0", ratio);
  }
  if (p.steps.values.size() != 2 || p.offsets.values.size() != 2) {
    throw GraphError("steps and offsets: expected two values, down and across");
  }
}

std::int64_t NumAnchors(const PriorParam& p) { return std::ssize(p.sizes.values) + std::ssize(p.ratios.values) - 1; }

// Half the height of the k-th anchor of a place, and half its width in units of the height.
std::array<float, 2> HalfSize(const PriorParam& p, std::size_t k) {
  const bool varies_size = k < p.sizes.values.size();
  const auto size = static_cast<float>(p.sizes.values[varies_size ? k : 0]);
  const auto ratio = static_cast<float>(p.ratios.values[varies_size ? 0 : k - p.sizes.values.size() + 1]);
  const float root = std::sqrt(ratio);
  return {size / root / 2, size * root / 2};
}

void PriorReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<PriorParam>();
  const std::int64_t height = in[0].shape()[2], width = in[0].shape()[3];
  const auto aspect = static_cast<float>(height) / static_cast<float>(width);
  const auto place = [&](std::int64_t position, std::size_t axis, std::int64_t size) {
    const auto given = static_cast<float>(p.steps.values[axis]);
    const float step = given > 0 ? given : 1.f / static_cast<float>(size);
    return (static_cast<float>(position) + static_cast<float>(p.offsets.values[axis])) * step;
  };
  std::vector<float> boxes;
  for (std::int64_t i = 0; i < height * width; ++i) {
    const float down = place(i / width, 0, height), across = place(i % width, 1, width);
    for (std::size_t k = 0; k < static_cast<std::size_t>(NumAnchors(p)); ++k) {
      const std::array<float, 2> half = HalfSize(p, k);
      const float beside = half[1] * aspect;
      boxes.insert(boxes.end(), {across - beside, down - half[0], across + beside, down + half[0]});
    }
  }
  if (p.clip) {
    for (float& value : boxes) value = std::clamp(value, 0.f, 1.f);
  }
  Store(boxes, out[0]);
}

[[maybe_unused]] const auto kPrior =
    RegisterOp<PriorParam>("_contrib_MultiBoxPrior")
        .Alias("_npx_multibox_prior")
        .Doc(
            "Corners (1, H * W * anchors, 4) of anchors around each place of data (N, C, H, W), in units of the image.")
        .Params(ParamSchema<PriorParam>()
                    .Optional("sizes", &PriorParam::sizes, "Anchors of these sizes have the first ratio.")
                    .Optional("ratios", &PriorParam::ratios, "Width to height; those behind the first: first size.")
                    .Optional("clip", &PriorParam::clip, "Corners are cut to [0, 1].")
                    .Optional("steps", &PriorParam::steps, "Between places, down and across; not above 0: even.")
                    .Optional("offsets", &PriorParam::offsets, "Of the first place in steps, down and across."),
                ValidatePrior)
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(0, Shape{kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim});
          const Shape& data = r.in(0);
          if (data[2] < 0 || data[3] < 0) return;
          r.Out(0, Shape{1, data[2] * data[3] * NumAnchors(r.node().params<PriorParam>()), 4});
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ZeroGradient{"it depends on the shape alone"})
        .Set(ReadsShapesOnly{})
        .Set(ReferenceKernel{PriorReference})
        .Set(ValuesOfReference());

// ---- detections ----

struct DetectionParam {
  bool clip = true;
  double threshold = 0.01;
  std::int64_t background_id = 0;
  double nms_threshold = 0.5;
  bool force_suppress = false;
  FloatTuple variances{{0.1, 0.1, 0.2, 0.2}};
  std::int64_t nms_topk = -1;
};

void ValidateDetection(DetectionParam& p) {
  if (p.variances.values.size() != 4) throw GraphError("attribute variances: expected four values");
}

kernels::MultiBoxDetection WorkOf(const DetectionParam& p, const Shape& probabilities) {
  kernels::MultiBoxDetection work;
  work.images = probabilities[0];
  work.classes = probabilities[1];
  work.anchors = probabilities[2];
  work.threshold = static_cast<float>(p.threshold);
  work.nms_threshold = static_cast<float>(p.nms_threshold);
  work.topk = p.nms_topk;
  work.clip = p.clip;
  work.force_suppress = p.force_suppress;
  for (std::size_t i = 0; i < 4; ++i) work.variances[i] = static_cast<float>(p.variances.values[i]);
  return work;
}

using Row = std::array<float, 6>;  // class, probability, corners

std::vector<Row> Candidates(const kernels::MultiBoxDetection& work, const float* x, const float* codes,
                            const float* anchors) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < work.anchors; ++i) {
    std::int64_t best = 0;
    float score = -1;
    for (std::int64_t c = 1; c < work.classes; ++c) {
      if (x[c * work.anchors + i] > score) score = x[(best = c) * work.anchors + i];
    }
    if (best == 0 || score < work.threshold) continue;
    Row row{static_cast<float>(best - 1), score};
    work.Decode(codes + i * 4, anchors + i * 4, row.data() + 2);
    rows.push_back(row);
  }
  return rows;
}

// Sorted, and -1 as the class of what is suppressed; of those beyond topk in any case, which stay where they are.
void Suppress(const kernels::MultiBoxDetection& work, std::vector<Row>* rows) {
  if (!(work.nms_threshold > 0 && work.nms_threshold <= 1)) return;
  std::vector<Row> sorted = *rows;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) { return a[1] > b[1]; });
  const std::size_t kept = work.topk > 0 ? std::min(sorted.size(), static_cast<std::size_t>(work.topk)) : sorted.size();
  std::copy_n(sorted.begin(), kept, rows->begin());
  for (std::size_t i = 0; i < rows->size(); ++i) {
    Row& row = (*rows)[i];
    if (i >= kept) row[0] = -1;
    for (std::size_t k = 0; k < i && row[0] >= 0; ++k) {
      const Row& better = (*rows)[k];
      const bool rivals = better[0] >= 0 && (work.force_suppress || better[0] == row[0]);
      if (rivals && work.Overlap(better.data() + 2, row.data() + 2) >= work.nms_threshold) row[0] = -1;
    }
  }
}

void DetectionReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const kernels::MultiBoxDetection work = WorkOf(node.params<DetectionParam>(), in[0].shape());
  const std::vector<float> x = Numbers<float>(in[0]), codes = Numbers<float>(in[1]), anchors = Numbers<float>(in[2]);
  std::vector<float> y(out[0].size(), -1);
  for (std::int64_t n = 0; n < work.images; ++n) {
    std::vector<Row> rows = Candidates(work, x.data() + n * work.classes * work.anchors,
                                       codes.data() + n * work.anchors * 4, anchors.data());
    Suppress(work, &rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy(rows[i].begin(), rows[i].end(), y.begin() + n * work.anchors * 6 + static_cast<std::ptrdiff_t>(i) * 6);
    }
  }
  Store(y, out[0]);
}

bool LowerDetection(LowerContext& c) {
  const kernels::MultiBoxDetection work = WorkOf(c.node().params<DetectionParam>(), c.in_type(0).shape);
  if (work.anchors >= std::int64_t{1} << 31) return false;
  const auto run = [work](const KernelOperands& operands) {
    work.Run(static_cast<const float*>(operands.input(0)), static_cast<const float*>(operands.input(1)),
             static_cast<const float*>(operands.input(2)), static_cast<float*>(operands.output()), operands.scratch());
  };
  return LowerInFloat32(c, {"multibox_detection", run, work.ScratchBytes()});
}

void InferDetection(ShapeRelation& r) {
  r.In(0, Shape{kUnknownDim, kUnknownDim, kUnknownDim});
  const Shape& data = r.in(0);
  if (data[1] == 0) FailAt(r.node(), "expected a class at least, got cls_prob of shape {}", data.ToString());
  r.In(1, Shape{data[0], data[2] < 0 ? kUnknownDim : data[2] * 4});
  r.In(2, Shape{1, data[2], 4});
  r.Out(0, Shape{data[0], data[2], 6});
}

[[maybe_unused]] const auto kDetection =
    RegisterOp<DetectionParam>("_contrib_MultiBoxDetection")
        .Alias("_npx_multibox_detection")
        .Doc(
            "Detections (N, A, 6), class, probability and corners, of cls_prob (N, classes, A), codes loc_pred (N, A * "
            "4)\n"
            "and corners of anchors (1, A, 4). Class 0 is the background; -1: suppressed or none.")
        .Params(
            ParamSchema<DetectionParam>()
                .Optional("clip", &DetectionParam::clip, "Corners are cut to [0, 1].")
                .Optional("threshold", &DetectionParam::threshold, "Probabilities below are none.")
                .Optional("background_id", &DetectionParam::background_id, "Of no effect: it is class 0.")
                .Optional("nms_threshold", &DetectionParam::nms_threshold,
                          "Intersection over union; outside (0, 1]: none.")
                .Optional("force_suppress", &DetectionParam::force_suppress, "Boxes of other classes suppress, too.")
                .Optional("variances", &DetectionParam::variances, "Factors of the codes.")
                .Optional("nms_topk", &DetectionParam::nms_topk, "How many of the best count; below 1: all."),
            ValidateDetection)
        .Inputs({"cls_prob", "loc_pred", "anchor"})
        .Set(ShapeRule{InferDetection})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ZeroGradient{"MXNet lets none through"})
        .Set(ReferenceKernel{DetectionReference})
        .Set(KernelRule{LowerDetection});

}  // namespace
}  // namespace amp::multibox
