#include "program/kernel_chooser.h"

#include <gtest/gtest.h>

namespace amp {
namespace {

LayerOptions FourKernels() {
  return {"layer", {{kOneDnnKernel, 10.0}, {"careful", 5.0, 0.4}, {"good", 8.0, 0.9}, {"better", 7.0, 0.9}}};
}

TEST(PredictedKernels, TheFastestThatGainsEnough) {
  EXPECT_EQ(PredictedKernels().Choose(FourKernels()).option, 3u);
  LayerOptions layer = FourKernels();
  layer.options[1].seconds = 3.9;
  EXPECT_EQ(PredictedKernels().Choose(layer).option, 1u);
  layer.options[0].seconds = 4;
  EXPECT_EQ(PredictedKernels().Choose(layer).option, 0u);
}

TEST(PredictedKernels, OfEqualOnesTheFirst) {
  LayerOptions layer = FourKernels();
  layer.options[3].seconds = 8;
  EXPECT_EQ(PredictedKernels().Choose(layer).option, 2u);
}

TEST(PredictedKernels, WithoutTimesNothingIsChosen) {
  LayerOptions layer = FourKernels();
  for (KernelOption& option : layer.options) option.seconds.reset();
  EXPECT_EQ(PredictedKernels().Choose(layer).option, 0u);
}

TEST(RecordedKernels, WhatTimingChose) {
  TunedKernels record;
  record.Set("layer", "good");
  const auto chosen = RecordedKernels(record, std::make_shared<PredictedKernels>()).Choose(FourKernels());
  EXPECT_EQ(chosen.option, 2u);
  EXPECT_TRUE(chosen.is_tuned);
}

TEST(RecordedKernels, ElseWhatIsPredicted) {
  TunedKernels record;
  record.Set("another layer", "good");
  record.Set("layer", "a kernel of another CPU");
  const auto chosen = RecordedKernels(record, std::make_shared<PredictedKernels>()).Choose(FourKernels());
  EXPECT_EQ(chosen.option, 3u);
  EXPECT_FALSE(chosen.is_tuned);
}

TEST(TrustedKernels, NotThoseThatAreWrongButWhatHappensWithoutAChoice) {
  const auto trusted = [](KernelRecord::Known known) {
    return TrustedKernels(std::make_shared<KernelRecord>(std::move(known)), std::make_shared<PredictedKernels>());
  };
  EXPECT_EQ(trusted({}).Choose(FourKernels()).option, 3u);
  EXPECT_EQ(trusted({{"own:better", "wrong"}, {"own:good", "right"}}).Choose(FourKernels()).option, 2u);
  KernelRecord::Known all;
  for (const KernelOption& option : FourKernels().options) all[RecordedName(option.name)] = "wrong";
  EXPECT_EQ(trusted(all).Choose(FourKernels()).option, 0u);
}

TEST(ForcedKernel, WhereverItIsAnOption) {
  EXPECT_EQ(ForcedKernel("careful").Choose(FourKernels()).option, 1u);
  EXPECT_EQ(ForcedKernel("other").Choose(FourKernels()).option, 0u);
}

}  // namespace
}  // namespace amp
