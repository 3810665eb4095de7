#include "program/choose_kernels.h"

#include <gtest/gtest.h>

#include "program/kernel_candidates.h"
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
  const auto machine = Machine(bf16_flops);
  ChooseKernels(PredictedKernels(), {machine.get(), has_bf16}, &program);
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

// 128 rows of 256 numbers, to 512.
Program OneDense(DType dtype) {
  Program program;
  const ValueId x = program.AddValue({dtype, {128, 256}}, "x", ValueSource::kInput);
  const ValueId w = program.AddValue({dtype, {512, 256}}, "w", ValueSource::kConstant);
  const ValueId y = program.AddValue({dtype, {128, 512}}, "y", ValueSource::kComputed);
  program.steps.push_back({InnerProductSpec{}, {x, w}, {y}, 0, ""});
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
  const auto machine = MachineTable::Parse(file.dump(), "test");
  ChooseKernels(PredictedKernels(), {machine.get(), true}, &program);
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

std::optional<DType> DenseProduct(Program program, double ratio, double bf16_flops = 2e9) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["flops_per_second"]["bfloat16"] = bf16_flops;
  for (const char* dtype : {"float32", "bfloat16"}) {
    file["steps"][std::string("inner_product ") + dtype] = {{0, 0, 0, 0, ratio}};
  }
  const auto machine = MachineTable::Parse(file.dump(), "test");
  ChooseKernels(PredictedKernels(), {machine.get(), true}, &program);
  return std::get<InnerProductSpec>(program.steps[0].spec).product;
}

TEST(ChooseKernels, DenseLayersWhereTheLibraryIsSlow) {
  EXPECT_EQ(DenseProduct(OneDense(kF32), 0), std::nullopt);
  EXPECT_EQ(DenseProduct(OneDense(kF32), 1), kF32);
  EXPECT_EQ(DenseProduct(OneDense(kBF16), 1), kBF16);
  EXPECT_EQ(DenseProduct(OneDense(kBF16), 1, 5e8), kF32);
}

TEST(ChooseKernels, DenseLayersThatTheKernelKnows) {
  const auto with = [](const PostOp& op) {
    Program program = OneDense(kF32);
    program.steps[0].inputs.push_back(program.AddValue({kF32, {128, 512}}, "operand", ValueSource::kInput));
    program.steps[0].post_ops = {op};
    return DenseProduct(program, 1);
  };
  for (const EltwiseKind kind : {EltwiseKind::kGeluErf, EltwiseKind::kGeluTanh, EltwiseKind::kTanh,
                                 EltwiseKind::kSigmoid, EltwiseKind::kElu, EltwiseKind::kRelu}) {
    EXPECT_EQ(with({EltwiseSpec{kind, 0.5f}}), kF32) << static_cast<int>(kind);
  }
  EXPECT_EQ(with({EltwiseSpec{EltwiseKind::kMish}}), std::nullopt);
  EXPECT_EQ(with({SumSpec{}, 2}), kF32);
  EXPECT_EQ(with({BinarySpec{BinaryKind::kMul}, 2}), std::nullopt);
  Program few_rows = OneDense(kF32);
  few_rows.values[0].type.shape = {63, 256};
  few_rows.values[2].type.shape = {63, 512};
  EXPECT_EQ(DenseProduct(few_rows, 1), std::nullopt);
  Program given = OneDense(kF32);
  given.values[1].source = ValueSource::kInput;
  EXPECT_EQ(DenseProduct(given, 1), std::nullopt);
}

