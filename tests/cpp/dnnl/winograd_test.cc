// Convolutions of a plan that our own kernel computes by Winograd's algorithm.
#include <gtest/gtest.h>

#include "dnnl/convolution_models.h"
#include "dnnl/cpu_info.h"
#include "kernels/winograd/winograd.h"
#include "passes/gradient/gradient.h"

namespace amp::onednn {
namespace {

using namespace testing;

// Plans for a machine on which arithmetic takes long and memory no time.
class WinogradPlans : public OwnKernelPlans {
 protected:
  WinogradPlans()
      : OwnKernelPlans([](nlohmann::ordered_json& file) {
          file["bytes_per_second"] = {{1 << 30, 1e15}};
          for (const char* kind : {"1x7_f32", "1x3_f32", "5x5_f32", "2x2_f32"}) {
            file["steps"][fmt::format("winograd_{} float32", kind)] = {{0, 0, 0, 0, 0, 0, 0, -1}};
          }
        }) {}

  static int CountWinograd(const PlanSummary& summary) {
    return Count(summary, "own:winograd") + Count(summary, "own:biased_winograd");
  }

  // Expects `count` such convolutions, and the results of the plan without them.
  void ExpectSame(const TestModel& m, int count, double tolerance = kFloatTolerance) {
    const auto own = ExpectSameWithout("own:winograd", m, tolerance);
    if (OneDnnIsChannelsLast()) {
      EXPECT_EQ(CountWinograd(own->summary()), count) << own->summary().Print();
    }
  }
};

struct Filter {
  std::string pad = "(1, 1)", stride = "(1, 1)", kernel = "(3, 3)";
  std::int64_t groups = 1;
};

Symbol Filtered(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
                const Filter& filter = {}) {
  return Convolve(m, name, x, in, out,
                  {{"kernel", filter.kernel},
                   {"pad", filter.pad},
                   {"stride", filter.stride},
                   {"num_group", std::to_string(filter.groups)}});
}

TestModel WinogradChain() {
  TestModel m;
  m.types["x"] = F32({2, 40, 13, 18});
  Symbol x = Relu("relu0", Filtered(&m, "conv0", Var("x"), 40, 90));
  x = Op("clip", "clip", {Filtered(&m, "conv1", x, 90, 128, {"(0, 2)"})}, {{"a_min", "0"}, {"a_max", "6"}});
  m.symbol = Filtered(&m, "conv2", x, 128, 160, {"(1, 1)", "(1, 1)", "(3, 3)", 2});
  return m;
}

TEST_F(WinogradPlans, ChainsAreTheSame) { ExpectSame(WinogradChain(), 3); }

// A residual block: the sum, and the relu behind it, are part of the second convolution.
TEST_F(WinogradPlans, SumsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 64, 14, 14});
  const auto conv = [&m](auto... layer) { return Filtered(&m, layer...); };
  m.symbol = ResidualBlock(64, conv);
  ExpectSame(m, 3);
}

// Slopes of channels behind a sum, one slope, and one that is a parameter.
TEST_F(WinogradPlans, SlopesAreTheSame) {
  TestModel m;
  m.types["x"] = F32({2, 40, 13, 18});
  m.params.args["slopes"] = Random({DType::kFloat32, {64}}, 5);
  m.params.args["slope"] = Random({DType::kFloat32, {1}}, 6);
  Symbol x = Op("LeakyReLU", "leaky", {Filtered(&m, "conv0", Var("x"), 40, 64)}, {{"slope", "0.1"}});
  x = Op("LeakyReLU", "one", {Filtered(&m, "conv", x, 64, 64), Var("slope")}, {{"act_type", "prelu"}});
  const Symbol sum = Op("elemwise_add", "sum", {Filtered(&m, "conv1", x, 64, 64), x});
  m.symbol = Op("LeakyReLU", "prelu", {sum, Var("slopes")}, {{"act_type", "prelu"}});
  ExpectSame(m, 3);
}

TEST_F(WinogradPlans, BoundsBehindSlopesAreTheLibrarys) {
  TestModel m;
  m.types["x"] = F32({2, 40, 13, 18});
  m.params.args["slopes"] = Random({DType::kFloat32, {64}}, 6);
  const Symbol x =
      Op("LeakyReLU", "many", {Filtered(&m, "conv1", Var("x"), 40, 64), Var("slopes")}, {{"act_type", "prelu"}});
  m.symbol = Op("clip", "clip", {x}, {{"a_min", "-1"}, {"a_max", "1"}});
  ExpectSame(m, 0);
}

