// Rows of what detectors learn from, of counting and positions, and of MXNet's small functions.
#include "draw.h"

namespace amp::testing {
namespace {

InputCase Floats(Random& random, Shape shape) { return {{random.Type(FloatTypes()), std::move(shape)}}; }

// Exact: one implementation serves both backends.
OpCase Same(std::vector<InputCase> inputs, AttrMap attrs = {}) {
  return {std::move(attrs), std::move(inputs), {}, Truth::kSameBits};
}

OpCase DrawQuadratic(Random& random) {
  OpCase c{{}, {Floats(random, random.Sizes(static_cast<int>(random.Int(0, 4)), 6))}, {0, 16, 256}};
  for (const char* name : {"a", "b", "c"}) Maybe(random, &c.attrs, name, random.Of({"1", "-0.5", "2"}));
  return c;
}

OpCase DrawGradientMultiplier(Random& random) {
  OpCase c = Same({{{random.Type(AllTypes()), random.Sizes(2, 6)}, Values::kWide}});
  Maybe(random, &c.attrs, "scalar", random.Of({"-1", "0.5"}));
  return c;
}

OpCase DrawAllFinite(Random& random) {
  return Same({{{random.Type(FloatTypes()), random.Sizes(2, 3)}, random.Of({Values::kPlain, Values::kWide})}});
}

OpCase DrawMultiAllFinite(Random& random) {
  OpCase c = Same({});
  const std::int64_t count = random.Int(1, 4);
  for (std::int64_t i = 0; i < count; ++i) c.inputs.push_back(DrawAllFinite(random).inputs[0]);
  c.attrs["num_arrays"] = PrintAttr(count);
  return c;
}

OpCase DrawAllClose(Random& random) {
  const InputCase one{{random.Type(FloatTypes()), random.Sizes(2, 2)}, Values::kWide};
  OpCase c = Same({one, one});
  Maybe(random, &c.attrs, "rtol", random.Of({"0.1", "1"}));
  Maybe(random, &c.attrs, "atol", random.Of({"0.5", "5"}));
  Maybe(random, &c.attrs, "equal_nan", Flag(random));
  return c;
}

DType IndexType(Random& random) { return random.Of({DType::kInt32, DType::kInt64, DType::kFloat32}); }

OpCase DrawRavel(Random& random) {
  const int axes = static_cast<int>(random.Int(1, 3));
  std::vector<std::int64_t> dims = random.Sizes(static_cast<int>(random.Int(0, 2)), 4).dims();
  dims.insert(dims.begin(), axes);
  return Same({{{IndexType(random), Shape(dims)}, Values::kLengths}},
              {{"shape", PrintAttr(Tuple(random, axes, 1, 12))}});
}

OpCase DrawUnravel(Random& random) {
  return Same({{{IndexType(random), random.Sizes(static_cast<int>(random.Int(1, 3)), 4)}, Values::kLengths}},
              {{"shape", PrintAttr(Tuple(random, static_cast<int>(random.Int(1, 3)), 1, 5))}});
}

OpCase DrawIndexArray(Random& random) {
  const int rank = static_cast<int>(random.Int(1, 4));
  OpCase c = Same({{{random.Type(AllTypes()), random.Sizes(rank, 4)}}});
  Maybe(random, &c.attrs, "axes", PrintAttr(IntTuple{AnyAxis(random, rank), AnyAxis(random, rank)}));
  return c;
}

OpCase DrawIndexCopy(Random& random) {
  const DType dtype = random.Type(AllTypes());
  const std::int64_t size = random.Int(1, 4), count = random.Int(0, 5);
  return Same({{{dtype, Shape{12, size}}, Values::kWide},
               {{random.Of({DType::kInt32, DType::kInt64}), Shape{count}}, Values::kLengths},
               {{dtype, Shape{count, size}}, Values::kWide}});
}

OpCase DrawIndexUpdate(Random& random) {
  const DType dtype =
      random.Chance(0.5) ? random.Type(FloatTypes()) : random.Of({DType::kInt32, DType::kInt64, DType::kUInt8});
  const std::int64_t size = random.Int(1, 4), count = random.Int(1, 5);
  const Shape value = random.Of({Shape{count, size}, Shape{1, size}, Shape{size}, Shape{count, 1}, Shape{1}});
  return Same({{{dtype, Shape{12, size}}},
               {{random.Of({DType::kInt32, DType::kInt64}), Shape{1, count}}, Values::kLengths},
               {{dtype, value}}});
}

OpCase DrawHistogram(Random& random) {
  return Same({{{random.Type(FloatTypes()), random.Sizes(2, 6)}, Values::kWide}},
              {{"bin_cnt", PrintAttr(random.Int(1, 6))}, {"range", random.Of({"(-2, 2)", "(0.5, 3)"})}});
}

OpCase DrawSoftmaxCrossEntropy(Random& random) {
  const std::int64_t rows = random.Int(1, 5);
  return {{},
          {Floats(random, Shape{rows, random.Int(1, 9)}), {{IndexType(random), Shape{rows}}, Values::kLengths}},
          {0, 256, 1 << 12}};
}

OpCase DrawMultiBoxTarget(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t anchors = random.Int(1, 9), images = random.Int(1, 3);
  OpCase c = Same({{{dtype, Shape{1, anchors, 4}}},
                   {{dtype, Shape{images, random.Int(1, 3), random.Int(5, 6)}}},
                   {{dtype, Shape{images, random.Int(1, 4), anchors}}}});
  Maybe(random, &c.attrs, "overlap_threshold", random.Of({"0.1", "0.5", "-1"}));
  Maybe(random, &c.attrs, "negative_mining_ratio", random.Of({"-1", "1", "3"}));
  Maybe(random, &c.attrs, "negative_mining_thresh", "0.4");
  Maybe(random, &c.attrs, "variances", "(0.5, 0.5, 1, 1)");
  Maybe(random, &c.attrs, "ignore_label", "-2");
  return c;
}

OpCase DrawBipartiteMatching(Random& random) {
  OpCase c = Same({Floats(random, random.Sizes(static_cast<int>(random.Int(2, 3)), 5))},
                  {{"threshold", random.Of({"0.5", "-1", "1e-12"})}});
  Maybe(random, &c.attrs, "is_ascend", Flag(random));
  Maybe(random, &c.attrs, "topk", PrintAttr(random.Int(-1, 3)));
  return c;
}

OpCase DrawBoxEncode(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t images = random.Int(1, 3), anchors = random.Int(1, 5);
  const Shape places{images, anchors};
  return Same({{{dtype, places}},
               {{dtype, places}, Values::kPositive},
               {{dtype, Shape{images, anchors, 4}}},
               {{dtype, Shape{images, random.Int(1, 5), 4}}},
               {{dtype, Shape{4}}},
               {{dtype, Shape{4}}, Values::kPositive}});
}

OpCase DrawCorrelation(Random& random) {
  const InputCase one = Floats(random, Shape{random.Int(1, 2), random.Int(1, 3), random.Int(8, 10), random.Int(8, 10)});
  OpCase c{{}, {one, one}, {32, 16, 64}};
  Maybe(random, &c.attrs, "kernel_size", random.Of({"1", "3"}));
  Maybe(random, &c.attrs, "max_displacement", PrintAttr(random.Int(0, 2)));
  Maybe(random, &c.attrs, "stride1", PrintAttr(random.Int(1, 2)));
  Maybe(random, &c.attrs, "stride2", PrintAttr(random.Int(1, 2)));
  Maybe(random, &c.attrs, "pad_size", PrintAttr(random.Int(0, 2)));
  Maybe(random, &c.attrs, "is_multiply", Flag(random));
  if (c.attrs.contains("is_multiply")) c.error = {0, 16, 1 << 12};
  return c;
}

// Images are smaller than a feature.
OpCase DrawProposals(Random& random, std::int64_t images) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t height = random.Int(1, 5), width = random.Int(1, 5);
  OpCase c = Same({{{dtype, Shape{images, 4, height, width}}},
                   {{dtype, Shape{images, 8, height, width}}},
                   {{dtype, Shape{images, 3}}, Values::kFractions}},
                  {{"scales", "(1, 2)"}, {"ratios", "(0.5,)"}});
  c.attrs["rpn_post_nms_top_n"] = PrintAttr(random.Int(1, 9));
  Maybe(random, &c.attrs, "rpn_pre_nms_top_n", random.Of({"0", "3"}));
  Maybe(random, &c.attrs, "threshold", random.Of({"0", "0.3"}));
  Maybe(random, &c.attrs, "rpn_min_size", random.Of({"0", "1"}));
  Maybe(random, &c.attrs, "output_score", Flag(random));
  Maybe(random, &c.attrs, "iou_loss", Flag(random));
  return c;
}
OpCase DrawProposal(Random& random) { return DrawProposals(random, 1); }
OpCase DrawMultiProposal(Random& random) { return DrawProposals(random, random.Int(1, 3)); }

OpCase DrawPsRoiPooling(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t channels = random.Int(1, 3), size = random.Int(1, 3), group = random.Int(0, 3);
  const std::int64_t maps = channels * (group == 0 ? size * size : group * group);
  OpCase c{{}, {}, {64, 64, 1 << 12}};
  c.inputs = {{{dtype, Shape{5, maps, random.Int(1, 9), random.Int(1, 9)}}},  // values up to 4 name images
              {{DType::kFloat32, Shape{random.Size(5), 5}}, Values::kPositive}};
  c.attrs = {{"spatial_scale", random.Of({"1", "0.5"})},
             {"output_dim", PrintAttr(channels)},
             {"pooled_size", PrintAttr(size)}};
  if (group > 0) c.attrs["group_size"] = PrintAttr(group);
  return c;
}

// Lengths and marks of kLengths: some are below 0.
OpCase DrawHawkes(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t samples = random.Int(0, 3), processes = 12, events = random.Int(0, 5);
  const auto of = [&](Shape shape, Values values = Values::kPositive) {
    return InputCase{{dtype, std::move(shape)}, values};
  };
  return Same({of({samples, processes}),
               of({processes}),
               of({processes}),
               of({samples, processes}),
               of({samples, events}),
               {{DType::kInt32, Shape{samples, events}}, Values::kLengths},
               of({samples}, Values::kLengths),
               of({samples})});
}

// An array with so many values of a window or of a head, and another one; dilations are 1 or more.
OpCase DrawSeen(Random& random, bool of_weights) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t w = random.Int(0, 3), batch = random.Int(1, 2), positions = random.Int(1, 6);
  const std::int64_t heads = random.Int(1, 2), size = random.Int(1, 4);
  const bool symmetric = random.Chance(0.5);
  const std::int64_t seen = symmetric ? 2 * w + 1 : w + 1;
  OpCase c = Same({{{dtype, Shape{batch, positions, heads, of_weights ? seen : size}}},
                   {{dtype, Shape{batch, positions, heads, size}}},
                   {{IndexType(random), Shape{heads}}, Values::kCounts}},
                  {{"w", PrintAttr(w)}, {"symmetric", symmetric ? "True" : "False"}});
  return c;
}
OpCase DrawSeenScores(Random& random) { return DrawSeen(random, false); }
OpCase DrawSeenSums(Random& random) { return DrawSeen(random, true); }

