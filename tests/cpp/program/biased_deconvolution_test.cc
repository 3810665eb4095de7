#include "program/layer_kernels/biased_deconvolution.h"

#include <gtest/gtest.h>

#include "nnvm/short_dtypes.h"

namespace amp {
namespace {

using kernels::MapOp;
using testing::kBF16;
using testing::kF32;

// A deconvolution of 4 channels to 3 that doubles the size of an image, and a step that reads its sums.
struct Finish {
  Program program;
  ValueId x, w, sums, bias, image, result;
  Step deconvolution;

  explicit Finish(DType written = kBF16) {
    x = program.AddValue({kBF16, {2, 4, 5, 6}}, "x", ValueSource::kInput);
    w = program.AddValue({kBF16, {3, 4, 4, 4}}, "w", ValueSource::kConstant);
    bias = program.AddValue({kF32, {1, 3, 1, 1}}, "bias", ValueSource::kConstant);
    image = program.AddValue({kBF16, {2, 3, 10, 12}}, "image", ValueSource::kInput);
    sums = program.AddValue({kF32, {2, 3, 10, 12}}, "sums", ValueSource::kComputed);
    result = program.AddValue({written, {2, 3, 10, 12}}, "result", ValueSource::kComputed);
    deconvolution = {DeconvolutionSpec{{2, 2}, {0, 0}, {1, 1}, {1, 1}}, {x, w}, {sums}, 1, ""};
    deconvolution.fused = {4};
  }

  std::optional<Step> By(StepSpec spec, std::vector<ValueId> inputs, std::vector<PostOp> post_ops = {}) const {
    Step reader{std::move(spec), std::move(inputs), {result}, 2, ""};
    reader.post_ops = std::move(post_ops);
    reader.fused = {3};
    return BiasedDeconvolution(deconvolution, reader, program);
  }
};

TEST(BiasedDeconvolution, WithABiasAndRelu) {
  const Finish f(kF32);
  const auto step = f.By(BinarySpec{BinaryKind::kAdd}, {f.sums, f.bias}, {{EltwiseSpec{EltwiseKind::kRelu}}});
  ASSERT_TRUE(step);
  EXPECT_TRUE(std::holds_alternative<DeconvolutionSpec>(step->spec));
  EXPECT_EQ(step->inputs, (std::vector<ValueId>{f.x, f.w, f.bias}));
  EXPECT_EQ(step->outputs, std::vector<ValueId>{f.result});
  EXPECT_EQ(step->node, 2u);
  EXPECT_EQ(step->fused, (std::vector<NodeId>{3, 1, 4}));
  ASSERT_EQ(step->post_ops.size(), 1u);
  EXPECT_EQ(std::get<EltwiseSpec>(step->post_ops[0].spec).kind, EltwiseKind::kRelu);
}

// A map that adds the bias and an image, bends, and rounds to bfloat16.
TEST(BiasedDeconvolution, WithAMap) {
  const Finish f;
  const MapSpec map{
      {{MapOp::kAdd, 1, 0}, {MapOp::kAdd, 3, 2}, {MapOp::kRelu, 4, 0, 0, 0.25f}, {MapOp::kRelu, 5, 0, 0, 1}}};
  const auto step = f.By(map, {f.sums, f.bias, f.image});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->inputs, (std::vector<ValueId>{f.x, f.w, f.bias, f.image}));
  ASSERT_EQ(step->post_ops.size(), 2u);
  EXPECT_EQ(std::get<BinarySpec>(step->post_ops[0].spec).kind, BinaryKind::kAdd);
  EXPECT_EQ(step->post_ops[0].operand, 3u);
  EXPECT_EQ(std::get<EltwiseSpec>(step->post_ops[1].spec).alpha, 0.25f);
}

TEST(BiasedDeconvolution, WithACast) {
  const Finish f;
  const auto step = f.By(CastSpec{}, {f.sums});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->inputs, (std::vector<ValueId>{f.x, f.w}));
  EXPECT_TRUE(step->post_ops.empty());
}

TEST(BiasedDeconvolution, NotWithOtherWork) {
  Finish f;
  EXPECT_FALSE(f.By(BinarySpec{BinaryKind::kMul}, {f.sums, f.bias}));
  EXPECT_FALSE(f.By(BinarySpec{BinaryKind::kAdd}, {f.sums, f.sums}));
  EXPECT_FALSE(f.By(BinarySpec{BinaryKind::kAdd}, {f.bias, f.sums}));
  EXPECT_FALSE(f.By(EltwiseSpec{EltwiseKind::kTanh}, {f.sums}));
  EXPECT_FALSE(f.By(MapSpec{{{MapOp::kAdd, 0, 2}, {MapOp::kAdd, 3, 1}}}, {f.sums, f.bias, f.image}));  // a bias behind
  EXPECT_FALSE(f.By(MapSpec{{{MapOp::kRelu, 1}, {MapOp::kAdd, 0, 2}}}, {f.sums, f.bias}));
  EXPECT_FALSE(f.By(MapSpec{{{MapOp::kClip, 0, 0, 0, 0, 6}, {MapOp::kAdd, 0, 2}}}, {f.sums, f.bias}));
  f.deconvolution.inputs.push_back(f.bias);
  EXPECT_FALSE(f.By(CastSpec{}, {f.sums}));
}

// They would be rounded no more.
TEST(BiasedDeconvolution, NotOfRoundedSums) {
  Finish f;
  f.program.values[f.sums].type.dtype = kBF16;
  EXPECT_FALSE(f.By(BinarySpec{BinaryKind::kAdd}, {f.sums, f.bias}));
}

TEST(BiasedDeconvolution, NotOfAnotherShape) {
  Finish f;
  f.program.values[f.result].type.shape = {2, 2, 3, 10, 12};
  EXPECT_FALSE(f.By(BinarySpec{BinaryKind::kAdd}, {f.sums, f.bias}));
}

}  // namespace
}  // namespace amp
