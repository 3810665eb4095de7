#include "dnnl/constants.h"

#include <gtest/gtest.h>

namespace amp::onednn {
namespace {

// A constant, an operator of it, and an output that reads the result.
Program OneConstantStep(const Shape& result) {
  Program program;
  const ValueId constant = program.AddValue({DType::kFloat32, {2}}, "k", ValueSource::kConstant);
  const ValueId derived = program.AddValue({DType::kFloat32, result}, "derived", ValueSource::kComputed);
  program.steps.push_back({KernelSpec{"derive", {}}, {constant}, {derived}, 0, ""});
  program.outputs = {derived};
  return program;
}

TEST(Constants, WhatIsHeldIsNotComputedAgain) {
  ConstantStore store;
  store.AddArrays({{"derived", NDArray(DType::kFloat32, {6})}});
  Program program = OneConstantStep({2, 3});
  RemoveKnownConstants(store, &program);
  EXPECT_TRUE(program.steps.empty());
  EXPECT_EQ(program.values[program.outputs[0]].source, ValueSource::kConstant);
}

TEST(Constants, OfAnotherSizeIsAnother) {
  ConstantStore store;
  store.AddArrays({{"derived", NDArray(DType::kFloat32, {5})}});
  Program program = OneConstantStep({2, 3});
  RemoveKnownConstants(store, &program);
  EXPECT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.values[program.outputs[0]].source, ValueSource::kComputed);
}

}  // namespace
}  // namespace amp::onednn
