// Boxes of detections: _contrib_box_decode, _contrib_box_iou, _contrib_box_nms.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/vision/box_decode.h"
#include "kernels/vision/box_iou.h"
#include "kernels/vision/box_nms.h"
#include "ops/common/float32_kernel.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::box {
namespace {

// Left, top, right and bottom; or the middle, width and height.
using Box = std::array<float, 4>;

Box ToCorners(const Box& b) { return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2}; }
Box ToCenter(const Box& b) { return {(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1]}; }

struct DecodeParam {
  double std0 = 1, std1 = 1, std2 = 1, std3 = 1;
  double clip = -1;
  std::string format = "center";
};

kernels::BoxDecode WorkOf(const DecodeParam& p, const Shape& boxes) {
  kernels::BoxDecode work;
  work.images = boxes[0];
  work.count = boxes[1];
  work.scales = {static_cast<float>(p.std0), static_cast<float>(p.std1), static_cast<float>(p.std2),
                 static_cast<float>(p.std3)};
  work.clip = static_cast<float>(p.clip);
  work.corner_anchors = p.format == "corner";
  return work;
}

void DecodeReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const kernels::BoxDecode work = WorkOf(node.params<DecodeParam>(), in[0].shape());
  const std::vector<float> codes = Numbers<float>(in[0]), anchors = Numbers<float>(in[1]);
  std::vector<float> boxes(codes.size());
  for (std::size_t i = 0; i < boxes.size(); i += 4) {
    work.Decode(codes.data() + i, anchors.data() + i % anchors.size(), boxes.data() + i);
  }
  Store(boxes, out[0]);
}

bool LowerDecode(LowerContext& c) {
  const kernels::BoxDecode work = WorkOf(c.node().params<DecodeParam>(), c.in_type(0).shape);
  const auto run = [work](const KernelOperands& operands) {
    work.Run(static_cast<const float*>(operands.input(0)), static_cast<const float*>(operands.input(1)),
             static_cast<float*>(operands.output()));
  };
  return LowerInFloat32(c, {"box_decode", run});
}

[[maybe_unused]] const auto kDecode =
    RegisterOp<DecodeParam>("_contrib_box_decode")
        .Alias("_npx_box_decode")
        .Doc("Corners of boxes (B, N, 4) that are given relative to anchors (1, N, 4).")
        .Params(ParamSchema<DecodeParam>()
                    .Optional("std0", &DecodeParam::std0, "Scale of x.")
                    .Optional("std1", &DecodeParam::std1, "Scale of y.")
                    .Optional("std2", &DecodeParam::std2, "Scale of the width's logarithm.")
                    .Optional("std3", &DecodeParam::std3, "Scale of the height's logarithm.")
                    .Optional("clip", &DecodeParam::clip, "Limit of these logarithms; not above 0: none.")
                    .Optional("format", &DecodeParam::format, "Of the anchors.")
                    .OneOf({"center", "corner"}))
        .Inputs({"data", "anchors"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(0, Shape{kUnknownDim, kUnknownDim, 4});
          r.In(1, Shape{1, r.in(0)[1], 4});
          r.In(0, Shape{kUnknownDim, r.in(1)[1], 4});
          r.Out(0, r.in(0));
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ZeroGradient{"MXNet lets none through"})
        .Set(ReferenceKernel{DecodeReference})
        .Set(KernelRule{LowerDecode});

struct IouParam {
  std::string format = "corner";
};

kernels::BoxIou WorkOf(const IouParam& p, const Shape& lhs, const Shape& rhs) {
  return {lhs.SizeOf(0, lhs.rank() - 1), rhs.SizeOf(0, rhs.rank() - 1), p.format == "center"};
}

void InferIou(ShapeRelation& r) {
  std::vector<std::int64_t> dims;
  for (int i = 0; i < 2; ++i) {
    const Shape& boxes = r.in(i);
    if (!boxes.fully_known()) return;
    if (boxes.rank() == 0 || boxes[boxes.rank() - 1] != 4) {
      FailAt(r.node(), "expected boxes (..., 4), got {}", boxes.ToString());
    }
    dims.insert(dims.end(), boxes.dims().begin(), boxes.dims().end() - 1);
  }
  if (dims.empty()) dims.push_back(1);
  r.Out(0, Shape(dims));
}

void IouReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const kernels::BoxIou work = WorkOf(node.params<IouParam>(), in[0].shape(), in[1].shape());
  const std::vector<float> a = Numbers<float>(in[0]), b = Numbers<float>(in[1]);
  std::vector<float> y;
  for (std::int64_t i = 0; i < work.rows; ++i) {
    for (std::int64_t j = 0; j < work.columns; ++j) y.push_back(work.Of(a.data() + i * 4, b.data() + j * 4));
  }
  Store(y, out[0]);
}

