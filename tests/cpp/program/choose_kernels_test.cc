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

// A scale and a shift, and a 1x1 convolution of what they give.
Program ScaledPointwise(DType dtype) {
  Program program;
  const ValueId x = program.AddValue({dtype, {1, 64, 28, 28}}, "x", ValueSource::kInput);
  const ValueId scale = program.AddValue({kF32, {64}}, "scale", ValueSource::kConstant);
  const ValueId shift = program.AddValue({kF32, {64}}, "shift", ValueSource::kConstant);
  const ValueId scaled = program.AddValue({dtype, {1, 64, 28, 28}}, "scaled", ValueSource::kComputed);
  const ValueId w = program.AddValue({dtype, {128, 64, 1, 1}}, "w", ValueSource::kConstant);
  const ValueId y = program.AddValue({dtype, {1, 128, 28, 28}}, "y", ValueSource::kComputed);
  program.steps.push_back({ScaleShiftSpec{0, 6}, {x, scale, shift}, {scaled}, 0, ""});
  program.steps.push_back({ConvolutionSpec{{1, 1}, {0, 0}, {0, 0}, {0, 0}}, {scaled, w}, {y}, 1, ""});
  program.outputs = {y};
  return program;
}

// The library takes `ratio` (log 2) times what arithmetic takes; a pass over memory takes a quarter of that.
Program WithPointwise(Program program, double ratio, double bf16_flops = 2e9) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["flops_per_second"]["bfloat16"] = bf16_flops;
  file["bytes_per_second"] = {{1 << 30, 1e8}};
  for (const char* dtype : {"float32", "bfloat16"}) {
    file["steps"][std::string("convolution_1x1 ") + dtype] = {{0, 0, 0, 0, 0, 0, 0, ratio}};
  }
  ChooseKernels(*MachineTable::Parse(file.dump(), "test"), true, &program);
  return program;
}

std::optional<DType> ProductOf(const Program& program) {
  return std::get<ConvolutionSpec>(program.steps.back().spec).pointwise;
}

TEST(ChooseKernels, ProductsWhereTheLibraryIsSlow) {
  Program shared = ScaledPointwise(kF32);
  shared.outputs.push_back(shared.steps[0].outputs[0]);
  EXPECT_EQ(ProductOf(WithPointwise(shared, 0)), std::nullopt);
  EXPECT_EQ(ProductOf(WithPointwise(shared, 4)), kF32);
  EXPECT_EQ(WithPointwise(shared, 4).steps.size(), 2u);  // what else is read stays
}

TEST(ChooseKernels, ProductsTakeTheScaleOfTheirSource) {
  const Program program = WithPointwise(ScaledPointwise(kF32), 1);
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.steps[0].inputs, (std::vector<ValueId>{0, 4, 1, 2}));
  EXPECT_EQ(std::get<ConvolutionSpec>(program.steps[0].spec).source_bounds, std::pair(0.0f, 6.0f));
  EXPECT_EQ(WithPointwise(ScaledPointwise(kF32), -3).steps.size(), 2u);
}

TEST(ChooseKernels, ProductsByTheSpeedOfBFloat16) {
  EXPECT_EQ(ProductOf(WithPointwise(ScaledPointwise(kBF16), 1)), kBF16);
  EXPECT_EQ(ProductOf(WithPointwise(ScaledPointwise(kBF16), 1, 5e8)), kF32);
}

}  // namespace
}  // namespace amp
