// _contrib_Proposal, _contrib_MultiProposal: regions of images in which a detector looks for objects.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/reduce/radix_sort.h"
#include "kernels/vision/box_nms.h"
#include "ops/common/float_tuple.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/range_rule.h"
#include "program/reference.h"

namespace amp::proposal {
namespace {

struct ProposalParam {
  std::int64_t rpn_pre_nms_top_n = 6000, rpn_post_nms_top_n = 300, rpn_min_size = 16, feature_stride = 16;
  double threshold = 0.7;
  FloatTuple scales{{4, 8, 16, 32}}, ratios{{0.5, 1, 2}};
  bool output_score = false, iou_loss = false;
};

void Validate(ProposalParam& p) {
  for (const auto& [name, tuple] : {std::pair{"scales", &p.scales}, std::pair{"ratios", &p.ratios}}) {
    const auto is_positive = [](double value) { return std::isfinite(value) && value > 0; };
    if (tuple->values.empty() || !std::all_of(tuple->values.begin(), tuple->values.end(), is_positive)) {
      throw GraphError(fmt::format("attribute {}: expected positive numbers", name));
    }
  }
}

std::int64_t NumAnchors(const ProposalParam& p) {
  return static_cast<std::int64_t>(p.scales.values.size() * p.ratios.values.size());
}

void InferShape(ShapeRelation& r, bool of_many) {
  const auto& p = r.node().params<ProposalParam>();
  r.In(0, Shape{of_many ? kUnknownDim : 1, 2 * NumAnchors(p), kUnknownDim, kUnknownDim});
  const Shape scores = r.in(0);
  r.In(1, Shape{scores[0], 4 * NumAnchors(p), scores[2], scores[3]});
  const Shape codes = r.in(1);
  r.In(0, Shape{codes[0], scores[1], codes[2], codes[3]});
  r.In(2, Shape{r.in(0)[0], 3});
  const std::int64_t images = r.in(0)[0], count = images < 0 ? kUnknownDim : images * p.rpn_post_nms_top_n;
  r.Out(0, Shape{count, 5});
  r.Out(1, Shape{count, 1});
}

// Left, top, right and bottom: the last pixels that belong to it.
using Box = std::array<float, 4>;

// Boxes around a pixel of features at (0, 0), by ratio and scale.
std::vector<Box> Anchors(const ProposalParam& p) {
  std::vector<Box> anchors;
  const auto size = static_cast<float>(p.feature_stride);
  const float center = 0.5f * (size - 1);
  for (const double r : p.ratios.values) {
    for (const double s : p.scales.values) {
      const auto ratio = static_cast<float>(r), scale = static_cast<float>(s);
      const float width = std::floor(std::sqrt(std::floor(size * size / ratio)) + 0.5f) * scale;
      const float height = std::floor(width / scale * ratio + 0.5f) * scale;
      const float x = 0.5f * (width - 1), y = 0.5f * (height - 1);
      anchors.push_back({center - x, center - y, center + x, center + y});
    }
  }
  return anchors;
}

// What is predicted relative to an anchor: its middle and the logarithms of its size, or its corners.
Box Decode(const Box& anchor, const Box& code, bool of_corners) {
  if (of_corners) return {anchor[0] + code[0], anchor[1] + code[1], anchor[2] + code[2], anchor[3] + code[3]};
  const float width = anchor[2] - anchor[0] + 1, height = anchor[3] - anchor[1] + 1;
  const float x = code[0] * width + anchor[0] + 0.5f * (width - 1);
  const float y = code[1] * height + anchor[1] + 0.5f * (height - 1);
  const auto half = [](float log, float size) {
    return 0.5f * (static_cast<float>(std::exp(static_cast<double>(log))) * size - 1);
  };
  const float across = half(code[2], width), down = half(code[3], height);
  return {x - across, y - down, x + across, y + down};
}

// Boxes of one image in order of their scores; for what overlaps, right and bottom are the first pixels behind them.
struct Ranked {
  std::vector<Box> box;
  std::vector<float> left, top, right, bottom, area, id, score;
  std::vector<std::int32_t> is_left_out;

  explicit Ranked(std::size_t count)
      : box(count),
        left(count),
        top(count),
        right(count),
        bottom(count),
        area(count),
        id(count),
        score(count),
        is_left_out(count) {}