TEST_F(WinogradPlans, PartsOfConcatenationsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 32, 10, 10});
  const Symbol x = Relu("first", Filtered(&m, "conv0", Var("x"), 32, 60));
  const Symbol a = Relu("relu1", Filtered(&m, "conv1", x, 60, 32)), b = Relu("relu2", Filtered(&m, "conv2", x, 60, 58));
  m.symbol = Relu("last", Filtered(&m, "conv3", Op("Concat", "concat", {a, b, x}, {{"num_args", "3"}}), 150, 32));
  ExpectSame(m, 4);
}

TEST_F(WinogradPlans, OtherConvolutionsAreTheLibrarys) {
  TestModel m;
  m.types["x"] = F32({1, 32, 12, 12});
  const Symbol strided = Filtered(&m, "strided", Var("x"), 32, 32, {"(1, 1)", "(2, 2)"});
  const Symbol pointwise = Filtered(&m, "pointwise", strided, 32, 32, {"(0, 0)", "(1, 1)", "(1, 1)"});
  m.symbol = Op("Activation", "tanh", {Filtered(&m, "gated", pointwise, 32, 32)}, {{"act_type", "tanh"}});
  ExpectSame(m, 0);
}

// Rows and columns of seven and three, and 5x5: each kind once behind another, with a sum, and as a part of a
// concatenation.
TestModel OtherWindows() {
  TestModel m;
  m.types["x"] = F32({2, 48, 13, 18});
  const auto filtered = [&m](const std::string& name, const Symbol& x, std::int64_t in, const char* pad,
                             const char* kernel) {
    return Relu(name + "_relu", Filtered(&m, name, x, in, 64, {pad, "(1, 1)", kernel}));
  };
  const Symbol row = filtered("row", Var("x"), 48, "(0, 3)", "(1, 7)");
  const Symbol column = filtered("column", row, 64, "(3, 0)", "(7, 1)");
  const Symbol summed = Filtered(&m, "summed", column, 64, 64, {"(3, 0)", "(1, 1)", "(7, 1)"});
  const Symbol sum = Relu("sum", Op("elemwise_add", "add", {summed, row}));
  const Symbol low = filtered("low", sum, 64, "(0, 1)", "(1, 3)"), high = filtered("high", sum, 64, "(1, 0)", "(3, 1)");
  const Symbol parts = Op("Concat", "concat", {low, high}, {{"num_args", "2"}});
  m.symbol = filtered("last", parts, 128, "(2, 2)", "(5, 5)");
  return m;
}

// An image of 24x36 is four of 12x18 to windows with gaps of one, and nine of 8x12 to those with gaps of two.
TEST_F(WinogradPlans, GapsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({2, 48, 24, 36});
  const auto filtered = [&m](const std::string& name, const Symbol& x, std::int64_t in, const char* kernel,
                             const char* pad, const char* dilate) {
    return Convolve(&m, name, x, in, 64, {{"kernel", kernel}, {"pad", pad}, {"dilate", dilate}});
  };
  const Symbol two = Relu("relu", filtered("two", Var("x"), 48, "(3, 3)", "(2, 2)", "(2, 2)"));
  const Symbol three = filtered("three", two, 64, "(3, 3)", "(3, 3)", "(3, 3)");
  m.symbol = filtered("column", Op("elemwise_add", "add", {three, two}), 64, "(7, 1)", "(6, 0)", "(2, 2)");
  ExpectSame(m, 3);
  m.symbol = filtered("smaller", m.symbol, 64, "(3, 3)", "(0, 0)", "(2, 2)");  // 20x32 results
  ExpectSame(m, 4);
  m.symbol = filtered("uneven", m.symbol, 64, "(3, 3)", "(3, 3)", "(3, 3)");
  ExpectSame(m, 4);
}

// The parameters become inputs, which each run is given. Their names.
std::vector<std::string> MakeInputs(TestModel* m) {
  std::vector<std::string> names;
  for (const auto& [name, array] : m->params.args) {
    m->types[name] = array.type();
    names.push_back(name);
  }
  m->params.args.clear();
  return names;
}

// The gradients of the sum of squares, by the input and all parameters.
void MakeGradients(TestModel* m) {
  std::vector<std::string> variables = MakeInputs(m);
  variables.push_back("x");
  m->symbol = Gradient(Op("square", "square", {m->symbol}), variables);
}