// A measured law needs no other margin than all measured laws.
TEST(ChooseKernels, ProductsGainLessWhereTheyAreMeasured) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  file["steps"]["convolution_1x1 float32"] = {{0, 0, 0, 0, 0, 0, 0, 1}};
  const auto chosen = [&] {
    Program program = ScaledPointwise(kF32);
    program.outputs.push_back(program.steps[0].outputs[0]);  // the scale stays a step of its own
    const auto machine = MachineTable::Parse(file.dump(), "test");
    ChooseKernels(PredictedKernels(), {machine.get(), true}, &program);
    return ProductOf(program);
  };
  EXPECT_EQ(chosen(), std::nullopt);
  file["steps"]["convolution_pointwise_float32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(chosen(), kF32);
  file["steps"]["convolution_pointwise_float32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 1}};
  EXPECT_EQ(chosen(), std::nullopt);
}

// ---- choices that no times are needed for ----

std::vector<LayerDecision> Force(const std::string& kernel, Program* program, bool has_bf16 = true) {
  return ChooseKernels(ForcedKernel(kernel), {nullptr, has_bf16, 2}, program);
}

std::string KernelOf(const Step& step) { return step.choice ? step.choice->kernel : ""; }

TEST(ChooseKernels, ForcedWhereverItIsLegal) {
  for (const KernelCandidate& candidate : KernelCandidates()) {
    int count = 0;
    for (const DType dtype : {kF32, kBF16}) {
      for (Program program :
           {OneConvolution(dtype, 28), OneConvolution(dtype, 28, {2, 2}), ScaledPointwise(dtype), OneDense(dtype)}) {
        Force(candidate.name, &program);
        count += KernelOf(program.steps.back()) == candidate.name;
      }
    }
    const bool is_bf16 = std::string(candidate.name).find("bf") != std::string::npos;
    EXPECT_EQ(count, is_bf16 ? 1 : 2) << candidate.name;
  }
}

TEST(ChooseKernels, ForcedNowhereElse) {
  Program strided = OneConvolution(kF32, 28, {2, 2});
  EXPECT_TRUE(Force("winograd_f4x4_f32", &strided).empty());
  EXPECT_EQ(KernelOf(strided.steps[0]), "");
  Program without_bf16 = OneConvolution(kBF16, 28);
  Force("winograd_f2x2_bf16", &without_bf16, false);
  EXPECT_EQ(KernelOf(without_bf16.steps[0]), kLibraryKernel);
  Program read_twice = ScaledPointwise(kF32);
  read_twice.outputs.push_back(read_twice.steps[0].outputs[0]);
  Force("scaled_pointwise_float32", &read_twice);
  EXPECT_EQ(KernelOf(read_twice.steps.back()), kLibraryKernel);
}

TEST(ChooseKernels, TheLibraryAlone) {
  Program program = ScaledPointwise(kF32);
  Force(kLibraryKernel, &program);
  ASSERT_EQ(program.steps.size(), 2u);
  EXPECT_EQ(KernelOf(program.steps[1]), kLibraryKernel);
  EXPECT_EQ(program.steps[1].choice->predicted_seconds, std::nullopt);
}

TEST(ChooseKernels, TellsWhatItDecided) {
  Program program = ScaledPointwise(kF32);
  const std::vector<LayerDecision> decisions = Force("scaled_pointwise_float32", &program);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].kernels, (std::vector<std::string>{kLibraryKernel, "pointwise_float32"}));
  EXPECT_EQ(decisions[0].chosen, 0u);
  EXPECT_EQ(decisions[0].nodes, std::vector<NodeId>{1});
  EXPECT_EQ(decisions[1].kernels, (std::vector<std::string>{kSeparateSteps, "scaled_pointwise_float32"}));
  EXPECT_EQ(decisions[1].chosen, 1u);
  EXPECT_EQ(decisions[1].nodes, (std::vector<NodeId>{1, 0}));
  EXPECT_EQ(program.steps[0].fused, std::vector<NodeId>{0});
}

TEST(ChooseKernels, ReplaysARecord) {
  Program given = OneConvolution(kF32, 28);
  TunedKernels record;
  record.Set(Force(kLibraryKernel, &given)[0].key, "winograd_f4x4_f32");
  const auto chosen = [&](int num_threads, std::int64_t size) {
    Program program = OneConvolution(kF32, size);
    ChooseKernels(RecordedKernels(record, std::make_shared<PredictedKernels>()), {nullptr, true, num_threads},
                  &program);
    return *program.steps[0].choice;
  };
  EXPECT_EQ(chosen(2, 28).kernel, "winograd_f4x4_f32");
  EXPECT_TRUE(chosen(2, 28).is_tuned);
  EXPECT_EQ(chosen(1, 28).kernel, kLibraryKernel);  // other threads
  EXPECT_EQ(chosen(2, 14).kernel, kLibraryKernel);
  EXPECT_FALSE(chosen(2, 14).is_tuned);
}

TEST(ChooseKernels, SaysWhatItPredicts) {
  Program program = OneConvolution(kF32, 28);
  const auto machine = Machine(2e9);
  ChooseKernels(PredictedKernels(), {machine.get(), true}, &program);
  EXPECT_EQ(program.steps[0].choice->kernel, "winograd_f4x4_f32");
  EXPECT_GT(program.steps[0].choice->predicted_seconds.value(), 0);
}

}  // namespace
}  // namespace amp
