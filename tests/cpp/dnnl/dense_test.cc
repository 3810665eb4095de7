// Dense layers of a plan that our own matrix product computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "dnnl/models.h"
#include "kernels/gemm/gemm.h"

namespace amp::onednn {
namespace {

using namespace testing;

constexpr double kBF16Tolerance = 3e-2;

Symbol Dense(TestModel* m, const std::string& name, const Symbol& x, std::int64_t in, std::int64_t out) {
  m->params.args[name + "_weight"] = Random({out, in}, 3, 0.05f);
  m->params.args[name + "_bias"] = Random({out}, 4, 0.1f);
  return Op("FullyConnected", name, {x}, {{"num_hidden", std::to_string(out)}, {"flatten", "False"}});
}

Symbol Function(const std::string& op, const std::string& name, const Symbol& x) {
  return Op(op, name + "_" + op, {x}, {{"act_type", name}});
}

// A transformer's layers: a residual sum, a norm, and two layers with a function between them.
TestModel FeedForward(const Shape& shape = {2, 65, 256}) {
  TestModel m;
  m.types["x"] = F32(shape);
  const Symbol in = Var("x"), sum = Op("elemwise_add", "sum", {Dense(&m, "first", in, 256, 256), in});
  m.params.args["norm_gamma"] = Random({256}, 5);
  m.params.args["norm_beta"] = Random({256}, 6);
  const Symbol x = Op("LayerNorm", "norm", {sum});
  const Symbol wide = Function("LeakyReLU", "gelu", Dense(&m, "wide", x, 256, 520));
  m.symbol = Op("elemwise_add", "last", {Dense(&m, "narrow", wide, 520, 256), x});
  return m;
}

// One function behind another.
TestModel Functions() {
  TestModel m;
  m.types["x"] = F32({130, 300});
  Symbol x = Function("Activation", "tanh", Dense(&m, "a", Var("x"), 300, 260));
  x = Function("Activation", "sigmoid", Dense(&m, "b", x, 260, 300));
  x = Function("LeakyReLU", "elu", Dense(&m, "c", x, 300, 256));
  x = Function("LeakyReLU", "leaky", Dense(&m, "d", x, 256, 256));
  m.symbol = Function("Activation", "relu", Dense(&m, "e", x, 256, 256));
  return m;
}

int CountOwn(const Executor& executor) {
  const PlanSummary summary = executor.summary();
  return static_cast<int>(std::count_if(summary.steps.begin(), summary.steps.end(), [](const PlanStep& step) {
    return step.implementation.starts_with("own:dense");
  }));
}

// The plan has `count` of them, and the results of one without them.
void ExpectSameAsLibrary(const TestModel& m, int count) {
  const auto own = Bind(m, Forced("dense_float32"));
  const auto library = Bind(m, Forced("onednn"));
  EXPECT_EQ(CountOwn(*own), count) << own->summary().Print();
  EXPECT_EQ(CountOwn(*library), 0);
  const auto expected = RunOnce(*library);
  RunOnce(*own);
  EXPECT_LT(Distance(expected[0], RunOnce(*own)[0]), kFloatTolerance);  // nothing of the first run may be left
}

TEST(DensePlans, FeedForwardIsTheSame) { ExpectSameAsLibrary(FeedForward(), 3); }

TEST(DensePlans, FunctionsAreTheSame) { ExpectSameAsLibrary(Functions(), 5); }

TEST(DensePlans, OthersAreTheLibrarys) {
  ExpectSameAsLibrary(FeedForward({1, 63, 256}), 0);  // few rows
  TestModel given;
  given.types["x"] = F32({128, 256});
  given.types["w"] = F32({256, 256});
  given.symbol = Op("FullyConnected", "given", {Var("x"), Var("w")}, {{"num_hidden", "256"}, {"no_bias", "True"}});
  ExpectSameAsLibrary(given, 0);
}

TEST(DensePlans, ModeExactHasNone) {
  BindOptions options = Forced("dense_float32");
  options.mode = NumericMode::kExact;
  EXPECT_EQ(CountOwn(*Bind(FeedForward(), options)), 0);
}

// Activations are stored in bfloat16; each dtype is multiplied.
TEST(DensePlans, LowPrecisionIsTheSame) {
  for (const auto& [kernel, has_code] : {std::pair{"dense_float32", true},
                                         {"dense_bfloat16", kernels::HasGemm(kernels::ComputeType::kBFloat16)},
                                         {"dense_int16", kernels::HasGemm(kernels::ComputeType::kInt16)},
                                         {"dense_strassen_float32", true},
                                         {"dense_strassen_int16", kernels::HasGemm(kernels::ComputeType::kInt16)}}) {
    BindOptions options = Forced(kernel);
    options.reduce_precision = ReduceOptions{DType::kBFloat16, true};
    for (const TestModel& m : {FeedForward(), Functions()}) {
      const auto own = Bind(m, options);
      EXPECT_EQ(CountOwn(*own) > 0, has_code) << kernel << own->summary().Print();
      EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*own)[0]), kBF16Tolerance) << kernel;
    }
  }
}

TEST(DensePlans, BitsDoNotDependOnThreads) {
  const TestModel m = FeedForward();
  for (const char* kernel : {"dense_float32", "dense_strassen_float32"}) {
    const auto expected = RunOnce(*Bind(m, Forced(kernel, 1)));
    EXPECT_EQ(Distance(expected[0], RunOnce(*Bind(m, Forced(kernel, 3)))[0]), 0) << kernel;
  }
}

TEST(DensePlans, StrassensAlgorithmIsTheSame) {
  for (const TestModel& m : {FeedForward(), Functions()}) {
    const auto own = Bind(m, Forced("dense_strassen_float32"));
    EXPECT_GT(CountOwn(*own), 0) << own->summary().Print();
    EXPECT_LT(Distance(RunOnce(m)[0], RunOnce(*own)[0]), kFloatTolerance);
  }
}

// Plans for other shapes share what was packed.
TEST(DensePlans, OtherShapesFindTheirWeights) {
  for (const char* kernel : {"dense_float32", "dense_strassen_float32"}) {
    const auto first = Bind(FeedForward(), Forced(kernel));
    for (const Shape& shape : {Shape{3, 100, 256}, Shape{1, 4, 256}}) {
      EXPECT_LT(Distance(RunOnce(FeedForward(shape))[0], RunOnce(*first->Reshape({{"x", shape}}))[0]), kFloatTolerance);
    }
  }
}

}  // namespace
}  // namespace amp::onednn