bool LowerIou(LowerContext& c) {
  const kernels::BoxIou work = WorkOf(c.node().params<IouParam>(), c.in_type(0).shape, c.in_type(1).shape);
  const auto run = [work](const KernelOperands& operands) {
    work.Run(static_cast<const float*>(operands.input(0)), static_cast<const float*>(operands.input(1)),
             static_cast<float*>(operands.output()));
  };
  return LowerInFloat32(c, {"box_iou", run});
}

[[maybe_unused]] const auto kIou =
    RegisterOp<IouParam>("_contrib_box_iou")
        .Alias("_npx_box_iou")
        .Doc("Intersection over union of each box of lhs (..., 4) with each box of rhs (..., 4).")
        .Params(
            ParamSchema<IouParam>().Optional("format", &IouParam::format, "Of the boxes.").OneOf({"corner", "center"}))
        .Inputs({"lhs", "rhs"})
        .Set(ShapeRule{InferIou})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ConstantRange({0, 1}))
        .Set(ZeroGradient{"MXNet lets none through"})
        .Set(ReferenceKernel{IouReference})
        .Set(KernelRule{LowerIou});

struct NmsParam {
  double overlap_thresh = 0.5;
  double valid_thresh = 0;
  std::int64_t topk = -1;
  std::int64_t coord_start = 2;
  std::int64_t score_index = 1;
  std::int64_t id_index = -1;
  std::int64_t background_id = -1;
  bool force_suppress = false;
  std::string in_format = "corner";
  std::string out_format = "corner";
};

void InferNms(ShapeRelation& r) {
  r.AllSame();
  if (!r.in(0).rank_known()) return;
  const Shape& data = r.in(0);
  if (data.rank() < 2) FailAt(r.node(), "expected data (..., boxes, values), got {}", data.ToString());
  const auto& p = r.node().params<NmsParam>();
  const std::int64_t width = data[data.rank() - 1];
  if (width >= 0 && (p.coord_start > width - 4 || p.score_index >= width || p.id_index >= width)) {
    FailAt(r.node(), "coord_start {}, score_index {} or id_index {} lies outside of the {} values of a box",
           p.coord_start, p.score_index, p.id_index, width);
  }
}

double Overlap(const Box& a, const Box& b) {
  const auto area = [](const Box& x) { return std::max(0.f, x[2] - x[0]) * std::max(0.f, x[3] - x[1]); };
  const float both = area({std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]), std::min(a[3], b[3])});
  const float either = area(a) + area(b) - both;
  return either > 0 ? both / either : 0;
}

// The boxes of one image, `width` values each.
class Boxes {
 public:
  Boxes(const NmsParam& p, const float* rows, std::size_t width) : p_(p), rows_(rows), width_(width) {}

  // Rows in order of their scores, those that are suppressed left out.
  std::vector<std::size_t> Kept(std::size_t count) const {
    std::vector<std::size_t> kept;
    for (const std::size_t row : Candidates(count)) {
      const auto suppresses = [&](std::size_t other) {
        return Rivals(row, other) && Overlap(Corners(row), Corners(other)) > p_.overlap_thresh;
      };
      if (std::none_of(kept.begin(), kept.end(), suppresses)) kept.push_back(row);
    }
    return kept;
  }

  Box Corners(std::size_t row) const {
    Box box;
    for (std::size_t i = 0; i < 4; ++i) box[i] = Value(row, p_.coord_start + static_cast<std::int64_t>(i));
    return p_.in_format == "center" ? ToCorners(box) : box;
  }

 private:
  float Value(std::size_t row, std::int64_t column) const {
    return rows_[row * width_ + static_cast<std::size_t>(column)];
  }
  float Score(std::size_t row) const { return Value(row, p_.score_index); }
  bool Rivals(std::size_t a, std::size_t b) const {
    return p_.force_suppress || p_.id_index < 0 || Value(a, p_.id_index) == Value(b, p_.id_index);
  }
  bool IsBackground(std::size_t row) const {
    return p_.id_index >= 0 && Value(row, p_.id_index) == static_cast<float>(p_.background_id);
  }

  std::vector<std::size_t> Candidates(std::size_t count) const {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < count; ++row) {
      if (Score(row) > static_cast<float>(p_.valid_thresh) && !IsBackground(row)) rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return Score(a) > Score(b); });
    if (p_.topk > 0 && static_cast<std::size_t>(p_.topk) < rows.size()) rows.resize(p_.topk);
    return rows;
  }

  const NmsParam& p_;
  const float* rows_;
  std::size_t width_;
};

void NmsReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<NmsParam>();
  if (p.topk == 0) return CopyElements(in[0], out[0]);
  const Shape& shape = in[0].shape();
  const auto count = static_cast<std::size_t>(shape[shape.rank() - 2]);
  const auto width = static_cast<std::size_t>(shape[shape.rank() - 1]);
  const std::vector<float> x = Numbers<float>(in[0]);
  std::vector<float> y(x.size(), -1);
  for (std::size_t first = 0; first < x.size(); first += count * width) {
    const Boxes boxes(p, x.data() + first, width);
    float* to = y.data() + first;
    for (const std::size_t row : boxes.Kept(count)) {
      std::copy_n(x.data() + first + row * width, width, to);
      const Box box = p.out_format == "center" ? ToCenter(boxes.Corners(row)) : boxes.Corners(row);
      if (p.in_format != p.out_format) std::copy_n(box.begin(), 4, to + p.coord_start);
      to += width;
    }
  }
  Store(y, out[0]);
}

