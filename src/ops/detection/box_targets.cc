// What detectors learn from: _contrib_bipartite_matching, _contrib_box_encode.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/range_rule.h"
#include "program/reference.h"

namespace amp::box_targets {
namespace {

// ---- matching ----

struct MatchingParam {
  double threshold = 0;
  bool is_ascend = false;
  std::int64_t topk = -1;
};

// Pairs of a row and a column of one score table, the best first. MXNet takes one pair more than topk.
void MatchTable(const MatchingParam& p, const float* scores, std::int64_t rows, std::int64_t columns, float* of_row,
                float* of_column) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows * columns));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return p.is_ascend ? scores[a] < scores[b] : scores[a] > scores[b];
  });
  std::fill_n(of_row, rows, -1.f);
  std::fill_n(of_column, columns, -1.f);
  const auto threshold = static_cast<float>(p.threshold);
  std::int64_t count = 0;
  for (const std::int64_t place : order) {
    const std::int64_t row = place / columns, column = place % columns;
    if (of_row[row] != -1 || of_column[column] != -1) continue;
    if (!(p.is_ascend ? scores[place] < threshold : scores[place] > threshold)) return;
    of_row[row] = static_cast<float>(column);
    of_column[column] = static_cast<float>(row);
    if (p.topk > 0 && ++count > p.topk) return;
  }
}

void MatchingReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = in[0].shape();
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  const std::int64_t tables = shape.SizeOf(0, shape.rank() - 2);
  const std::vector<float> scores = Numbers<float>(in[0]);
  std::vector<float> of_rows(static_cast<std::size_t>(tables * rows));
  std::vector<float> of_columns(static_cast<std::size_t>(tables * columns));
  for (std::int64_t i = 0; i < tables; ++i) {
    MatchTable(node.params<MatchingParam>(), scores.data() + i * rows * columns, rows, columns,
               of_rows.data() + i * rows, of_columns.data() + i * columns);
  }
  if (out[0].defined()) Store(of_rows, out[0]);
  if (out[1].defined()) Store(of_columns, out[1]);
}

[[maybe_unused]] const auto kMatching =
    RegisterOp<MatchingParam>("_contrib_bipartite_matching")
        .Alias("_npx_bipartite_matching")
        .Doc(
            "Pairs rows and columns of scores (..., rows, columns), the best score first: the column of each row\n"
            "(..., rows) and the row of each column (..., columns), -1 where there is none.")
        .Params(ParamSchema<MatchingParam>()
                    .Required("threshold", &MatchingParam::threshold, "Scores have to be better.")
                    .Optional("is_ascend", &MatchingParam::is_ascend, "Small scores are better.")
                    .Optional("topk", &MatchingParam::topk, "Ends behind so many pairs and one more; below 1: never."))
        .Inputs({"data"})
        .Outputs({"rows", "columns"})
        .VisibleOutputs([](const MatchingParam&) { return 2; })
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).rank_known()) return;
          const int rank = r.in(0).rank();
          if (rank < 2) FailAt(r.node(), "expected scores (..., rows, columns), got shape {}", r.in(0).ToString());
          std::vector<std::int64_t> of_rows = r.in(0).dims(), of_columns = of_rows;
          of_rows.erase(of_rows.end() - 1);
          of_columns.erase(of_columns.end() - 2);
          r.Out(0, Shape(of_rows));
          r.Out(1, Shape(of_columns));
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
        .Set(AllInputs(Sensitivity::kDiscontinuous))
        .Set(ZeroGradient{"it gives positions"})
        .Set(ReferenceKernel{MatchingReference});

// ---- codes ----

void InferEncode(ShapeRelation& r) {
  r.In(0, Shape{kUnknownDim, kUnknownDim});
  r.In(2, Shape{r.in(0)[0], r.in(0)[1], 4});
  r.In(0, Shape{r.in(2)[0], r.in(2)[1]});
  r.In(1, r.in(0));
  r.In(3, Shape{r.in(0)[0], kUnknownDim, 4});
  for (int i = 4; i < 6; ++i) r.In(i, Shape{4});
  for (int i = 0; i < 2; ++i) r.Out(i, r.in(2));
  if (r.in(3)[1] == 0) FailAt(r.node(), "there are no boxes to match");
}

void Encode(const float* anchor, const float* box, const std::vector<float>& means, const std::vector<float>& stds,
            float* code) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const float size = anchor[axis + 2] - anchor[axis], box_size = box[axis + 2] - box[axis];
    const float middle = anchor[axis] + size / 2, box_middle = box[axis] + box_size / 2;
    code[axis] = ((box_middle - middle) / size - means[axis]) / stds[axis];
    code[axis + 2] = (std::log(box_size / size) - means[axis + 2]) / stds[axis + 2];
  }
}

void EncodeReference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::vector<float> samples = Numbers<float>(in[0]), anchors = Numbers<float>(in[2]),
                           refs = Numbers<float>(in[3]);
  const std::vector<float> means = Numbers<float>(in[4]), stds = Numbers<float>(in[5]);
  const std::vector<std::int64_t> matches = Numbers<std::int64_t>(in[1]);
  const std::int64_t count = in[2].shape()[1], boxes = in[3].shape()[1];
  std::vector<float> codes(anchors.size(), 0.f), mask(anchors.size(), 0.f);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!(samples[i] > 0.5f)) continue;
    const std::int64_t match = std::clamp<std::int64_t>(matches[i], 0, boxes - 1);
    const std::int64_t box = static_cast<std::int64_t>(i) / count * boxes + match;
    std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(i * 4), 4, 1.f);
    Encode(anchors.data() + i * 4, refs.data() + box * 4, means, stds, codes.data() + i * 4);
  }
  if (out[0].defined()) Store(codes, out[0]);
  if (out[1].defined()) Store(mask, out[1]);
}

[[maybe_unused]] const auto kEncode =
    RegisterOp<NoParam>("_contrib_box_encode")
        .Alias("_npx_box_encode")
        .Doc(
            "Where boxes refs (B, M, 4) lie relative to anchors (B, N, 4), all as corners: codes (B, N, 4) of the box\n"
            "that matches (B, N) names where samples (B, N) is 1, and a mask of the same shape; elsewhere both are 0.")
        .Inputs({"samples", "matches", "anchors", "refs", "means", "stds"})
        .Outputs({"targets", "masks"})
        .VisibleOutputs([](const NoParam&) { return 2; })
        .Set(ShapeRule{InferEncode})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kIndex, SlotRole::kIndex}})
        .Set(ZeroGradient{"targets are constants"})
        .Set(ReferenceKernel{EncodeReference});

}  // namespace
}  // namespace amp::box_targets
