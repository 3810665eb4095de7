// Which pads become the padding of their readers, and which must not. Each case is also compared with the plan that
// folds none, and with the reference kernels.
#include <gtest/gtest.h>

#include <cstdlib>

#include "dnnl/models.h"

namespace amp::onednn {
namespace {

using namespace testing;

constexpr std::int64_t kChannels = 16;

Symbol Pad(const Symbol& data, const IntTuple& width, const std::string& mode = "constant", const char* value = "0") {
  return Op("Pad", "pad", {data}, {{"mode", mode}, {"pad_width", PrintAttr(width)}, {"constant_value", value}});
}

Symbol Conv3x3(TestModel* m, const std::string& name, const Symbol& data, AttrMap more = {}) {
  const bool last = more.contains("layout"), depthwise = more.contains("num_group");
  const std::int64_t inputs = depthwise ? 1 : kChannels;
  m->params.args[name + "_weight"] =
      Random(last ? Shape{kChannels, 3, 3, inputs} : Shape{kChannels, inputs, 3, 3}, 7, 0.08f);
  AttrMap attrs{{"kernel", "(3, 3)"}, {"num_filter", std::to_string(kChannels)}, {"no_bias", "True"}};
  attrs.insert(more.begin(), more.end());
  return Op("Convolution", name, {data, Var(name + "_weight")}, attrs);
}

Symbol Pool(const Symbol& data, AttrMap more) {
  AttrMap attrs{{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}};
  attrs.insert(more.begin(), more.end());
  return Op("Pooling", "pool", {data}, attrs);
}

std::vector<NDArray> RunWithout(const char* passes, const TestModel& m, const BindOptions& options) {
  setenv("AMP_DISABLE_PASSES", passes, 1);
  std::vector<NDArray> outputs = RunOnce(m, options);
  unsetenv("AMP_DISABLE_PASSES");
  return outputs;
}

// Pads that are left in the plan.
int NumPads(TestModel m, const Symbol& outputs, BindOptions options = On(Backend::kOneDnn, 2),
            double tolerance = 1e-5) {
  m.symbol = outputs;
  const bool last = m.symbol.ListArguments().front() == "last";
  m.types[last ? "last" : "x"] = F32(last ? Shape{2, 9, 11, kChannels} : Shape{2, kChannels, 9, 11});
  const std::vector<NDArray> expected = RunOnce(m, On(Backend::kReference));
  const std::vector<NDArray> folded = RunOnce(m, options), padded = RunWithout("FoldPads", m, options);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LT(Distance(expected[i], folded[i]), tolerance) << i;
    EXPECT_LT(Distance(padded[i], folded[i]), tolerance) << i;
  }
  options.mode = NumericMode::kExact;
  const std::vector<NDArray> exact = RunOnce(m, options), exact_padded = RunWithout("FoldPads", m, options);
  for (std::size_t i = 0; i < exact.size(); ++i) ExpectSameBits(exact[i], exact_padded[i]);
  options.mode = NumericMode::kFast;
  return CountKind(Bind(m, options)->summary(), "pad");
}

TEST(FoldPads, ConvolutionsTakeBordersOfZeros) {
  for (const IntTuple& width : {IntTuple{0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 1, 2, 0}, {0, 0, 0, 0, 2, 1, 0, 2}}) {
    for (const AttrMap& attrs : {AttrMap{}, {{"stride", "(2, 2)"}}, {{"num_group", "16"}}}) {
      TestModel m;
      EXPECT_EQ(NumPads(m, Conv3x3(&m, "conv", Pad(Op("relu", "relu", {Var("x")}), width), attrs)), 0);
    }
  }
}

TEST(FoldPads, BordersAreAddedToThePaddingThatIsThere) {
  TestModel m;
  EXPECT_EQ(NumPads(m, Conv3x3(&m, "conv", Pad(Var("x"), {0, 0, 0, 0, 1, 0, 0, 1}), {{"pad", "(1, 1)"}})), 0);
  EXPECT_EQ(NumPads(m, Conv3x3(&m, "wide", Pad(Var("x"), {0, 0, 0, 0, 2, 2, 2, 2}), {{"pad", "(2, 2)"}})), 1);
  EXPECT_EQ(NumPads(m, Conv3x3(&m, "dilated", Pad(Var("x"), {0, 0, 0, 0, 4, 4, 4, 4}), {{"dilate", "(2, 2)"}})), 0);
}

TEST(FoldPads, ChannelsLast) {
  TestModel m;
  EXPECT_EQ(NumPads(m, Conv3x3(&m, "conv", Pad(Var("last"), {0, 0, 1, 1, 0, 2, 0, 0}), {{"layout", "NHWC"}})), 0);
}

TEST(FoldPads, AllReadersTakeThemOrNone) {
  TestModel m;
  const Symbol pad = Pad(Var("x"), {0, 0, 0, 0, 1, 1, 1, 1});
  const Symbol conv = Conv3x3(&m, "a", pad);
  EXPECT_EQ(NumPads(m, Symbol::Group({conv, Conv3x3(&m, "b", pad)})), 0);
  EXPECT_EQ(NumPads(m, Symbol::Group({conv, Op("relu", "relu", {pad})})), 1);
  EXPECT_EQ(NumPads(m, Symbol::Group({conv, pad})), 1);
}

TEST(FoldPads, AveragesThatCountThem) {
  const Symbol pad = Pad(Var("x"), {0, 0, 0, 0, 1, 1, 0, 2});
  EXPECT_EQ(NumPads({}, Pool(pad, {{"pool_type", "avg"}})), 0);
  EXPECT_EQ(NumPads({}, Pool(pad, {{"pool_type", "avg"}, {"count_include_pad", "False"}})), 0);
  EXPECT_EQ(NumPads({}, Pool(pad, {{"pool_type", "avg"}, {"count_include_pad", "False"}, {"pad", "(1, 1)"}})), 1);
  EXPECT_EQ(NumPads({}, Pool(pad, {{"pool_type", "max"}})), 1);
}

TEST(FoldPads, OtherBordersStay) {
  TestModel m;
  EXPECT_EQ(NumPads(m, Conv3x3(&m, "a", Pad(Var("x"), {0, 0, 0, 0, 1, 1, 1, 1}, "edge"))), 1);
  EXPECT_EQ(NumPads(m, Conv3x3(&m, "b", Pad(Var("x"), {0, 0, 0, 0, 1, 1, 1, 1}, "constant", "2"))), 1);
  EXPECT_EQ(NumPads(m, Conv3x3(&m, "c", Pad(Var("x"), {1, 0, 0, 0, 1, 1, 1, 1}))), 1);
  EXPECT_EQ(NumPads(m, Conv3x3(&m, "d", Pad(Var("x"), {0, 0, 0, 0, 3, 3, 3, 3}))), 1);  // hides a window
}

// Layouts of convolutions with pads between that stay.
TEST(FoldPads, PadsKeepTheLayoutOfTheirInput) {
  TestModel m;
  for (const char* mode : {"constant", "edge", "reflect"}) {
    const Symbol pad = Pad(Conv3x3(&m, "first", Var("x")), {0, 0, 0, 0, 3, 2, 1, 4}, mode);
    EXPECT_EQ(NumPads(m, Conv3x3(&m, "second", Op("relu", "relu", {pad}))), 1) << mode;
  }
}

TEST(FoldPads, InLowPrecision) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    TestModel m;
    const Symbol pad = Pad(Conv3x3(&m, "first", Var("x")), {0, 0, 0, 0, 1, 1, 1, 1});
    EXPECT_EQ(NumPads(m, Conv3x3(&m, "second", pad), Low(dtype), 0.02), 0);
  }
}

}  // namespace
}  // namespace amp::onednn
