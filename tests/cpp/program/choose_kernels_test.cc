#include "program/choose_kernels.h"

#include <gtest/gtest.h>

#include "program/machine_text.h"

namespace amp {
namespace {

using kernels::WinogradKind;

constexpr DType kF32 = DType::kFloat32, kBF16 = DType::kBFloat16;

// One convolution of constant weights, 128 to 128 channels.
Program OneConvolution(DType dtype, std::int64_t size, const IntTuple& strides = {1, 1}) {
  Program program;
  const ValueId x = program.AddValue({dtype, {1, 128, size, size}}, "x", ValueSource::kInput);
  const ValueId w = program.AddValue({dtype, {128, 128, 3, 3}}, "w", ValueSource::kConstant);
  const std::int64_t out = (size - 1) / strides[0] + 1;
  const ValueId y = program.AddValue({dtype, {1, 128, out, out}}, "y", ValueSource::kComputed);
  program.steps.push_back({ConvolutionSpec{strides, {0, 0}, {1, 1}, {1, 1}}, {x, w}, {y}, 0, ""});
  return program;
}

// Arithmetic at these speeds; memory takes no time.
std::shared_ptr<const MachineTable> Machine(double bf16_flops) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  file["flops_per_second"]["bfloat16"] = bf16_flops;
  return MachineTable::Parse(file.dump(), "test");
}

std::optional<WinogradKind> Chosen(Program program, double bf16_flops = 2e9, bool has_bf16 = true) {
  ChooseKernels(*Machine(bf16_flops), has_bf16, &program);
  return std::get<ConvolutionSpec>(program.steps[0].spec).winograd;
}

TEST(ChooseKernels, WhereItTakesLessTime) {
  EXPECT_EQ(Chosen(OneConvolution(kF32, 28)), WinogradKind::kF4x4);
  EXPECT_EQ(Chosen(OneConvolution(kF32, 1)), std::nullopt);  // of a tile of sixteen results one is read
}

TEST(ChooseKernels, ByTheSpeedOfBFloat16) {
  EXPECT_EQ(Chosen(OneConvolution(kBF16, 28), 1e9), WinogradKind::kF4x4);
  EXPECT_EQ(Chosen(OneConvolution(kBF16, 28), 1.9e9), WinogradKind::kF2x2BF16);
  EXPECT_EQ(Chosen(OneConvolution(kBF16, 28), 1.9e9, false), WinogradKind::kF4x4);
}

TEST(ChooseKernels, OnlyConvolutionsThatTheKernelKnows) {
  EXPECT_EQ(Chosen(OneConvolution(kF32, 28, {2, 2})), std::nullopt);
  Program tanh = OneConvolution(kF32, 28);
  tanh.steps[0].post_ops.push_back({EltwiseSpec{EltwiseKind::kTanh}});
  EXPECT_EQ(Chosen(tanh), std::nullopt);
  Program relu = OneConvolution(kF32, 28);
  relu.steps[0].post_ops.push_back({EltwiseSpec{EltwiseKind::kRelu}});
  EXPECT_EQ(Chosen(relu), WinogradKind::kF4x4);
}

// They would have to be transformed in every run.
TEST(ChooseKernels, WeightsThatAreNoConstantsStayAsTheyAre) {
  Program program = OneConvolution(kF32, 28);
  program.values[1].source = ValueSource::kInput;
  EXPECT_EQ(Chosen(program), std::nullopt);
}

}  // namespace
}  // namespace amp
