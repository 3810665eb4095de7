// Depthwise convolutions of a plan that our own kernel computes together with the 1x1 convolutions around them.
#include <gtest/gtest.h>

#include "dnnl/convolution_models.h"
#include "dnnl/cpu_info.h"

namespace amp::onednn {
namespace {

using namespace testing;

constexpr const char* kNoChannelsLast = "oneDNN's convolutions do not have channels last on this CPU";

int CountBlocks(const PlanSummary& summary) {
  int count = 0;
  for (const PlanStep& step : summary.steps) {
    count += step.choice && std::string(step.choice->name()).ends_with("fused_depthwise_float32");
  }
  return count;
}

Symbol Depthwise(TestModel* m, const std::string& name, const Symbol& x, std::int64_t channels,
                 std::map<std::string, std::string> attrs = {}) {
  attrs.insert({"kernel", "(3, 3)"});
  attrs.insert({"pad", "(1, 1)"});
  attrs["num_group"] = std::to_string(channels);
  return Convolve(m, name, x, channels, channels, attrs, 0.3f);
}

Symbol Clip(const std::string& name, const Symbol& x) {
  return Op("clip", name, {x}, {{"a_min", "0"}, {"a_max", "6"}});
}

// Two inverted residuals, the second of stride 2 and a kernel of 5; the first adds its source.
TestModel InvertedResiduals() {
  TestModel m;
  m.types["x"] = F32({2, 24, 13, 18});
  const Symbol x = Convolve1x1(&m, "first", Var("x"), 24, 24);
  Symbol y = Clip("clip0", Depthwise(&m, "depthwise0", Clip("clip", Convolve1x1(&m, "expand0", x, 24, 72)), 72));
  y = Op("elemwise_add", "sum", {Convolve1x1(&m, "project0", y, 72, 24), x});
  y = Clip("clip1", Convolve1x1(&m, "expand1", y, 24, 40));
  y = Depthwise(&m, "depthwise1", y, 40, {{"kernel", "(5, 5)"}, {"pad", "(2, 2)"}, {"stride", "(2, 2)"}});
  m.symbol = Op("Activation", "relu", {Convolve1x1(&m, "project1", y, 40, 33)}, {{"act_type", "relu"}});
  return m;
}

// `kernel` computes so many parts of the plan, and the results are those of the library.
void ExpectSameWithBlocks(const TestModel& m, const std::string& kernel, int count) {
  if (!OneDnnIsChannelsLast()) GTEST_SKIP() << kNoChannelsLast;
  const auto own = Bind(m, Forced(kernel)), library = Bind(m, Forced("onednn"));
  EXPECT_EQ(CountBlocks(own->summary()), count) << own->summary().Print();
  ExpectSameResults(*library, *own);
}

TEST(FusedDepthwisePlans, ExpandingBlocksAreTheSame) {
  ExpectSameWithBlocks(InvertedResiduals(), "expanding_fused_depthwise_float32", 2);
}

TEST(FusedDepthwisePlans, BlocksAreTheSame) { ExpectSameWithBlocks(InvertedResiduals(), "fused_depthwise_float32", 2); }

// What comes out is part of a larger tensor, and a source is.
TEST(FusedDepthwisePlans, PartsOfConcatenationsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({2, 32, 10, 10});
  const Symbol x = Clip("clip", Convolve1x1(&m, "first", Var("x"), 32, 48));
  const Symbol a = Convolve1x1(&m, "project0", Depthwise(&m, "depthwise0", x, 48), 48, 32);
  const Symbol b = Convolve1x1(&m, "project1", Depthwise(&m, "depthwise1", x, 48), 48, 16);
  const Symbol all = Op("Concat", "concat", {a, b, x}, {{"num_args", "3"}});
  m.symbol = Convolve1x1(&m, "project2", Depthwise(&m, "depthwise2", all, 96), 96, 8);
  ExpectSameWithBlocks(m, "fused_depthwise_float32", 3);
}

TEST(FusedDepthwisePlans, OthersAreTheLibrarys) {
  TestModel m;
  m.types["x"] = F32({1, 16, 20, 20});
  Symbol x = Clip("clip", Convolve1x1(&m, "first", Var("x"), 16, 32));
  x = Convolve1x1(&m, "project0", Depthwise(&m, "dilated", x, 32, {{"dilate", "(2, 2)"}, {"pad", "(2, 2)"}}), 32, 32);
  x = Convolve1x1(&m, "project1", Depthwise(&m, "strided", x, 32, {{"stride", "(3, 3)"}}), 32, 32);
  x = Op("Activation", "tanh", {Depthwise(&m, "curved", x, 32)}, {{"act_type", "tanh"}});
  x = Convolve1x1(&m, "project2", x, 32, 32);
  const Symbol shared = Depthwise(&m, "shared", x, 32);
  m.symbol = Op("Concat", "concat", {Convolve1x1(&m, "project3", shared, 32, 8), shared}, {{"num_args", "2"}});
  ExpectSameWithBlocks(m, "fused_depthwise_float32", 0);
}

// Blocks clip their results, and know no other functions.
TEST(FusedDepthwisePlans, OtherFunctionsBehindBlocksAreTheLibrarys) {
  for (const char* slope : {"leaky", "elu", "prelu"}) {
    TestModel m;
    m.types["x"] = F32({1, 32, 12, 12});
    m.params.args["slopes"] = Random({DType::kFloat32, {48}}, 5);
    const Symbol x = Convolve1x1(&m, "project", Clip("clip", Depthwise(&m, "depthwise", Var("x"), 32)), 32, 48);
    std::vector<Symbol> inputs{x};
    if (std::string(slope) == "prelu") inputs.push_back(Var("slopes"));
    m.symbol = Op("LeakyReLU", "bent", inputs, {{"act_type", slope}, {"slope", "0.1"}});
    ExpectSameWithBlocks(m, "fused_depthwise_float32", 0);
  }
}

// In bfloat16 the tensors between are not rounded.
TEST(FusedDepthwisePlans, LowPrecisionIsTheSame) {
  if (!OneDnnIsChannelsLast()) GTEST_SKIP() << kNoChannelsLast;
  const TestModel m = InvertedResiduals();
  const auto expected = RunOnce(*Bind(m, Forced("onednn")));
  for (const char* kernel : {"expanding_fused_depthwise_float32", "expanding_fused_depthwise_bfloat16"}) {
    BindOptions options = Forced(kernel);
    options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
    const auto actual = RunOnce(*Bind(m, options));
    EXPECT_LT(Distance(expected[0], actual[0]), 0.03) << kernel;
    EXPECT_GT(Distance(expected[0], actual[0]), 1e-5) << kernel;
  }
}

TEST(FusedDepthwisePlans, BitsDoNotDependOnThreads) {
  const TestModel m = InvertedResiduals();
  const auto expected = RunOnce(*Bind(m, Forced("expanding_fused_depthwise_float32", 1)));
  const auto actual = RunOnce(*Bind(m, Forced("expanding_fused_depthwise_float32", 2)));
  if (!OneDnnIsChannelsLast()) GTEST_SKIP() << kNoChannelsLast;
  EXPECT_EQ(Distance(expected[0], actual[0]), 0);
}

}  // namespace
}  // namespace amp::onednn