  void Set(std::size_t i, const Box& at, float with_score) {
    box[i] = at;
    left[i] = at[0];
    top[i] = at[1];
    right[i] = at[2] + 1;
    bottom[i] = at[3] + 1;
    area[i] = (right[i] - left[i]) * (bottom[i] - top[i]);
    score[i] = with_score;
  }
  kernels::RankedBoxes boxes() {
    return {left.data(), top.data(), right.data(), bottom.data(), area.data(), id.data(), is_left_out.data()};
  }
};

// One image: its features, and what the detector says of them.
class Image {
 public:
  // `info`: height and width of the image, and how many times it was enlarged.
  Image(const Node& node, const Shape& codes, const float* scores, const float* code, const float* info)
      : node_(node),
        p_(node.params<ProposalParam>()),
        height_(codes[2]),
        width_(codes[3]),
        scores_(scores),
        code_(code),
        info_(info) {}

  // Rows (image, box) and scores of so many regions; they repeat where fewer are left.
  void Write(float image, float* rows, float* scores) const {
    Ranked ranked = Best();
    const std::vector<std::size_t> kept = WithoutOverlaps(&ranked);
    for (std::int64_t i = 0; i < p_.rpn_post_nms_top_n; ++i) {
      const std::size_t at = kept[static_cast<std::size_t>(i) % kept.size()];
      rows[5 * i] = image;
      std::copy_n(ranked.box[at].data(), 4, rows + 5 * i + 1);
      scores[i] = ranked.score[at];
    }
  }

 private:
  // Rows or columns of features that lie on the image, not on what it was padded with.
  std::int64_t SizeOn(float pixels, std::int64_t size, const char* what) const {
    const float features = pixels / static_cast<float>(p_.feature_stride);
    if (!(features < static_cast<float>(size + 1)))
      FailAt(node_, "im_info has a {} of {} pixels, which {} features do not cover", what, pixels, size);
    return static_cast<std::int64_t>(std::max(features, 0.f));
  }

  // Cut off at the borders; boxes that are too small, as MXNet leaves them, are so much larger.
  Box Finished(Box box, bool* counts) const {
    for (std::size_t i = 0; i < 4; ++i) box[i] = std::max(std::min(box[i], info_[i % 2 == 0 ? 1 : 0] - 1), 0.f);
    const float least = static_cast<float>(p_.rpn_min_size) * info_[2];
    *counts = !(box[2] - box[0] + 1 < least || box[3] - box[1] + 1 < least);
    if (!*counts) box = {box[0] - least / 2, box[1] - least / 2, box[2] + least / 2, box[3] + least / 2};
    return box;
  }

  // The boxes with the highest scores. Boxes that do not count have a score of -1.
  Ranked Best() const {
    const std::vector<Box> anchors = Anchors(p_);
    const auto num_anchors = static_cast<std::int64_t>(anchors.size()), plane = height_ * width_;
    const std::int64_t rows = SizeOn(info_[0], height_, "height"), columns = SizeOn(info_[1], width_, "width");
    std::vector<Box> boxes(static_cast<std::size_t>(num_anchors * plane));
    std::vector<float> scores(boxes.size());
    for (std::int64_t i = 0; i < num_anchors * plane; ++i) {
      const std::int64_t a = i % num_anchors, at = i / num_anchors, row = at / width_, column = at % width_;
      const auto x = static_cast<float>(column * p_.feature_stride), y = static_cast<float>(row * p_.feature_stride);
      const Box& base = anchors[static_cast<std::size_t>(a)];
      Box code;
      for (int k = 0; k < 4; ++k) code[static_cast<std::size_t>(k)] = code_[(4 * a + k) * plane + at];
      bool counts = true;
      const Box anchor{base[0] + x, base[1] + y, base[2] + x, base[3] + y};
      boxes[static_cast<std::size_t>(i)] = Finished(Decode(anchor, code, p_.iou_loss), &counts);
      counts = counts && row < rows && column < columns;
      scores[static_cast<std::size_t>(i)] = counts ? scores_[(num_anchors + a) * plane + at] : -1;
    }
    return InOrder(boxes, scores);
  }

  Ranked InOrder(const std::vector<Box>& boxes, const std::vector<float>& scores) const {
    std::vector<std::uint64_t> ranks(boxes.size()), spare(boxes.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = std::uint64_t{kernels::SortKeyOf(-scores[i])} << 32 | i;
    const auto all = static_cast<std::int64_t>(ranks.size());
    const std::int64_t chosen = p_.rpn_pre_nms_top_n > 0 ? std::min(p_.rpn_pre_nms_top_n, all) : all;
    kernels::SortByUpperHalf(ranks.data(), spare.data(), kernels::KeepSmallest(ranks.data(), all, chosen));
    Ranked ranked(static_cast<std::size_t>(chosen));
    for (std::size_t i = 0; i < static_cast<std::size_t>(chosen); ++i) {
      const std::size_t at = ranks[i] & 0xFFFFFFFFu;
      ranked.Set(i, boxes[at], scores[at]);
    }
    return ranked;
  }

  // At most as many as are asked for, each with no better one that it overlaps by more than the threshold.
  std::vector<std::size_t> WithoutOverlaps(Ranked* ranked) const {
    const std::size_t count = ranked->score.size();
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < count && kept.size() < static_cast<std::size_t>(p_.rpn_post_nms_top_n); ++i) {
      if (ranked->is_left_out[i]) continue;
      kept.push_back(i);
      kernels::BestTable<kernels::BoxNmsTable>().suppress(
          ranked->boxes(), static_cast<std::int64_t>(i), static_cast<std::int64_t>(i + 1),
          static_cast<std::int64_t>(count), static_cast<float>(p_.threshold), true);
    }
    return kept;
  }

