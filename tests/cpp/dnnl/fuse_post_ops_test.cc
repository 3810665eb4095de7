// What melts into a primitive, and what must not. Each case is also run and compared with the plan that fuses nothing.
#include <gtest/gtest.h>

#include <cstdlib>

#include "dnnl/cpu_info.h"
#include "dnnl/models.h"

namespace amp::onednn {
namespace {

using namespace testing;

const TensorType kImage = F32({2, 16, 6, 6});

// A convolution of 16 channels over `data`, without a change of sizes.
Symbol SameSizeConv(TestModel* m, const std::string& name, const Symbol& data, int kernel = 1) {
  m->params.args[name + "_weight"] = Random({16, 16, kernel, kernel}, 7, kernel == 1 ? 0.25f : 0.08f);
  m->params.args[name + "_bias"] = Random({16}, 8, 0.2f);
  return Op("Convolution", name, {data, Var(name + "_weight"), Var(name + "_bias")},
            {{"kernel", kernel == 1 ? "(1, 1)" : "(3, 3)"},
             {"pad", kernel == 1 ? "(0, 0)" : "(1, 1)"},
             {"num_filter", "16"}});
}

Symbol Act(const std::string& name, const Symbol& data, const std::string& type = "relu") {
  return Op("Activation", name, {data}, {{"act_type", type}});
}

// Binds the model with and without FusePostOps, expects equal results, and gives the fused plan.
PlanSummary Fused(TestModel m, const Symbol& outputs, const BindOptions& options = Mode(NumericMode::kFast),
                  double tolerance = 1e-5) {
  m.symbol = outputs;
  for (const std::string& name : outputs.ListArguments()) {
    if (!m.params.args.contains(name)) m.types.try_emplace(name, kImage);
  }
  const auto fused = Bind(m, options);
  setenv("AMP_DISABLE_PASSES", "FusePostOps", 1);
  const auto plain = Bind(m, options);
  unsetenv("AMP_DISABLE_PASSES");
  const auto expected = plain->Run(InputsFor(*plain));
  fused->Run(InputsFor(*fused));
  const auto actual = fused->Run(InputsFor(*fused));  // nothing of the first run may be left in the second
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_LT(Distance(expected[i], actual[i]), tolerance) << i;
  return fused->summary();
}

int NumElementwise(const PlanSummary& s) {
  return CountKind(s, "eltwise") + CountKind(s, "binary") + CountKind(s, "prelu") + CountKind(s, "scale_shift");
}

TEST(FusePostOps, ActivationsMelt) {
  for (const char* type : {"relu", "sigmoid", "tanh", "softrelu", "mish", "log_sigmoid"}) {
    TestModel m;
    const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
    const PlanSummary s = Fused(m, Act("act", conv, type));
    EXPECT_EQ(NumElementwise(s), 0) << s.Print();
    EXPECT_CONTAINS(s.Print(), "conv + act");
  }
}

TEST(FusePostOps, LeakyFunctionsMelt) {
  for (const char* type : {"leaky", "elu", "gelu"}) {
    TestModel m;
    const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
    const PlanSummary s = Fused(m, Op("LeakyReLU", "act", {conv}, {{"act_type", type}}));
    EXPECT_EQ(NumElementwise(s), 0) << s.Print();
  }
  TestModel m;
  const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
  m.params.args["slope"] = Random({16}, 3, 0.3f);
  const PlanSummary s = Fused(m, Op("LeakyReLU", "act", {conv, Var("slope")}, {{"act_type", "prelu"}}));
  EXPECT_EQ(NumElementwise(s), 0) << s.Print();
}

// The slope is widened at bind time, and its original let go of: another plan finds what the first one made.
TEST(FusePostOps, PlansForOtherShapesShareWhatFusionMade) {
  TestModel m;
  m.types["x"] = kImage;
  m.params.args["slope"] = CastArray(Random({16}, 3, 0.3f), DType::kBFloat16);
  Symbol conv = SameSizeConv(&m, "conv", Op("amp_cast", "low", {Var("x")}, {{"dtype", "bfloat16"}}));
  for (const char* name : {"conv_weight", "conv_bias"})
    m.params.args[name] = CastArray(m.params.args[name], DType::kBFloat16);
  m.symbol = Op("LeakyReLU", "act", {conv, Var("slope")}, {{"act_type", "prelu"}});
  const auto first = Bind(m);
  const auto second = first->Reshape({{"x", Shape{1, 16, 9, 7}}});
  m.types["x"] = F32({1, 16, 9, 7});
  const auto fresh = Bind(m);
  ExpectSameBits(fresh->Run(InputsFor(*fresh))[0], second->Run(InputsFor(*second))[0]);
}

TEST(FusePostOps, GatesMelt) {
  TestModel m;
  const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
  EXPECT_EQ(NumElementwise(Fused(m, Op("elemwise_mul", "swish", {conv, Act("gate", conv, "sigmoid")}))), 0);
  Symbol gate = Op("_plus_scalar", "plus", {conv}, {{"scalar", "3"}});
  gate = Op("clip", "clip", {gate}, {{"a_min", "0"}, {"a_max", "6"}});
  gate = Op("_div_scalar", "div", {gate}, {{"scalar", "6"}});
  EXPECT_EQ(NumElementwise(Fused(m, Op("elemwise_mul", "hard_swish", {gate, conv}))), 0);
}

TEST(FusePostOps, AGateThatSomebodyElseReadsStaysApart) {
  TestModel m;
  const Symbol conv = SameSizeConv(&m, "conv", Var("x")), gate = Act("gate", conv, "sigmoid");
  const PlanSummary s = Fused(m, Symbol::Group({Op("elemwise_mul", "swish", {conv, gate}), gate}));
  EXPECT_EQ(NumElementwise(s), 2) << s.Print();
}

TEST(FusePostOps, AResidualIsAddedInPlace) {
  TestModel m;
  const Symbol left = SameSizeConv(&m, "left", Var("x")), right = SameSizeConv(&m, "right", Act("r", left), 3);
  const PlanSummary s = Fused(m, Act("out", Op("elemwise_add", "sum", {right, Act("l", left)})));
  EXPECT_EQ(CountKind(s, "binary"), 0) << s.Print();
}

// The summand is needed after the sum, or is an input, or the sum's own convolution reads it: still right.
// Such as a gradient that many steps of a loop add to.
TEST(FusePostOps, MoreSummandsThanAPrimitiveTakes) {
  TestModel m;
  Symbol sum = SameSizeConv(&m, "conv", Var("x"));
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    sum = Op("elemwise_add", "sum" + number, {sum, Var("y" + number)});
  }
  Fused(m, sum);
}

TEST(FusePostOps, ASummandThatIsNeededLaterIsNotOverwritten) {
  TestModel m;
  const Symbol x = Var("x");
  const Symbol left = Act("l", SameSizeConv(&m, "left", x)), right = SameSizeConv(&m, "right", left, 3);
  const Symbol sum = Op("elemwise_add", "sum", {right, left});
  Fused(m, Op("elemwise_mul", "out", {Act("s", sum), left}));
  Fused(m, Symbol::Group({Act("s", sum), left}));
  Fused(m, Op("elemwise_add", "with_input", {SameSizeConv(&m, "alone", x), x}));
  Fused(m, Op("elemwise_add", "twice", {left, left}));
}

TEST(FusePostOps, NothingIsFusedAcrossAnOutput) {
  TestModel m;
  const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
  const PlanSummary s = Fused(m, Symbol::Group({conv, Act("act", conv)}));
  EXPECT_EQ(CountKind(s, "eltwise"), 1) << s.Print();
}

TEST(FusePostOps, NothingMeltsThatHasASecondReader) {
  TestModel m;
  const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
  const Symbol both = Op("elemwise_mul", "both", {Act("a", conv, "tanh"), Act("b", conv)});
  const PlanSummary s = Fused(m, both);
  EXPECT_EQ(s.Print().find("conv + "), std::string::npos) << s.Print();
}

TEST(FusePostOps, BroadcastOperandsKeepTheirShape) {
  for (const Shape& shape : {Shape{1, 16, 1, 1}, Shape{2, 16, 1, 1}, Shape{1, 1, 6, 6}, Shape{2, 1, 6, 6}}) {
    for (const char* op : {"broadcast_add", "broadcast_mul", "broadcast_sub", "broadcast_maximum"}) {
      TestModel m;
      const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
      m.types["operand"] = F32(shape);
      Fused(m, Act("act", Op(op, "mixed", {conv, Var("operand")})));
    }
  }
  // What is broadcast is the convolution's own result.
  TestModel m;
  const Symbol pooled = Op("Pooling", "pool", {Var("x")}, {{"global_pool", "True"}, {"pool_type", "avg"}});
  const Symbol conv = SameSizeConv(&m, "conv", pooled);
  const PlanSummary s = Fused(m, Op("broadcast_mul", "scaled", {Var("y"), conv}));
  EXPECT_EQ(CountKind(s, "binary"), 1) << s.Print();
}

TEST(FusePostOps, SubtractionKeepsItsOrder) {
  TestModel m;
  const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
  Fused(m, Op("elemwise_sub", "minus", {conv, Var("y")}));
  const PlanSummary s = Fused(m, Op("elemwise_sub", "from", {Var("y"), conv}));
  EXPECT_EQ(CountKind(s, "binary"), 1) << s.Print();
}

// Weights in bfloat16 are not rounded again: the norm becomes two post-ops. Where oneDNN has no bfloat16, the product
// is float32 between casts, and the norm stays a step of its own, which reads bfloat16.
TEST(FusePostOps, ABatchNormBehindLowWeightsIsAScaleAndAShift) {
  TestModel m;
  Symbol conv = SameSizeConv(&m, "conv", Op("amp_cast", "low", {Var("x")}, {{"dtype", "bfloat16"}}));
  for (const char* name : {"conv_weight", "conv_bias"}) {
    m.params.args[name] = CastArray(m.params.args[name], DType::kBFloat16);
  }
  for (const char* name : {"gamma", "beta"}) m.params.args[name] = Random({16}, 5, 0.5f);
  m.params.aux["mean"] = Random({16}, 6, 0.5f);
  m.params.aux["var"] = NDArray(DType::kFloat32, {16});
  for (int i = 0; i < 16; ++i) m.params.aux["var"].As<float>()[i] = 0.5f + 0.1f * static_cast<float>(i);
  conv = Op("BatchNorm", "norm", {conv, Var("gamma"), Var("beta"), Var("mean"), Var("var")}, {{"fix_gamma", "False"}});
  const PlanSummary s = Fused(m, Act("act", conv), ForAnyMachine(Mode(NumericMode::kFast)), 0.02);
  EXPECT_EQ(NumElementwise(s), OneDnnHasBF16() ? 0 : 1) << s.Print();
  EXPECT_EQ(CountKind(s, "scale_shift"), OneDnnHasBF16() ? 0 : 1) << s.Print();
}

TEST(FusePostOps, LayersAndProductsTakeWhatFollowsThroughReshapes) {
  TestModel m;
  m.types["x"] = F32({2, 5, 16});
  m.types["y"] = F32({2, 5, 8});
  m.params.args["w"] = Random({8, 16}, 1, 0.3f);
  const Symbol dense = Op("FullyConnected", "dense", {Var("x"), Var("w")},
                          {{"num_hidden", "8"}, {"no_bias", "True"}, {"flatten", "False"}});
  const Symbol sum = Op("elemwise_add", "sum", {dense, Act("r", Var("y"))});
  EXPECT_EQ(CountKind(Fused(m, Act("act", sum, "tanh")), "binary"), 0);
  TestModel products;
  products.types["a"] = F32({3, 4, 5});
  products.types["b"] = F32({3, 5, 6});
  const Symbol dot = Op("batch_dot", "dot", {Var("a"), Var("b")});
  const PlanSummary s = Fused(products, Op("_mul_scalar", "scaled", {dot}, {{"scalar", "0.3"}}));
  EXPECT_EQ(NumElementwise(s), 0) << s.Print();
}

TEST(FusePostOps, StridedDeconvolutionsStayRight) {
  TestModel m;
  m.params.args["w"] = Random({16, 32, 4, 4}, 1, 0.1f);
  const Symbol up = Op("Deconvolution", "up", {Var("x"), Var("w")},
                       {{"kernel", "(4, 4)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}, {"num_filter", "32"}});
  Fused(m, Act("act", up));
  Fused(m, Act("act", up, "sigmoid"));
}

TEST(FusePostOps, ExactPlansMeltReluAndRepresentableBoundsOnly) {
  TestModel m;
  const Symbol conv = SameSizeConv(&m, "conv", Var("x"));
  const BindOptions exact = Mode(NumericMode::kExact);
  EXPECT_EQ(NumElementwise(Fused(m, Act("act", conv), exact, 1e-30)), 0);
  EXPECT_EQ(NumElementwise(Fused(m, Op("clip", "clip", {conv}, {{"a_min", "0"}, {"a_max", "6"}}), exact, 1e-30)), 0);
  EXPECT_EQ(NumElementwise(Fused(m, Act("act", conv, "tanh"), exact, 1e-30)), 1);
  EXPECT_EQ(NumElementwise(Fused(m, Op("elemwise_add", "sum", {conv, Var("y")}), exact, 1e-30)), 1);
}

TEST(AliasConcats, PartsAreCopiedOnceHoweverOftenTheyAreJoined) {
  TestModel m;
  Symbol x = Act("first", SameSizeConv(&m, "conv", Var("x")));
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    m.params.args["w" + number] = Random({16, 16 * (i + 1), 1, 1}, 9, 0.2f);
    const Symbol part = Op("Convolution", "part" + number, {x, Var("w" + number)},
                           {{"kernel", "(1, 1)"}, {"num_filter", "16"}, {"no_bias", "True"}});
    x = Op("Concat", "join" + number, {x, part}, {{"dim", "1"}});
  }
  m.symbol = Act("out", x);
  m.types["x"] = kImage;
  const auto in_place = Bind(m);
  setenv("AMP_DISABLE_PASSES", "AliasConcats", 1);
  const auto plain = Bind(m);
  unsetenv("AMP_DISABLE_PASSES");
  EXPECT_EQ(CountKind(in_place->summary(), "concat"), 0) << in_place->summary().Print();
  EXPECT_EQ(CountKind(plain->summary(), "concat"), 4);
  ExpectSameBits(plain->Run(InputsFor(*plain))[0], in_place->Run(InputsFor(*in_place))[0]);
}

}  // namespace
}  // namespace amp::onednn