OpCase DrawSeenMask(Random& random) {
  OpCase c = DrawSeen(random, true);
  c.inputs[1] = c.inputs[2];
  c.inputs[2] = {{IndexType(random), Shape{c.inputs[0].type.shape[0]}}, Values::kLengths};
  return c;
}

}  // namespace

const std::vector<OpRow>& TargetOpRows() {
  static const std::vector<OpRow> rows{
      {"Correlation", DrawCorrelation},
      {"_contrib_MultiBoxTarget", DrawMultiBoxTarget},
      {"_contrib_PSROIPooling", DrawPsRoiPooling},
      {"_contrib_Proposal", DrawProposal},
      {"_contrib_MultiProposal", DrawMultiProposal},
      {"_contrib_allclose", DrawAllClose},
      {"_contrib_bipartite_matching", DrawBipartiteMatching},
      {"_contrib_box_encode", DrawBoxEncode},
      {"_contrib_gradientmultiplier", DrawGradientMultiplier},
      {"_contrib_index_array", DrawIndexArray},
      {"_contrib_index_copy", DrawIndexCopy},
      {"_contrib_quadratic", DrawQuadratic},
      {"_contrib_hawkesll", DrawHawkes},
      {"_contrib_sldwin_atten_context", DrawSeenSums},
      {"_contrib_sldwin_atten_mask_like", DrawSeenMask},
      {"_contrib_sldwin_atten_score", DrawSeenScores},
      {"_histogram", DrawHistogram},
      {"_npx_index_add", DrawIndexUpdate},
      {"_npx_index_update", DrawIndexUpdate},
      {"_ravel_multi_index", DrawRavel},
      {"_sldwin_atten_transposed", DrawSeenSums},
      {"_unravel_index", DrawUnravel},
      {"all_finite", DrawAllFinite},
      {"multi_all_finite", DrawMultiAllFinite},
      {"softmax_cross_entropy", DrawSoftmaxCrossEntropy},
  };
  return rows;
}

}  // namespace amp::testing
