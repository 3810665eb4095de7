// Convolutions of a plan over images of few channels, which our own kernel computes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "dnnl/models.h"
#include "nnvm/file_io.h"
#include "nnvm/temporary_folder.h"
#include "program/machine_text.h"

namespace amp::onednn {
namespace {

using namespace testing;

// Of plans for a machine on which the library's first convolutions are slow.
class ImagePlans : public ::testing::Test {
 protected:
  ImagePlans() {
    nlohmann::ordered_json file = amp::testing::MachineFile();
    for (const char* dtype : {"float32", "bfloat16", "bfloat16-float32"}) {
      file["steps"][std::string("convolution_first ") + dtype + " channels_last"] = {{1, 1, 1, 1, 1, 1, 1, 4}};
    }
    WriteFile(MachinePath(), file.dump());
  }

  std::string MachinePath() const { return folder_.path() + "/machine.json"; }

  BindOptions Options() const {
    BindOptions options = On(Backend::kOneDnn, 2);
    options.machine = MachinePath();
    return options;
  }

  static int CountOwn(const PlanSummary& summary) {
    int count = 0;
    for (const PlanStep& step : summary.steps) count += step.implementation == "own:image";
    return count;
  }

  void ExpectSame(const TestModel& m, int count) {
    const auto own = Bind(m, Options());
    setenv("AMP_DISABLE_PASSES", "ChooseKernels", 1);
    const auto direct = Bind(m, Options());
    unsetenv("AMP_DISABLE_PASSES");
    EXPECT_EQ(CountOwn(direct->summary()), 0);
    EXPECT_EQ(CountOwn(own->summary()), count) << own->summary().Print();
    const auto expected = RunOnce(*direct);
    RunOnce(*own);
    const auto actual = RunOnce(*own);  // nothing of the first run may be left in the second
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_LT(Distance(expected[i], actual[i]), kFloatTolerance);
  }

  amp::testing::TemporaryFolder folder_;
};

Symbol Conv(TestModel* m, const std::string& name, const Symbol& x, const Shape& weights, const AttrMap& more) {
  m->params.args[name + "_weight"] = Random(weights, 3, 0.1f);
  m->params.args[name + "_bias"] = Random({weights[0]}, 4, 0.1f);
  AttrMap attrs = more;
  attrs["num_filter"] = std::to_string(weights[0]);
  return Op("Convolution", name, {x}, attrs);
}

Symbol Relu(const std::string& name, const Symbol& x) { return Op("Activation", name, {x}, {{"act_type", "relu"}}); }

// As networks begin: a window of 7x7 every two pixels, relu, the largest of 3x3.
TestModel Beginning() {
  TestModel m;
  m.types["x"] = F32({2, 3, 37, 50});
  const Symbol first =
      Conv(&m, "first", Var("x"), {40, 3, 7, 7}, {{"kernel", "(7, 7)"}, {"stride", "(2, 2)"}, {"pad", "(3, 3)"}});
  const Symbol pool = Op("Pooling", "pool", {Relu("relu", first)},
                         {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}, {"pool_type", "max"}});
  m.symbol = Conv(&m, "second", pool, {16, 40, 1, 1}, {{"kernel", "(1, 1)"}});
  return m;
}

TEST_F(ImagePlans, BeginningsAreTheSame) { ExpectSame(Beginning(), 1); }

TEST_F(ImagePlans, FilmsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 3, 6, 18, 21});
  m.symbol = Op("clip", "clip",
                {Conv(&m, "first", Var("x"), {24, 3, 3, 5, 5},
                      {{"kernel", "(3, 5, 5)"}, {"stride", "(1, 2, 2)"}, {"pad", "(1, 2, 2)"}})},
                {{"a_min", "-0.5"}, {"a_max", "0.5"}});
  ExpectSame(m, 1);
}

TEST_F(ImagePlans, PartsOfConcatenationsAreTheSame) {
  TestModel m;
  m.types["x"] = F32({1, 1, 12, 13});
  const AttrMap attrs = {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}};
  const Symbol x = Var("x");
  const Symbol a = Relu("relu1", Conv(&m, "a", x, {24, 1, 3, 3}, attrs));
  const Symbol b = Relu("relu2", Conv(&m, "b", x, {40, 1, 3, 3}, attrs));
  m.symbol =
      Conv(&m, "last", Op("Concat", "concat", {a, b}, {{"num_args", "2"}}), {16, 64, 1, 1}, {{"kernel", "(1, 1)"}});
  ExpectSame(m, 2);
}

TEST_F(ImagePlans, OthersAreTheLibrarys) {
  TestModel m;
  m.types["x"] = F32({1, 4, 12, 13});
  const Symbol grouped = Conv(&m, "grouped", Var("x"), {8, 2, 3, 3}, {{"kernel", "(3, 3)"}, {"num_group", "2"}});
  const Symbol gated = Conv(&m, "gated", grouped, {8, 8, 3, 3}, {{"kernel", "(3, 3)"}});
  m.symbol = Op("Activation", "tanh", {gated}, {{"act_type", "tanh"}});
  ExpectSame(m, 0);
}

TEST_F(ImagePlans, ModeExactHasNone) {
  BindOptions options = Options();
  options.mode = NumericMode::kExact;
  EXPECT_EQ(CountOwn(Bind(Beginning(), options)->summary()), 0);
}

TEST_F(ImagePlans, LowPrecisionIsTheSame) {
  const TestModel m = Beginning();
  BindOptions options = Options();
  options.reduce_precision = ReduceOptions{DType::kBFloat16, false};
  const auto low = Bind(m, options);
  EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*low)[0]), 3e-2);
}

TEST_F(ImagePlans, OtherShapesFindTheirWeights) {
  const TestModel m = Beginning();
  const auto first = Bind(m, Options());
  TestModel other = m;
  other.types["x"] = F32({1, 3, 64, 30});
  const auto reshaped = first->Reshape({{"x", {1, 3, 64, 30}}});
  EXPECT_EQ(CountOwn(reshaped->summary()), 1);
  EXPECT_LT(Distance(RunOnce(other)[0], RunOnce(*reshaped)[0]), kFloatTolerance);
}

}  // namespace
}  // namespace amp::onednn