Symbol Deconvolved(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
                   std::map<std::string, std::string> attrs) {
  const std::int64_t kernel = std::stoll(attrs.at("kernel"));
  for (const char* attr : {"kernel", "stride", "pad", "adj"}) {
    if (attrs.contains(attr)) attrs[attr] = "(" + attrs[attr] + ", " + attrs[attr] + ")";
  }
  const std::int64_t groups = attrs.contains("num_group") ? std::stoll(attrs.at("num_group")) : 1;
  m->params.args[name + "_weight"] = Random({in, out / groups, kernel, kernel}, 3, 0.1f);
  if (attrs.contains("no_bias")) m->params.args[name + "_bias"] = Random({out}, 4, 0.1f);
  attrs["num_filter"] = std::to_string(out);
  return Op("Deconvolution", name, {x}, attrs);
}

// A decoder: with biases, without, in groups, with an image that is added, and with kernels that strides do not divide.
TestModel Decoder() {
  TestModel m;
  m.types["x"] = F32({2, 48, 5, 7});
  const std::map<std::string, std::string> twice{{"kernel", "4"}, {"stride", "2"}, {"pad", "1"}, {"no_bias", "False"}};
  Symbol x = Relu("relu0", Deconvolved(&m, "up0", Var("x"), 48, 80, twice));
  x = Deconvolved(&m, "up1", x, 80, 64, {{"kernel", "5"}, {"stride", "2"}, {"pad", "2"}, {"adj", "1"}});
  const Symbol skip = Filtered(&m, "skip", x, 64, 64);
  x = Deconvolved(&m, "up2", x, 64, 64, {{"kernel", "3"}, {"pad", "1"}, {"no_bias", "False"}});
  x = Relu("relu2", Op("elemwise_add", "add", {x, skip}));
  m.symbol = Deconvolved(&m, "up3", x, 64, 144, {{"kernel", "6"}, {"stride", "3"}, {"pad", "2"}, {"adj", "1"}});
  return m;
}

TEST_F(WinogradPlans, DeconvolutionsAreTheSame) {
  TestModel m = Decoder();
  ExpectSame(m, 5);
  m.symbol =
      Deconvolved(&m, "up4", m.symbol, 144, 128, {{"kernel", "4"}, {"stride", "2"}, {"pad", "1"}, {"num_group", "2"}});
  ExpectSame(m, 6);
  m.symbol = Deconvolved(&m, "uneven", m.symbol, 128, 32, {{"kernel", "4"}, {"stride", "2"}});
  ExpectSame(m, 7);
  m.symbol = Deconvolved(&m, "odd", m.symbol, 32, 32, {{"kernel", "5"}, {"stride", "2"}});
  ExpectSame(m, 7);
}

TEST_F(WinogradPlans, DeconvolutionsInBFloat16) {
  const TestModel m = Decoder();
  BindOptions options = Options();
  options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
  EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*Bind(m, options))[0]), 3e-2);
}

struct Volumes {
  IntTuple kernel{3, 3, 3}, pad{1, 1, 1}, stride{1, 1, 1};
  std::int64_t groups = 1;
};

Symbol FilteredVolumes(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
                       const Volumes& volumes = {}) {
  return Convolve(m, name, x, in, out,
                  {{"kernel", PrintAttr(volumes.kernel)},
                   {"pad", PrintAttr(volumes.pad)},
                   {"stride", PrintAttr(volumes.stride)},
                   {"num_group", std::to_string(volumes.groups)}});
}

// Windows in three dimensions: cubes, slices, lines in slices, in groups, with a sum.
TestModel OfVolumes() {
  TestModel m;
  m.types["x"] = F32({2, 32, 5, 9, 14});
  const Symbol first = Relu("relu0", FilteredVolumes(&m, "cube", Var("x"), 32, 48));
  Symbol x = FilteredVolumes(&m, "slice", first, 48, 48, {{1, 3, 3}, {0, 1, 1}});
  x = Relu("relu1", Op("elemwise_add", "add", {x, first}));
  x = FilteredVolumes(&m, "deep", x, 48, 128, {{2, 7, 1}, {0, 3, 0}});
  m.symbol = FilteredVolumes(&m, "groups", x, 128, 160, {{3, 5, 5}, {2, 0, 4}, {1, 1, 1}, 2});
  return m;
}