// Inputs: gradient, data. Each row's gradient goes to the box that it holds.
void BackwardNmsReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<NmsParam>();
  if (p.topk == 0) return CopyElements(in[0], out[0]);
  const Shape& shape = in[1].shape();
  const auto count = static_cast<std::size_t>(shape[shape.rank() - 2]);
  const auto width = static_cast<std::size_t>(shape[shape.rank() - 1]);
  const std::vector<float> dy = Numbers<float>(in[0]), x = Numbers<float>(in[1]);
  std::vector<float> dx(x.size(), 0);
  for (std::size_t first = 0; first < x.size(); first += count * width) {
    const float* from = dy.data() + first;
    for (const std::size_t row : Boxes(p, x.data() + first, width).Kept(count)) {
      std::copy_n(from, width, dx.data() + first + row * width);
      from += width;
    }
  }
  Store(dx, out[0]);
}

kernels::BoxNms WorkOf(const NmsParam& p, const Shape& shape) {
  kernels::BoxNms work;
  work.images = shape.SizeOf(0, shape.rank() - 2);
  work.count = shape[shape.rank() - 2];
  work.width = shape[shape.rank() - 1];
  work.coord_start = p.coord_start;
  work.score_index = p.score_index;
  work.id_index = p.id_index;
  work.background_id = p.background_id;
  work.topk = p.topk;
  work.overlap_thresh = p.overlap_thresh;
  work.valid_thresh = static_cast<float>(p.valid_thresh);
  work.force_suppress = p.force_suppress;
  work.from_center = p.in_format == "center";
  work.to_center = p.out_format == "center";
  return work;
}

bool LowerNms(LowerContext& c) {
  const auto& p = c.node().params<NmsParam>();
  const kernels::BoxNms work = WorkOf(p, c.in_type(0).shape);
  if (p.topk == 0 || work.count > kernels::BoxNms::kMaxCount) return false;
  const auto run = [work](const KernelOperands& operands) {
    work.Run(static_cast<const float*>(operands.input(0)), static_cast<float*>(operands.output()), operands.scratch());
  };
  return LowerInFloat32(c, {"box_nms", run, work.ScratchBytes()});
}

ParamSchema<NmsParam> NmsSchema() {
  return ParamSchema<NmsParam>()
      .Optional("overlap_thresh", &NmsParam::overlap_thresh, "Intersection over union that suppresses.")
      .Optional("valid_thresh", &NmsParam::valid_thresh, "Scores up to here do not count.")
      .Optional("topk", &NmsParam::topk, "How many of the best count; below 0: all; 0: data as it is.")
      .Optional("coord_start", &NmsParam::coord_start, "Place of the first of four coordinates.")
      .Range(0, 1 << 20)
      .Optional("score_index", &NmsParam::score_index, "Place of the score.")
      .Range(0, 1 << 20)
      .Optional("id_index", &NmsParam::id_index, "Place of the class; below 0: there is none.")
      .Optional("background_id", &NmsParam::background_id, "A class that does not count.")
      .Optional("force_suppress", &NmsParam::force_suppress, "Boxes of other classes suppress, too.")
      .Optional("in_format", &NmsParam::in_format, "Of the data's coordinates.")
      .OneOf({"corner", "center"})
      .Optional("out_format", &NmsParam::out_format, "Of the output's coordinates.")
      .OneOf({"corner", "center"});
}

[[maybe_unused]] const auto kBackwardNms =
    RegisterOp<NmsParam>("_backward_box_nms")
        .Doc("The gradient of box_nms's data: as in MXNet, coordinates count as if they had one format.")
        .Params(NmsSchema())
        .Inputs({"gradient", "data"})
        .Set(ShapeRule{InferNms})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(NoGradient{"second derivatives of suppression are not implemented"})
        .Set(ReferenceKernel{BackwardNmsReference});

[[maybe_unused]] const auto kNms =
    RegisterOp<NmsParam>("_contrib_box_nms")
        .Alias("_contrib_box_non_maximum_suppression")
        .Alias("_npx_box_nms")
        .Doc("Boxes in order of their scores, without those that overlap a better one; rows of -1 behind them.")
        .Params(NmsSchema())
        .Inputs({"data"})
        .Outputs({"output0"})
        .Set(ShapeRule{InferNms})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_backward_box_nms", {c.gradient(), c.in(0)}, c.attrs()));
        }})
        .Set(ReferenceKernel{NmsReference})
        .Set(KernelRule{LowerNms});

}  // namespace
}  // namespace amp::box
