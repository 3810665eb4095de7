// Convolutions of a plan that our own kernel computes by Winograd's algorithm.
#include <gtest/gtest.h>

#include <cstdlib>

#include "dnnl/models.h"
#include "kernels/cpu.h"
#include "nnvm/file_io.h"
#include "nnvm/temporary_folder.h"
#include "program/machine_text.h"

namespace amp::onednn {
namespace {

using namespace testing;

// Of a plan for a machine on which arithmetic takes long and memory no time.
class WinogradPlans : public ::testing::Test {
 protected:
  WinogradPlans() {
    nlohmann::ordered_json file = amp::testing::MachineFile();
    file["bytes_per_second"] = {{1 << 30, 1e15}};
    WriteFile(MachinePath(), file.dump());
  }

  std::string MachinePath() const { return folder_.path() + "/machine.json"; }

  BindOptions Options(int num_threads = 2) const {
    BindOptions options = On(Backend::kOneDnn, num_threads);
    options.machine = MachinePath();
    return options;
  }

  static int CountWinograd(const PlanSummary& summary) {
    int count = 0;
    for (const PlanStep& step : summary.steps) count += step.implementation.starts_with("own:winograd");
    return count;
  }

  // Elsewhere it has blocks of eight channels, which sixteen lanes do not read.
  static bool LibraryIsChannelsLast() { return kernels::CpuIsa() >= kernels::Isa::kAvx512; }

  // With `count` such convolutions, and the results of the plan without them.
  void ExpectSame(const TestModel& m, int count, double tolerance = kFloatTolerance) {
    const auto own = Bind(m, Options());
    setenv("AMP_DISABLE_PASSES", "ChooseKernels", 1);
    const auto direct = Bind(m, Options());
    unsetenv("AMP_DISABLE_PASSES");
    EXPECT_EQ(CountWinograd(direct->summary()), 0);
    if (LibraryIsChannelsLast()) {
      EXPECT_EQ(CountWinograd(own->summary()), count) << own->summary().Print();
    }
    const auto expected = RunOnce(*direct);
    RunOnce(*own);
    const auto actual = RunOnce(*own);  // nothing of the first run may be left in the second
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_LT(Distance(expected[i], actual[i]), tolerance) << i;
  }

  amp::testing::TemporaryFolder folder_;
};

struct Filter {
  std::string pad = "(1, 1)", stride = "(1, 1)", kernel = "(3, 3)";
  std::int64_t groups = 1;
};

Symbol Conv(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out,
            const Filter& filter = {}) {
  m->params.args[name + "_weight"] =
      Random({out, in / filter.groups, filter.kernel == "(1, 1)" ? 1 : 3, filter.kernel == "(1, 1)" ? 1 : 3}, 3, 0.1f);
  m->params.args[name + "_bias"] = Random({out}, 4, 0.1f);
  return Op("Convolution", name, {x},
            {{"kernel", filter.kernel},
             {"pad", filter.pad},
             {"stride", filter.stride},
             {"num_filter", std::to_string(out)},
             {"num_group", std::to_string(filter.groups)}});
}

Symbol Relu(const std::string& name, const Symbol& x) { return Op("Activation", name, {x}, {{"act_type", "relu"}}); }

TestModel Chain() {
  TestModel m;
  m.types["x"] = F32({2, 40, 13, 18});
  Symbol x = Relu("relu0", Conv(&m, "conv0", Var("x"), 40, 90));
  x = Op("clip", "clip", {Conv(&m, "conv1", x, 90, 128, {"(0, 2)"})}, {{"a_min", "0"}, {"a_max", "6"}});
  m.symbol = Conv(&m, "conv2", x, 128, 160, {"(1, 1)", "(1, 1)", "(3, 3)", 2});
  return m;
}

TEST_F(WinogradPlans, ChainsAreTheSame) { ExpectSame(Chain(), 3); }

// A residual block: the sum, and the relu behind it, are part of the second convolution.
TEST_F(WinogradPlans, SumsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 64, 14, 14});
  const Symbol x = Relu("first", Conv(&m, "conv0", Var("x"), 64, 64));
  const Symbol y = Conv(&m, "conv2", Relu("relu1", Conv(&m, "conv1", x, 64, 64)), 64, 64);
  const Symbol last = Relu("last", Op("elemwise_add", "sum", {y, x}));
  m.symbol = Op("Pooling", "pool", {last}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}});
  ExpectSame(m, 3);
}

TEST_F(WinogradPlans, PartsOfConcatenationsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 32, 10, 10});
  const Symbol x = Relu("first", Conv(&m, "conv0", Var("x"), 32, 60));
  const Symbol a = Relu("relu1", Conv(&m, "conv1", x, 60, 32)), b = Relu("relu2", Conv(&m, "conv2", x, 60, 58));
  m.symbol = Relu("last", Conv(&m, "conv3", Op("Concat", "concat", {a, b, x}, {{"num_args", "3"}}), 150, 32));
  ExpectSame(m, 4);
}

TEST_F(WinogradPlans, OtherConvolutionsAreTheLibrarys) {
  TestModel m;
  m.types["x"] = F32({1, 32, 12, 12});
  m.types["w"] = F32({32, 32, 3, 3});
  const Symbol strided = Conv(&m, "strided", Var("x"), 32, 32, {"(1, 1)", "(2, 2)"});
  const Symbol pointwise = Conv(&m, "pointwise", strided, 32, 32, {"(0, 0)", "(1, 1)", "(1, 1)"});
  const Symbol gated = Op("Activation", "tanh", {Conv(&m, "gated", pointwise, 32, 32)}, {{"act_type", "tanh"}});
  m.symbol = Op("Convolution", "given", {gated, Var("w")},
                {{"kernel", "(3, 3)"}, {"num_filter", "32"}, {"no_bias", "True"}, {"pad", "(1, 1)"}});
  ExpectSame(m, 0);
}

TEST_F(WinogradPlans, ModeExactHasNone) {
  BindOptions options = Options();
  options.mode = NumericMode::kExact;
  EXPECT_EQ(CountWinograd(Bind(Chain(), options)->summary()), 0);
}

// In bfloat16 one of the kinds runs; results are those of bfloat16.
TEST_F(WinogradPlans, LowPrecisionIsTheSame) {
  const TestModel m = Chain();
  BindOptions options = Options();
  options.reduce_precision = ReduceOptions{DType::kBFloat16, false};
  const auto low = Bind(m, options);
  EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*low)[0]), 3e-2);
}

// Plans for other shapes share what was packed, and still find the weights where the choice is another one.
TEST_F(WinogradPlans, OtherShapesFindTheirWeights) {
  const TestModel m = Chain();
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
  if (LibraryIsChannelsLast()) {
    EXPECT_EQ(large, 3);
    EXPECT_LT(small + tiny, 6);
  }
}

}  // namespace
}  // namespace amp::onednn