TEST_F(WinogradPlans, VolumesAreTheSame) {
  TestModel m = OfVolumes();
  ExpectSame(m, 4);
  m.symbol = FilteredVolumes(&m, "strided", m.symbol, 160, 40, {{3, 3, 3}, {1, 1, 1}, {2, 1, 1}});
  ExpectSame(m, 4);
  m.symbol = FilteredVolumes(&m, "uneven", m.symbol, 40, 32);  // slices of 40 channels are no blocks
  ExpectSame(m, 4);
}

// Gradients of sources: of cubes and slices, in groups; oneDNN computes those of columns.
TEST_F(WinogradPlans, GradientsOfVolumesAreTheSame) {
  TestModel m = OfVolumes();
  MakeGradients(&m);
  ExpectSame(m, 7);
}

TEST_F(WinogradPlans, DeconvolutionsOfVolumesAreTheSame) {
  TestModel m;
  m.types["x"] = F32({2, 32, 5, 6, 7});
  m.params.args["up_weight"] = Random({32, 48, 3, 4, 4}, 3, 0.1f);
  m.params.args["deep_weight"] = Random({48, 64, 4, 4, 4}, 4, 0.1f);
  const Symbol up = Op("Deconvolution", "up", {Var("x")},
                       {{"kernel", "(3, 4, 4)"}, {"stride", "(1, 2, 2)"}, {"pad", "(0, 1, 1)"}, {"num_filter", "48"}});
  m.symbol = up;
  ExpectSame(m, 1);
  m.symbol = Op("Deconvolution", "deep", {up},
                {{"kernel", "(4, 4, 4)"}, {"stride", "(2, 2, 2)"}, {"pad", "(1, 1, 1)"}, {"num_filter", "64"}});
  ExpectSame(m, 1);  // slices with a stride are the library's
}

TEST_F(WinogradPlans, VolumesInBFloat16) {
  const TestModel m = OfVolumes();
  BindOptions options = Options();
  options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
  EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*Bind(m, options))[0]), 3e-2);
}

// Weights are transformed in each run.
TEST_F(WinogradPlans, VolumesOfWeightsThatChange) {
  TestModel m = OfVolumes();
  MakeInputs(&m);
  ExpectSame(m, 4);
}

// Convolutions in one dimension: with a sum, in groups, and as a part of a concatenation. Other windows, strides and
// such gaps as leave lines of several sizes are the library's.
TestModel OfLines() {
  TestModel m;
  m.types["x"] = F32({2, 48, 37});
  const Symbol x = Relu("relu0", Filtered(&m, "conv0", Var("x"), 48, 128, {"(1,)", "(1,)", "(3,)"}));
  const Symbol seven = Filtered(&m, "conv1", x, 128, 128, {"(3,)", "(1,)", "(7,)"});
  const Symbol sum = Relu("relu1", Op("elemwise_add", "sum", {seven, x}));
  const Symbol grouped = Filtered(&m, "conv2", sum, 128, 128, {"(1,)", "(1,)", "(3,)", 2});
  const Symbol both = Op("Concat", "concat", {grouped, sum}, {{"num_args", "2"}});
  const Symbol narrow = Filtered(&m, "conv3", both, 256, 32, {"(0,)", "(1,)", "(3,)"});
  const Symbol five = Filtered(&m, "five", narrow, 32, 32, {"(2,)", "(1,)", "(5,)"});
  const Symbol strided = Filtered(&m, "strided", five, 32, 32, {"(1,)", "(2,)", "(3,)"});
  m.symbol = Convolve(&m, "spread", strided, 32, 32, {{"kernel", "(3,)"}, {"pad", "(4,)"}, {"dilate", "(4,)"}});
  return m;
}

// One behind the other: `gaps` divides the line and the padding.
TestModel OfDilated1D(std::int64_t size, std::int64_t gaps) {
  TestModel m;
  m.types["x"] = F32({2, 48, size});
  const std::string dilate = fmt::format("({},)", gaps), pads = fmt::format("({},)", 3 * gaps);
  const Symbol x =
      Relu("relu", Convolve(&m, "seven", Var("x"), 48, 64, {{"kernel", "(7,)"}, {"pad", pads}, {"dilate", dilate}}));
  m.symbol = Convolve(&m, "three", x, 64, 40, {{"kernel", "(3,)"}, {"dilate", dilate}});
  return m;
}