  const Node& node_;
  const ProposalParam& p_;
  std::int64_t height_, width_;
  const float *scores_, *code_, *info_;
};

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<ProposalParam>();
  const std::vector<float> scores = Numbers<float>(in[0]), codes = Numbers<float>(in[1]), info = Numbers<float>(in[2]);
  const Shape& shape = in[1].shape();
  std::vector<float> rows(static_cast<std::size_t>(out[0].size())), found(rows.size() / 5);
  if (shape.size() == 0 && !rows.empty()) FailAt(node, "there are no features");
  if (shape.SizeOf(1, 4) / 4 > kernels::BoxNms::kMaxCount)
    FailAt(node, "more than {} anchors", kernels::BoxNms::kMaxCount);
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    const std::int64_t codes_of_image = shape.size() / shape[0], first = n * p.rpn_post_nms_top_n;
    const Image image(node, shape, scores.data() + n * codes_of_image / 2, codes.data() + n * codes_of_image,
                      info.data() + 3 * n);
    image.Write(static_cast<float>(n), rows.data() + 5 * first, found.data() + first);
  }
  Store(rows, out[0]);
  if (out[1].defined()) Store(found, out[1]);
}

ParamSchema<ProposalParam> Schema() {
  return ParamSchema<ProposalParam>()
      .Optional("rpn_pre_nms_top_n", &ProposalParam::rpn_pre_nms_top_n,
                "How many boxes with the highest scores are looked at; not above 0: all.")
      .Optional("rpn_post_nms_top_n", &ProposalParam::rpn_post_nms_top_n, "How many regions of an image are given.")
      .Range(1, 1 << 24)
      .Optional("threshold", &ProposalParam::threshold,
                "Intersection over union beyond which the box with the lower score is left out.")
      .Optional("rpn_min_size", &ProposalParam::rpn_min_size,
                "Least height and width, in pixels before the image was enlarged; smaller boxes come last.")
      .Range(0, 1 << 24)
      .Optional("scales", &ProposalParam::scales, "Sizes of anchors, in features.")
      .Optional("ratios", &ProposalParam::ratios, "Heights of anchors over their widths.")
      .Optional("feature_stride", &ProposalParam::feature_stride, "Pixels from one feature to the next.")
      .Range(1, 1 << 16)
      .Optional("output_score", &ProposalParam::output_score, "The scores are an output, too.")
      .Optional("iou_loss", &ProposalParam::iou_loss, "bbox_pred moves the corners of anchors, in pixels.");
}

void Register(const char* name, const char* doc, bool of_many) {
  RegisterOp<ProposalParam>(name)
      .Doc(doc)
      .Params(Schema(), Validate)
      .Inputs({"cls_prob", "bbox_pred", "im_info"})
      .Outputs({"output", "score"})
      .VisibleOutputs([](const ProposalParam& p) { return p.output_score ? 2 : 1; })
      .Set(ShapeRule{[of_many](ShapeRelation& r) { InferShape(r, of_many); }})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(AllInputs(Sensitivity::kDiscontinuous))
      .Set(ZeroGradient{"MXNet lets none through"})
      .Set(ReferenceKernel{Reference});
}

[[maybe_unused]] const bool kRegistered = [] {
  Register("_contrib_Proposal",
           "Regions (rpn_post_nms_top_n, 5) of one image in which objects may lie: 0, left, top, right, bottom.\n"
           "cls_prob (1, 2 A, H, W): of A anchors, that they are background, then that they are objects;\n"
           "bbox_pred (1, 4 A, H, W): boxes relative to anchors; im_info (1, 3): height, width and scale of the image.",
           false);
  Register("_contrib_MultiProposal",
           "Regions (N rpn_post_nms_top_n, 5) of each of N images, as of Proposal; they begin with the image's number.",
           true);
  return true;
}();

}  // namespace
}  // namespace amp::proposal
