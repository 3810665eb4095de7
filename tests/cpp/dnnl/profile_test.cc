// What a profile counts and what it tells.

#include <gtest/gtest.h>

#include "dnnl/models.h"
#include "kernels/base/peak.h"
#include "runtime/run_profile.h"

namespace amp::onednn {
namespace {

using namespace testing;

// The cost of the only step with that work.
StepCost CostOfWork(const RunProfile& profile, const std::string& work) {
  std::vector<StepCost> found;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    if (profile.steps[i].kind == work) found.push_back(profile.features[i].cost);
  }
  EXPECT_EQ(found.size(), 1u) << work << "\n" << profile.Print();
  return found.empty() ? StepCost{} : found[0];
}

RunProfile ProfileOf(const TestModel& model, int runs = 2) {
  auto executor = Bind(model);
  return executor->Profile(InputsFor(*executor), runs);
}

TEST(Profile, CountsGroupedConvolutions) {
  TestModel m;
  m.symbol = Op("Convolution", "conv", {Var("x")},
                {{"kernel", "(3, 3)"}, {"num_filter", "8"}, {"num_group", "2"}, {"no_bias", "True"}});
  m.params.args["conv_weight"] = Random({8, 2, 3, 3}, 1);
  m.types["x"] = F32({2, 4, 7, 6});
  const StepCost cost = CostOfWork(ProfileOf(m), "convolution");
  const double outputs = 2 * 8 * 5 * 4;
  EXPECT_EQ(cost.flops, 2 * outputs * (2 * 3 * 3));
  EXPECT_EQ(cost.bytes(), 4 * (2 * 4 * 7 * 6 + 8 * 2 * 3 * 3 + static_cast<std::size_t>(outputs)));
  EXPECT_EQ(cost.dtype, DType::kFloat32);
}

TEST(Profile, CountsDeconvolutionsByTheirInput) {
  TestModel m;
  m.symbol =
      Op("Deconvolution", "deconv", {Var("x")}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"num_filter", "5"}});
  m.params.args["deconv_weight"] = Random({3, 5, 2, 2}, 1);
  m.types["x"] = F32({1, 3, 4, 4});
  EXPECT_EQ(CostOfWork(ProfileOf(m), "deconvolution").flops, 2.0 * (3 * 4 * 4) * (5 * 2 * 2));
}

TEST(Profile, CountsDenseLayersAndProducts) {
  TestModel m;
  m.symbol = Op("FullyConnected", "fc", {Var("x")}, {{"num_hidden", "8"}, {"no_bias", "True"}});
  m.params.args["fc_weight"] = Random({8, 4}, 1);
  m.types["x"] = F32({3, 4});
  EXPECT_EQ(CostOfWork(ProfileOf(m), "inner_product").flops, 2.0 * 3 * 8 * 4);

  TestModel product;
  product.symbol = Op("batch_dot", "dot", {Var("a"), Var("b")});
  product.types["a"] = F32({2, 3, 5});
  product.types["b"] = F32({2, 5, 7});
  EXPECT_EQ(CostOfWork(ProfileOf(product), "matmul").flops, 2.0 * 2 * 3 * 7 * 5);
}

TEST(Profile, WhatIsNoSumOfProductsHasBytesOnly) {
  TestModel m;
  m.symbol = Op("softmax", "soft", {Var("x")});
  m.types["x"] = F32({4, 16});
  const StepCost cost = CostOfWork(ProfileOf(m), "softmax");
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.bytes(), 2u * 4 * 4 * 16);
}

TEST(Profile, TimesEveryStepOfEveryRun) {
  const RunProfile profile = ProfileOf(SmallNet(), 3);
  EXPECT_EQ(profile.num_runs, 3);
  ASSERT_EQ(profile.times.size(), profile.steps.size());
  ASSERT_EQ(profile.features.size(), profile.steps.size());
  double sum = 0;
  for (const StepTimes& step : profile.times) {
    EXPECT_GT(step.median_seconds, 0);
    EXPECT_LE(step.min_seconds, step.median_seconds);
    sum += step.mean_seconds;
  }
  EXPECT_LE(sum, profile.run.mean_seconds);
  EXPECT_NEAR(profile.OutsideShare(), 1 - sum / profile.run.mean_seconds, 1e-9);
}

TEST(Profile, TellsWhatLiesOutsideOfTheSteps) {
  const RunProfile profile{
      std::vector<PlanStep>(1), std::vector<StepFeatures>(1), {{0.001, 0.002, 0.002}}, {0.003, 0.004, 0.004}, 5, 1};
  EXPECT_DOUBLE_EQ(profile.OutsideShare(), 0.5);
  EXPECT_CONTAINS(profile.Print(), "5 runs of 1 steps, 1 threads, 4.000 ms per run (best 3.000), 50.0 % of it");
}

TEST(Profile, AProfiledRunComputesTheSame) {
  auto executor = Bind(SmallNet());
  const std::vector<NDArray> inputs = InputsFor(*executor);
  const std::vector<NDArray> before = executor->Run(inputs);
  executor->Profile(inputs, 2);
  ExpectSameBits(before[0], executor->Run(inputs)[0]);
}

TEST(Profile, RefusesWrongInputsAndNoRuns) {
  auto executor = Bind(SmallNet());
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { executor->Profile({}, 2); }), "expected 1 inputs");
  const std::vector<NDArray> inputs = InputsFor(*executor);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { executor->Profile(inputs, 0); }), "expected 1 or more, got 0");
}

TEST(Profile, TheVariablePrintsOnceWhenTheExecutorEnds) {
  ASSERT_EQ(setenv("AMP_PROFILE", "1", 1), 0);
  auto executor = Bind(SmallNet());
  unsetenv("AMP_PROFILE");
  const std::vector<NDArray> inputs = InputsFor(*executor);
  executor->Run(inputs);
  executor->Run(inputs);
  ::testing::internal::CaptureStderr();
  executor.reset();
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "profile: 2 runs of");
}

TEST(Peak, IsMoreThanNothing) {
  const kernels::ArithmeticPeak peak = kernels::MeasurePeak(1);
  EXPECT_GT(peak.fp32_gflops, 0.1);
  EXPECT_GT(peak.bf16_gflops, 0.1);
}

}  // namespace
}  // namespace amp::onednn