TEST_F(WinogradPlans, DilatedLinesAreTheSame) {
  ExpectSame(OfDilated1D(51, 3), 2);
  ExpectSame(OfDilated1D(80, 8), 2);
  ExpectSame(OfDilated1D(80, 9), 0);
  ExpectSame(OfDilated1D(72, 9), 1);  // the last result has six positions for each gap
}

TEST_F(WinogradPlans, LinesAreTheSame) { ExpectSame(OfLines(), 4); }

TEST_F(WinogradPlans, LinesOfWeightsThatChange) {
  TestModel m = OfLines();
  MakeInputs(&m);
  ExpectSame(m, 4);
}

TEST_F(WinogradPlans, LinesInBFloat16) {
  const TestModel m = OfLines();
  BindOptions options = Options();
  options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
  options.forced_kernel = "winograd_1x3_int16";
  const auto low = Bind(m, options);
  if (kernels::HasWinograd(kernels::WinogradKind::k1x3Int16)) {
    EXPECT_EQ(Count(low->summary(), "own:winograd_1x3_int16"), 3) << low->summary().Print();
  }
  EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*low)[0]), 3e-2);
}

TEST_F(WinogradPlans, OtherWindowsAreTheSame) { ExpectSame(OtherWindows(), 6); }

TEST_F(WinogradPlans, OtherWindowsOfInt16) {
  if (!kernels::HasWinograd(kernels::WinogradKind::k1x7Int16)) GTEST_SKIP() << "no code that multiplies int16";
  const TestModel m = OtherWindows();
  const auto expected = RunOnce(m)[0];
  for (const auto& [kind, count] : std::map<std::string, int>{{"1x7", 3}, {"1x3", 2}, {"5x5", 1}}) {
    BindOptions options = Options();
    options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
    options.forced_kernel = "winograd_" + kind + "_int16";
    const auto low = Bind(m, options);
    EXPECT_EQ(Count(low->summary(), "own:" + options.forced_kernel), count) << low->summary().Print();
    EXPECT_LT(Distance(expected, RunOnce(*low)[0]), 3e-2) << kind;
  }
}

// Weights that each run is given are transformed in each run. So are those that gradients of sources read, mirrored:
// three of the convolutions' results, and three of their sources' gradients.
TEST_F(WinogradPlans, GradientsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({2, 48, 13, 18});
  const Symbol x = Relu("relu0", Filtered(&m, "conv0", Var("x"), 48, 96));
  m.symbol =
      Filtered(&m, "conv2", Filtered(&m, "conv1", x, 96, 128, {"(0, 2)"}), 128, 160, {"(1, 1)", "(1, 1)", "(3, 3)", 2});
  MakeGradients(&m);
  ExpectSame(m, 6);
}

TEST_F(WinogradPlans, ModeExactHasNone) {
  BindOptions options = Options();
  options.mode = NumericMode::kExact;
  EXPECT_EQ(CountWinograd(Bind(WinogradChain(), options)->summary()), 0);
}

// In bfloat16 one of the kinds runs; results are those of bfloat16.
TEST_F(WinogradPlans, LowPrecisionIsTheSame) {
  const TestModel m = WinogradChain();
  BindOptions options = Options();
  options.reduce_precision = ReduceOptions{DType::kBFloat16, false};
  const auto low = Bind(m, options);
  EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*low)[0]), 3e-2);
}

// Plans for other shapes share what was packed, and still find the weights where the choice is another one.
TEST_F(WinogradPlans, OtherShapesFindTheirWeights) {
  const TestModel m = WinogradChain();
  const auto first = Bind(m, Options());
  const auto compare = [&](const Executor& executor, const Shape& shape) {
    TestModel other = m;
    other.types["x"] = F32(shape);
    const auto reshaped = executor.Reshape({{"x", shape}});
    EXPECT_LT(Distance(RunOnce(other)[0], RunOnce(*reshaped)[0]), kFloatTolerance);
    return CountWinograd(reshaped->summary());
  };
  const int large = compare(*first, {1, 40, 28, 28}), small = compare(*first, {1, 40, 3, 3}),
            again = compare(*first, {1, 40, 12, 12}), tiny = compare(*first, {5, 40, 3, 1});
  EXPECT_EQ(large, again);
  if (OneDnnIsChannelsLast()) {
    EXPECT_EQ(large, 3);
    EXPECT_LT(small + tiny, 6);
  }
}

}  // namespace
}  // namespace amp::onednn
