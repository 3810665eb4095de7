// _contrib_MultiBoxTarget: what a single-shot detector is to predict at each anchor.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/common/float_tuple.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/range_rule.h"
#include "program/reference.h"

namespace amp::multibox_target {
namespace {

struct TargetParam {
  double overlap_threshold = 0.5;
  double ignore_label = -1;
  double negative_mining_ratio = -1;
  double negative_mining_thresh = 0.5;
  FloatTuple variances{{0.1, 0.1, 0.2, 0.2}};
};

void Validate(TargetParam& p) {
  if (p.variances.values.size() != 4) throw GraphError("attribute variances: expected four values");
  if (p.negative_mining_ratio > 0 && !(p.negative_mining_thresh > 0)) {
    throw GraphError("attribute negative_mining_thresh: expected a value above 0 beside negative_mining_ratio");
  }
}

float Overlap(const float* a, const float* b) {
  const float width = std::max(0.f, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const float height = std::max(0.f, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const float both = width * height;
  const float either = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
  return either == 0 ? 0 : both / either;
}

// The targets of one image: `objects` rows of `width` numbers begin with the class and the corners of a box.
class Matching {
 public:
  Matching(const std::vector<float>& anchors, const float* objects, std::int64_t count, std::int64_t width)
      : anchors_(anchors), objects_(objects), count_(count), width_(width), matches_(anchors.size() / 4) {}

  const float* Object(std::int64_t i) const { return objects_ + i * width_; }

  struct Match {
    float overlap = -1;
    std::int64_t object = -1;
    bool is_positive = false, is_negative = false;
  };
  const std::vector<Match>& matches() const { return matches_; }

  // Each object gets the anchor that it overlaps most, the greatest overlap first.
  void MatchObjects() {
    std::vector<bool> is_matched(static_cast<std::size_t>(count_), false);
    for (std::int64_t round = 0; round < count_; ++round) {
      float greatest = 1e-6f;
      Match* best = nullptr;
      for (std::size_t j = 0; j < matches_.size(); ++j) {
        if (matches_[j].is_positive) continue;
        for (std::int64_t k = 0; k < count_; ++k) {
          const float overlap = is_matched[static_cast<std::size_t>(k)] ? -1 : OverlapOf(j, k);
          if (!(overlap > greatest)) continue;
          greatest = overlap;
          best = &matches_[j];
          best->object = k;
        }
      }
      if (best == nullptr) return;
      best->overlap = greatest;
      best->is_positive = true;
      is_matched[static_cast<std::size_t>(best->object)] = true;
    }
  }

  // All other anchors get the object that they overlap most; they are positive above the threshold.
  void MatchAnchors(float threshold) {
    for (std::size_t j = 0; j < matches_.size(); ++j) {
      Match& match = matches_[j];
      if (match.is_positive) continue;
      match.overlap = -1;
      for (std::int64_t k = 0; k < count_; ++k) {
        const float overlap = OverlapOf(j, k);
        if (overlap > match.overlap) match = {overlap, k};
      }
      match.is_positive = threshold > 0 && match.overlap > threshold;
    }
  }

  // The anchors that are least likely background, up to `ratio` times the number of positive ones, are negative.
  template <class Likely>
  void MineNegatives(float ratio, float threshold, const Likely& background) {
    const auto positive = std::count_if(matches_.begin(), matches_.end(), [](const Match& m) { return m.is_positive; });
    std::vector<std::size_t> candidates;
    for (std::size_t j = 0; j < matches_.size(); ++j) {
      if (!matches_[j].is_positive && matches_[j].overlap < threshold) candidates.push_back(j);
    }
    std::vector<float> likely(matches_.size());
    for (const std::size_t j : candidates) likely[j] = background(j);
    const auto is_harder = [&likely](std::size_t a, std::size_t b) { return likely[a] < likely[b]; };
    std::stable_sort(candidates.begin(), candidates.end(), is_harder);
    const auto most = static_cast<std::size_t>(static_cast<float>(positive) * ratio);
    candidates.resize(std::min(candidates.size(), most));
    for (const std::size_t j : candidates) matches_[j].is_negative = true;
  }

  void AllOthersAreNegative() {
    for (Match& match : matches_) match.is_negative = !match.is_positive;
  }

 private:
  float OverlapOf(std::size_t anchor, std::int64_t object) const {
    return Overlap(anchors_.data() + anchor * 4, Object(object) + 1);
  }

  const std::vector<float>& anchors_;
  const float* objects_;
  std::int64_t count_, width_;
  std::vector<Match> matches_;
};

// Where the box lies relative to the anchor, in units of the variances.
void Encode(const float* anchor, const float* box, const std::vector<double>& variances, float* code) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const float size = anchor[axis + 2] - anchor[axis], middle = (anchor[axis] + anchor[axis + 2]) / 2;
    const float box_size = box[axis + 2] - box[axis], box_middle = (box[axis] + box[axis + 2]) / 2;
    code[axis] = (box_middle - middle) / size / static_cast<float>(variances[axis]);
    code[axis + 2] = std::log(box_size / size) / static_cast<float>(variances[axis + 2]);
  }
}

// The probability of class 0 at an anchor; `scores` are those of an image, (classes, anchors).
float Background(const float* scores, std::int64_t classes, std::int64_t anchors) {
  float largest = scores[0], sum = 0;
  for (std::int64_t k = 1; k < classes; ++k) largest = std::max(largest, scores[k * anchors]);
  for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(scores[k * anchors] - largest);
  return std::exp(scores[0] - largest) / sum;
}

struct Targets {
  std::vector<float> codes, mask, classes;
};

void WriteTargets(const TargetParam& p, const std::vector<float>& anchors, const Matching& matching, std::size_t first,
                  Targets* targets) {
  for (std::size_t j = 0; j < matching.matches().size(); ++j) {
    const Matching::Match& match = matching.matches()[j];
    const std::size_t at = first + j;
    if (match.is_negative) targets->classes[at] = 0;
    if (!match.is_positive) continue;
    const float* object = matching.Object(match.object);
    targets->classes[at] = object[0] + 1;
    std::fill_n(targets->mask.begin() + static_cast<std::ptrdiff_t>(at * 4), 4, 1.f);
    Encode(anchors.data() + j * 4, object + 1, p.variances.values, targets->codes.data() + at * 4);
  }
}

// Objects end at the first row of class -1.
std::int64_t NumObjects(const float* rows, std::int64_t count, std::int64_t width) {
  std::int64_t found = 0;
  while (found < count && rows[found * width] != -1) ++found;
  return found;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<TargetParam>();
  const Shape &labels = in[1].shape(), &scores = in[2].shape();
  const std::vector<float> anchors = Numbers<float>(in[0]), rows = Numbers<float>(in[1]), x = Numbers<float>(in[2]);
  const std::size_t count = anchors.size() / 4, images = static_cast<std::size_t>(labels[0]);
  Targets targets{std::vector<float>(images * count * 4, 0.f), std::vector<float>(images * count * 4, 0.f),
                  std::vector<float>(images * count, static_cast<float>(p.ignore_label))};
  for (std::size_t image = 0; image < images; ++image) {
    const float* objects = rows.data() + image * static_cast<std::size_t>(labels[1] * labels[2]);
    const std::int64_t found = NumObjects(objects, labels[1], labels[2]);
    if (found == 0) continue;
    Matching matching(anchors, objects, found, labels[2]);
    matching.MatchObjects();
    matching.MatchAnchors(static_cast<float>(p.overlap_threshold));
    if (p.negative_mining_ratio > 0) {
      const float* own = x.data() + image * static_cast<std::size_t>(scores[1] * scores[2]);
      matching.MineNegatives(static_cast<float>(p.negative_mining_ratio), static_cast<float>(p.negative_mining_thresh),
                             [&](std::size_t j) { return Background(own + j, scores[1], scores[2]); });
    } else {
      matching.AllOthersAreNegative();
    }
    WriteTargets(p, anchors, matching, image * count, &targets);
  }
  const std::vector<float>* results[] = {&targets.codes, &targets.mask, &targets.classes};
  for (std::size_t i = 0; i < 3; ++i) {
    if (out[i].defined()) Store(*results[i], out[i]);
  }
}

void InferShape(ShapeRelation& r) {
  r.In(0, Shape{1, kUnknownDim, 4});
  r.In(1, Shape{kUnknownDim, kUnknownDim, kUnknownDim});
  r.In(2, Shape{r.in(1)[0], kUnknownDim, r.in(0)[1]});
  r.In(1, Shape{r.in(2)[0], kUnknownDim, kUnknownDim});
  r.In(0, Shape{1, r.in(2)[2], 4});
  if (r.in(1)[2] >= 0 && r.in(1)[2] < 5) {
    FailAt(r.node(), "expected label (N, objects, 5 or more), got shape {}", r.in(1).ToString());
  }
  const std::int64_t images = r.in(1)[0], anchors = r.in(0)[1];
  for (int i = 0; i < 2; ++i) r.Out(i, Shape{images, anchors < 0 ? kUnknownDim : anchors * 4});
  r.Out(2, Shape{images, anchors});
}

[[maybe_unused]] const auto kCard =
    RegisterOp<TargetParam>("_contrib_MultiBoxTarget")
        .Alias("_npx_multibox_target")
        .Doc(
            "Of each image: codes of boxes relative to anchors (N, anchors * 4), a mask of those that count, and\n"
            "classes (N, anchors): 0 is background. label (N, objects, 5 or more): class, corners; class -1 ends it.")
        .Params(ParamSchema<TargetParam>()
                    .Optional("overlap_threshold", &TargetParam::overlap_threshold,
                              "Anchors with a greater overlap have a target; not above 0: only the best ones.")
                    .Optional("ignore_label", &TargetParam::ignore_label, "Class of anchors that do not count.")
                    .Optional("negative_mining_ratio", &TargetParam::negative_mining_ratio,
                              "Anchors of background for each one with an object; not above 0: all others.")
                    .Optional("negative_mining_thresh", &TargetParam::negative_mining_thresh,
                              "Only anchors with a smaller overlap become background then.")
                    .Ignored("minimum_negative_samples")
                    .Optional("variances", &TargetParam::variances, "Units of the codes."),
                Validate)
        .Inputs({"anchor", "label", "cls_pred"})
        .Outputs({"loc_target", "loc_mask", "cls_target"})
        .VisibleOutputs([](const TargetParam&) { return 3; })
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
        .Set(AllInputs(Sensitivity::kDiscontinuous))
        .Set(ZeroGradient{"targets are constants"})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::multibox_target
