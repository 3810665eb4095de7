#include "program/choose_kernels.h"

#include <gtest/gtest.h>

#include "nnvm/short_dtypes.h"
#include "program/layer_kernel.h"
#include "program/machine_text.h"

namespace amp {
namespace {

using testing::kBF16;
using testing::kF32;

constexpr MachineCapabilities kWithBF16{.has_bf16 = true, .onednn_has_bf16 = true, .onednn_is_channels_last = true};

// kWithBF16 where oneDNN's convolutions of images read channels last or not.
MachineCapabilities Of(bool onednn_is_channels_last) {
  MachineCapabilities capabilities = kWithBF16;
  capabilities.onednn_is_channels_last = onednn_is_channels_last;
  return capabilities;
}

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

// OneConvolution with a window of another size, and as many results.
Program WithWindow(DType dtype, std::int64_t height, std::int64_t width) {
  Program program = OneConvolution(dtype, 28);
  program.values[1].type.shape = {128, 128, height, width};
  auto& spec = std::get<ConvolutionSpec>(program.steps[0].spec);
  spec.pads_begin = spec.pads_end = {height / 2, width / 2};
  return program;
}

// Arithmetic at these speeds; memory takes no time unless said.
std::shared_ptr<const MachineTable> MachineOfSpeeds(double bf16_flops, double bytes_per_second = 1e15) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, bytes_per_second}};
  file["flops_per_second"]["bfloat16"] = bf16_flops;
  return MachineTable::Parse(file.dump(), "test");
}

std::string KernelOf(const Step& step) { return step.choice ? step.choice->name() : ""; }

// The kernel of the first step, or "" where oneDNN computes it.
std::string OwnKernelOf(const Step& step) { return step.layer() == nullptr ? "" : step.choice->name(); }

std::string Chosen(Program program, const MachineTable& machine, bool has_int16 = true) {
  MachineCapabilities capabilities = kWithBF16;
  capabilities.has_int16 = has_int16;
  ChooseKernels(PredictedKernels(), capabilities, &machine, &program);
  const std::string kernel = OwnKernelOf(program.steps[0]);
  return kernel.starts_with("winograd") ? kernel : "";
}

std::string Chosen(Program program, double bf16_flops = 2e9, bool has_int16 = true) {
  return Chosen(std::move(program), *MachineOfSpeeds(bf16_flops), has_int16);
}

TEST(ChooseKernels, WhereItTakesLessTime) {
  EXPECT_EQ(Chosen(OneConvolution(kF32, 28)), "winograd_f4x4_f32");
  EXPECT_EQ(Chosen(OneConvolution(kF32, 1)), "");  // of a tile of sixteen results one is read
}

// Weights of smaller tiles are 2.25 times smaller.
TEST(ChooseKernels, SmallTilesWhereWeightsTakeTheTime) {
  EXPECT_EQ(Chosen(OneConvolution(kF32, 8), *MachineOfSpeeds(2e9, 1e8)), "winograd_f2x2_f32");
  EXPECT_EQ(Chosen(OneConvolution(kF32, 8), *MachineOfSpeeds(2e9, 1e9)), "winograd_f4x4_f32");
}

// Fixed-point numbers are no more than bfloat16 asks for, and less than float32 does.
TEST(ChooseKernels, Int16WhereTheLayerIsBFloat16) {
  EXPECT_EQ(Chosen(OneConvolution(kBF16, 28), 1e9), "winograd_f4x4_int16");
  EXPECT_EQ(Chosen(OneConvolution(kBF16, 28), 1.9e9), "winograd_f4x4_int16");
  EXPECT_EQ(Chosen(OneConvolution(kBF16, 28), 1.9e9, false), "winograd_f4x4_f32");
  EXPECT_EQ(Chosen(OneConvolution(kF32, 28), 1.9e9), "winograd_f4x4_f32");
}

TEST(ChooseKernels, OnlyConvolutionsThatTheKernelKnows) {
  EXPECT_EQ(Chosen(OneConvolution(kF32, 28, {2, 2})), "");
  Program tanh = OneConvolution(kF32, 28);
  tanh.steps[0].post_ops.push_back({EltwiseSpec{EltwiseKind::kTanh}});
  EXPECT_EQ(Chosen(tanh), "");
  Program relu = OneConvolution(kF32, 28);
  relu.steps[0].post_ops.push_back({EltwiseSpec{EltwiseKind::kRelu}});
  EXPECT_EQ(Chosen(relu), "winograd_f4x4_f32");
}

// They are transformed in every run: that has to pay.
TEST(ChooseKernels, WeightsThatAreNoConstants) {
  for (const std::int64_t size : {8, 112}) {
    const auto machine = MachineOfSpeeds(2e9, 1e8);
    Program program = OneConvolution(kF32, size);
    EXPECT_NE(Chosen(program, *machine), "") << size;
    program.values[1].source = ValueSource::kInput;
    EXPECT_EQ(Chosen(program, *machine).empty(), size != 112) << size;
  }
}

// A deconvolution of constant weights, 128 to 128 channels, whose result is `strides` times as large, and `more`.
Program OneDeconvolution(const IntTuple& strides, std::int64_t kernel, std::int64_t pad, std::int64_t more = 0,
                         DType dtype = kF32) {
  constexpr std::int64_t kSize = 28;
  Program program = OneConvolution(dtype, kSize);
  const IntTuple begin{pad, pad}, end{kernel - strides[0] - pad - more, kernel - strides[1] - pad - more};
  program.steps[0].spec = DeconvolutionSpec{strides, {0, 0}, begin, end};
  program.values[1].type.shape = {128, 128, kernel, kernel};
  program.values[2].type.shape = {1, 128, kSize * strides[0] + more, kSize * strides[1] + more};
  return program;
}

std::string ChosenDeconvolution(Program program, const MachineTable& machine) {
  ChooseKernels(PredictedKernels(), kWithBF16, &machine, &program);
  return OwnKernelOf(program.steps[0]);
}

// Each is so many convolutions: of windows of 3x3 here.
TEST(ChooseKernels, Deconvolutions) {
  const auto machine = MachineOfSpeeds(2e9);
  EXPECT_EQ(ChosenDeconvolution(OneDeconvolution({1, 1}, 3, 1), *machine), "winograd_f4x4_f32");
  EXPECT_EQ(ChosenDeconvolution(OneDeconvolution({2, 2}, 6, 2), *machine), "winograd_f4x4_f32");
  EXPECT_EQ(ChosenDeconvolution(OneDeconvolution({2, 2}, 5, 1), *machine), "winograd_f4x4_f32");
  EXPECT_EQ(ChosenDeconvolution(OneDeconvolution({3, 3}, 8, 2), *machine), "winograd_f4x4_f32");
  EXPECT_EQ(ChosenDeconvolution(OneDeconvolution({2, 2}, 6, 1, 1), *machine), "");  // of unlike sizes
  EXPECT_EQ(ChosenDeconvolution(OneDeconvolution({2, 1}, 6, 2), *machine), "");
  EXPECT_EQ(ChosenDeconvolution(OneDeconvolution({2, 2}, 6, 5), *machine), "");  // more than a window
  EXPECT_EQ(ChosenDeconvolution(OneDeconvolution({2, 2}, 2, 0), *machine), "");
  Program dilated = OneDeconvolution({2, 2}, 6, 2);
  std::get<DeconvolutionSpec>(dilated.steps[0].spec).dilates = {1, 1};
  EXPECT_EQ(ChosenDeconvolution(dilated, *machine), "");
}

TEST(ChooseKernels, DeconvolutionsOfWindowsOf2x2WhereTheyAreMeasured) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  const auto chosen = [&] {
    return ChosenDeconvolution(OneDeconvolution({2, 2}, 4, 1), *MachineTable::Parse(file.dump(), "test"));
  };
  EXPECT_EQ(chosen(), "");
  file["steps"]["winograd_2x2_f32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(chosen(), "winograd_2x2_f32");
}

// A deconvolution whose sums are float32, and a step that adds a bias.
Program BiasedDeconvolution(std::int64_t kernel, std::int64_t pad, DType dtype = kF32) {
  Program program = OneDeconvolution({2, 2}, kernel, pad, 0, dtype);
  const Shape shape = program.values[2].type.shape;
  const ValueId bias = program.AddValue({kF32, {1, 128, 1, 1}}, "bias", ValueSource::kConstant);
  const ValueId result = program.AddValue({dtype, shape}, "result", ValueSource::kComputed);
  program.values[2].type.dtype = kF32;
  program.steps.push_back({BinarySpec{BinaryKind::kAdd}, {2, bias}, {result}, 1, ""});
  program.outputs = {result};
  return program;
}

// The library adds no bias; our kernel does, with what follows.
TEST(ChooseKernels, DeconvolutionsFinish) {
  const auto machine = MachineOfSpeeds(2e9);
  Program program = BiasedDeconvolution(6, 2), library = BiasedDeconvolution(6, 5);
  ChooseKernels(PredictedKernels(), kWithBF16, machine.get(), &program);
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.steps[0].inputs, (std::vector<ValueId>{0, 1, 3}));
  ChooseKernels(PredictedKernels(), kWithBF16, machine.get(), &library);
  EXPECT_EQ(library.steps.size(), 2u);
}

// A scale and a shift, and a 1x1 convolution of what they give.
Program ScaledGemm(DType dtype, std::int64_t in = 64, std::int64_t out = 128) {
  Program program;
  const ValueId x = program.AddValue({dtype, {1, in, 28, 28}}, "x", ValueSource::kInput);
  const ValueId scale = program.AddValue({kF32, {in}}, "scale", ValueSource::kConstant);
  const ValueId shift = program.AddValue({kF32, {in}}, "shift", ValueSource::kConstant);
  const ValueId scaled = program.AddValue({dtype, {1, in, 28, 28}}, "scaled", ValueSource::kComputed);
  const ValueId w = program.AddValue({dtype, {out, in, 1, 1}}, "w", ValueSource::kConstant);
  const ValueId y = program.AddValue({dtype, {1, out, 28, 28}}, "y", ValueSource::kComputed);
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

// A convolution of an image with few channels, 5x5 with stride 2.
Program OfImage(DType dtype, std::int64_t channels = 3) {
  Program program;
  const ValueId x = program.AddValue({dtype, {1, channels, 32, 32}}, "x", ValueSource::kInput);
  const ValueId w = program.AddValue({dtype, {64, channels, 5, 5}}, "w", ValueSource::kConstant);
  const ValueId y = program.AddValue({dtype, {1, 64, 16, 16}}, "y", ValueSource::kComputed);
  program.steps.push_back({ConvolutionSpec{{2, 2}, {0, 0}, {2, 2}, {2, 2}}, {x, w}, {y}, 0, ""});
  program.outputs = {y};
  return program;
}

// OfImage with an image that is converted before.
Program OfCastImage() {
  Program program = OfImage(kBF16);
  const ValueId image = program.AddValue({kF32, {1, 3, 32, 32}}, "image", ValueSource::kInput);
  program.values[0].source = ValueSource::kComputed;
  program.steps.insert(program.steps.begin(), {CastSpec{}, {image}, {0}, 1, ""});
  return program;
}

// OfImage with max pooling of 3x3 behind it.
Program OfPooledImage(DType dtype) {
  Program program = OfImage(dtype);
  const ValueId pooled = program.AddValue({dtype, {1, 64, 8, 8}}, "pooled", ValueSource::kComputed);
  program.steps.push_back({PoolingSpec{PoolingKind::kMax, {3, 3}, {2, 2}, {1, 1}, {0, 0}}, {2}, {pooled}, 1, ""});
  program.outputs = {pooled};
  return program;
}

// The library takes `ratio` (log 2) times what arithmetic takes; a pass over memory takes a quarter of that.
Program WithGemm(Program program, double ratio, double bf16_flops = 2e9) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["flops_per_second"]["bfloat16"] = bf16_flops;
  file["bytes_per_second"] = {{1 << 30, 1e8}};
  for (const char* dtype : {"float32", "bfloat16"}) {
    file["steps"][std::string("convolution_1x1 ") + dtype] = {{0, 0, 0, 0, 0, 0, 0, ratio}};
  }
  const auto machine = MachineTable::Parse(file.dump(), "test");
  ChooseKernels(PredictedKernels(), kWithBF16, machine.get(), &program);
  return program;
}

std::string ProductOf(const Program& program) { return OwnKernelOf(program.steps.back()); }

// The kernel of a product whose scale stays a step of its own.
std::string SharedProduct(DType dtype, const nlohmann::ordered_json& file) {
  Program program = ScaledGemm(dtype);
  program.outputs.push_back(program.steps[0].outputs[0]);
  const auto machine = MachineTable::Parse(file.dump(), "test");
  ChooseKernels(PredictedKernels(), kWithBF16, machine.get(), &program);
  return ProductOf(program);
}

TEST(ChooseKernels, ProductsWhereTheLibraryIsSlow) {
  Program shared = ScaledGemm(kF32);
  shared.outputs.push_back(shared.steps[0].outputs[0]);
  EXPECT_EQ(ProductOf(WithGemm(shared, 0)), "");
  EXPECT_EQ(ProductOf(WithGemm(shared, 4)), "gemm_float32");
  EXPECT_EQ(WithGemm(shared, 4).steps.size(), 2u);  // what else is read stays
}

TEST(ChooseKernels, ProductsTakeTheScaleOfTheirSource) {
  const Program program = WithGemm(ScaledGemm(kF32), 1);
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.steps[0].inputs, (std::vector<ValueId>{0, 4, 1, 2}));
  EXPECT_EQ(ProductOf(program), "scaled_gemm_float32");
  EXPECT_EQ(WithGemm(ScaledGemm(kF32), -3).steps.size(), 2u);
}

TEST(ChooseKernels, ProductsByTheSpeedOfBFloat16) {
  EXPECT_EQ(ProductOf(WithGemm(ScaledGemm(kBF16), 1)), "scaled_gemm_bfloat16");
  EXPECT_EQ(ProductOf(WithGemm(ScaledGemm(kBF16), 1, 5e8)), "scaled_gemm_float32");
}

// What is faster than vectors is so by tiles; only measured times say how fast our kernels are beside them.
TEST(ChooseKernels, ProductsBesideTiles) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["flops_per_second"]["bfloat16"] = 9e9;
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  file["steps"]["convolution_1x1 bfloat16"] = {{0, 0, 0, 0, 0, 0, 0, 4}};
  EXPECT_NE(SharedProduct(kBF16, file), "gemm_bfloat16");
  Program scaled = ScaledGemm(kBF16);
  const auto machine = MachineTable::Parse(file.dump(), "test");
  ChooseKernels(PredictedKernels(), kWithBF16, machine.get(), &scaled);
  EXPECT_FALSE(ProductOf(scaled).ends_with("bfloat16"));
  file["steps"]["gemm_bfloat16 bfloat16"] = {{0, 0, 0, 0, 0, 0, 0, 2}};
  EXPECT_EQ(SharedProduct(kBF16, file), "gemm_bfloat16");
}

// A formula would promise half of the time.
TEST(ChooseKernels, ProductsOfInt16WhereTheyAreMeasured) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["flops_per_second"]["bfloat16"] = 5e8;
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  file["steps"]["inner_product bfloat16"] = {{0, 0, 0, 0, 4}};
  const auto chosen = [&] {
    Program dense = OneDense(kBF16);
    const auto machine = MachineTable::Parse(file.dump(), "test");
    MachineCapabilities capabilities = kWithBF16;
    capabilities.has_int16 = true;
    ChooseKernels(PredictedKernels(), capabilities, machine.get(), &dense);
    return OwnKernelOf(dense.steps[0]);
  };
  EXPECT_NE(chosen(), "dense_int16");
  file["steps"]["dense_int16 bfloat16"] = {{0, 0, 0, 0, 0}};
  EXPECT_EQ(chosen(), "dense_int16");
}

TEST(ChooseKernels, WindowsOfOtherSizesWhereTheyAreMeasured) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  const auto chosen = [&] { return Chosen(WithWindow(kF32, 7, 1), *MachineTable::Parse(file.dump(), "test")); };
  EXPECT_EQ(chosen(), "");
  file["steps"]["winograd_1x7_f32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(chosen(), "winograd_1x7_f32");
  file["steps"]["winograd_1x7_f32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 2}};
  EXPECT_EQ(chosen(), "");
}

// They are taken to be as 3x3, where these were.
TEST(ChooseKernels, WindowsOfOtherSizesLikeThoseThatAreMeasured) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  const auto chosen = [&](DType dtype) {
    return Chosen(WithWindow(dtype, 5, 5), *MachineTable::Parse(file.dump(), "test"));
  };
  file["steps"]["winograd_f4x4_f32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(chosen(kF32), "winograd_5x5_f32");
  EXPECT_EQ(chosen(kBF16), "");
  file["steps"]["winograd_f4x4_int16 bfloat16"] = {{0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(chosen(kBF16), "winograd_5x5_int16");
  file["steps"]["winograd_f4x4_f32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 3}};
  EXPECT_EQ(chosen(kF32), "");
}

TEST(ChooseKernels, StrassensAlgorithmWhereItIsMeasured) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  file["steps"]["inner_product float32"] = {{0, 0, 0, 0, 1}};
  file["steps"]["dense_float32 float32"] = {{0, 0, 0, 0, 0.1}};
  const auto chosen = [&] {
    Program dense = OneDense(kF32);
    const auto machine = MachineTable::Parse(file.dump(), "test");
    ChooseKernels(PredictedKernels(), kWithBF16, machine.get(), &dense);
    return OwnKernelOf(dense.steps[0]);
  };
  EXPECT_EQ(chosen(), "dense_float32");
  file["steps"]["dense_strassen_float32 float32"] = {{0, 0, 0, 0, 0}};
  EXPECT_EQ(chosen(), "dense_strassen_float32");
}

// No formula promises what registers of tiles gain.
TEST(ChooseKernels, WinogradByTilesWhereItIsMeasured) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  const auto chosen = [&](bool has_tiles) {
    Program program = OneConvolution(kBF16, 28);
    const auto machine = MachineTable::Parse(file.dump(), "test");
    MachineCapabilities capabilities = kWithBF16;
    capabilities.has_tiles = has_tiles;
    ChooseKernels(PredictedKernels(), capabilities, machine.get(), &program);
    return OwnKernelOf(program.steps[0]);
  };
  EXPECT_NE(chosen(true), "winograd_f1x4_bf16");
  file["steps"]["winograd_f1x4_bf16 bfloat16"] = {{0, 0, 0, 0, 0, 0, 0, -4}};
  EXPECT_EQ(chosen(true), "winograd_f1x4_bf16");
  EXPECT_NE(chosen(false), "winograd_f1x4_bf16");
}

std::string DenseProduct(Program program, double ratio, double bf16_flops = 2e9) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["flops_per_second"]["bfloat16"] = bf16_flops;
  for (const char* dtype : {"float32", "bfloat16"}) {
    file["steps"][std::string("inner_product ") + dtype] = {{0, 0, 0, 0, ratio}};
  }
  const auto machine = MachineTable::Parse(file.dump(), "test");
  ChooseKernels(PredictedKernels(), kWithBF16, machine.get(), &program);
  return OwnKernelOf(program.steps[0]);
}

TEST(ChooseKernels, DenseLayersWhereTheLibraryIsSlow) {
  EXPECT_EQ(DenseProduct(OneDense(kF32), 0), "");
  EXPECT_EQ(DenseProduct(OneDense(kF32), 1), "dense_float32");
  EXPECT_EQ(DenseProduct(OneDense(kBF16), 1), "dense_bfloat16");
  EXPECT_EQ(DenseProduct(OneDense(kBF16), 1, 5e8), "dense_float32");
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
    EXPECT_EQ(with({EltwiseSpec{kind, 0.5f}}), "dense_float32") << static_cast<int>(kind);
  }
  EXPECT_EQ(with({EltwiseSpec{EltwiseKind::kMish}}), "");
  EXPECT_EQ(with({SumSpec{}, 2}), "dense_float32");
  EXPECT_EQ(with({BinarySpec{BinaryKind::kMul}, 2}), "");
  Program few_rows = OneDense(kF32);
  few_rows.values[0].type.shape = {63, 256};
  few_rows.values[2].type.shape = {63, 512};
  EXPECT_EQ(DenseProduct(few_rows, 1), "");
  Program given = OneDense(kF32);
  given.values[1].source = ValueSource::kInput;
  EXPECT_EQ(DenseProduct(given, 1), "");
}

// A measured law needs no other margin than all measured laws.
TEST(ChooseKernels, ProductsGainLessWhereTheyAreMeasured) {
  nlohmann::ordered_json file = testing::MachineFile();
  file["bytes_per_second"] = {{1 << 30, 1e15}};
  file["steps"]["convolution_1x1 float32"] = {{0, 0, 0, 0, 0, 0, 0, 1}};
  EXPECT_EQ(SharedProduct(kF32, file), "");
  file["steps"]["gemm_float32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(SharedProduct(kF32, file), "gemm_float32");
  file["steps"]["gemm_float32 float32"] = {{0, 0, 0, 0, 0, 0, 0, 1}};
  EXPECT_EQ(SharedProduct(kF32, file), "");
}

// An inverted residual, of constant weights: 24 to 144 channels, depthwise, and back; the last adds the source.
Program InvertedResidualProgram(DType dtype, EltwiseSpec middle = {EltwiseKind::kRelu}) {
  Program program;
  const auto value = [&](const Shape& shape, const char* name, ValueSource source = ValueSource::kComputed) {
    return program.AddValue({dtype, shape}, name, source);
  };
  const ValueId x = value({1, 24, 28, 28}, "x", ValueSource::kInput);
  const ValueId expand = value({144, 24, 1, 1}, "expand", ValueSource::kConstant);
  const ValueId weights = value({144, 1, 1, 3, 3}, "weights", ValueSource::kConstant);
  const ValueId project = value({24, 144, 1, 1}, "project", ValueSource::kConstant);
  const ValueId e = value({1, 144, 28, 28}, "e"), d = value({1, 144, 28, 28}, "d"), y = value({1, 24, 28, 28}, "y");
  const ConvolutionSpec product{{1, 1}, {0, 0}, {0, 0}, {0, 0}}, window{{1, 1}, {0, 0}, {1, 1}, {1, 1}};
  program.steps.push_back({product, {x, expand}, {e}, 0, ""});
  program.steps.push_back({window, {e, weights}, {d}, 1, ""});
  program.steps.push_back({product, {d, project, x}, {y}, 2, ""});
  program.steps[1].post_ops.push_back({middle});
  program.steps[2].post_ops.push_back({SumSpec{}, 2});
  program.outputs = {y};
  return program;
}

// ---- choices that no times are needed for ----

std::vector<LayerDecision> Force(const std::string& kernel, Program* program, bool has_low = true) {
  const MachineCapabilities capabilities{has_low, has_low, has_low, true, true};
  return ChooseKernels(ForcedKernel(kernel), capabilities, nullptr, program, 2);
}

TEST(ChooseKernels, ForcedWhereverItIsLegal) {
  for (const auto& [name, kernel] : LayerKernels()) {
    int count = 0;
    for (const DType dtype : {kF32, kBF16}) {
      for (Program program : {OneConvolution(dtype, 28), OneConvolution(dtype, 28, {2, 2}), WithWindow(dtype, 1, 7),
                              WithWindow(dtype, 3, 1), WithWindow(dtype, 5, 5), ScaledGemm(dtype, 256, 256),
                              OneDense(dtype), OfImage(dtype), OneDeconvolution({2, 2}, 4, 1, 0, dtype)}) {
        Force(name, &program);
        count += KernelOf(program.steps.back()) == name;
      }
      std::vector<Program> with_more = {InvertedResidualProgram(dtype), OfPooledImage(dtype)};
      if (dtype == kBF16) with_more.push_back(OfCastImage());
      for (const std::int64_t size : {4, 5, 6}) {  // with windows of 2x2 and 3x3
        with_more.push_back(BiasedDeconvolution(size, 1, dtype));
        if (kernel.samples != nullptr) Force(kernel.samples, &with_more.back());  // which comes before it
      }
      for (Program& program : with_more) {
        if (kernel.fused_producers == 0) continue;
        Force(name, &program);
        count += KernelOf(program.steps.back()) == name;
      }
    }
    const bool wants_bf16 = name.find("bf") != std::string::npos || name.find("int16") != std::string::npos;
    if (name.starts_with("biased")) {
      EXPECT_GE(count, wants_bf16 ? 1 : 2) << name;
      continue;
    }
    const int programs = name.starts_with("implicit") ? 5 : 1;  // of any size and stride
    EXPECT_EQ(count, wants_bf16 ? programs : 2 * programs) << name;
  }
}

TEST(ChooseKernels, ForcedNowhereElse) {
  Program strided = OneConvolution(kF32, 28, {2, 2});
  Force("winograd_f4x4_f32", &strided);
  EXPECT_EQ(KernelOf(strided.steps[0]), kOneDnnKernel);
  Program wide = WithWindow(kF32, 1, 7);
  std::get<ConvolutionSpec>(wide.steps[0].spec).pads_end = {0, 7};  // positions that see nothing
  Force("winograd_1x7_f32", &wide);
  EXPECT_EQ(KernelOf(wide.steps[0]), kOneDnnKernel);
  Program uneven = OneConvolution(kF32, 28);  // 28 positions are no multiple of 3
  auto& spec = std::get<ConvolutionSpec>(uneven.steps[0].spec);
  spec.dilates = {2, 2};
  spec.pads_begin = spec.pads_end = {3, 3};
  Force("winograd_f4x4_f32", &uneven);
  EXPECT_EQ(KernelOf(uneven.steps[0]), kOneDnnKernel);
  spec.dilates = {1, 1};
  spec.pads_begin = spec.pads_end = {2, 2};
  Force("winograd_f4x4_f32", &uneven);
  EXPECT_EQ(KernelOf(uneven.steps[0]), "winograd_f4x4_f32");
  Program other_size = WithWindow(kF32, 1, 5);
  Force("winograd_1x7_f32", &other_size);
  EXPECT_EQ(KernelOf(other_size.steps[0]), kOneDnnKernel);
  Program without_code = OneConvolution(kBF16, 28);
  Force("winograd_f2x2_int16", &without_code, false);
  EXPECT_EQ(KernelOf(without_code.steps[0]), kOneDnnKernel);
  Force("winograd_f1x4_bf16", &without_code, false);
  EXPECT_EQ(KernelOf(without_code.steps[0]), kOneDnnKernel);
  Program read_twice = ScaledGemm(kF32);
  read_twice.outputs.push_back(read_twice.steps[0].outputs[0]);
  Force("scaled_gemm_float32", &read_twice);
  EXPECT_EQ(KernelOf(read_twice.steps.back()), kOneDnnKernel);
}

TEST(ChooseKernels, ImagesWithFewChannels) {
  const auto is_taken = [](Program program, bool is_channels_last = true) {
    ChooseKernels(ForcedKernel("image_convolution_float32"), Of(is_channels_last), nullptr, &program, 2);
    return OwnKernelOf(program.steps[0]) == "image_convolution_float32";
  };
  EXPECT_TRUE(is_taken(OfImage(kF32)));
  EXPECT_TRUE(is_taken(OfImage(kBF16, 7)));
  EXPECT_FALSE(is_taken(OfImage(kF32, 8)));
  EXPECT_FALSE(is_taken(OfImage(kF32), false));
  Program with_gaps = OfImage(kF32);
  std::get<ConvolutionSpec>(with_gaps.steps[0].spec).dilates = {1, 1};
  EXPECT_FALSE(is_taken(with_gaps));
  Program grouped = OfImage(kF32, 4);
  grouped.values[1].type.shape = {2, 32, 2, 5, 5};
  EXPECT_FALSE(is_taken(grouped));
  Program given = OfImage(kF32);
  given.values[1].source = ValueSource::kInput;
  EXPECT_FALSE(is_taken(given));
}

// The kernel rounds the image itself.
TEST(ChooseKernels, ImagesTakeTheirConversion) {
  Program program = OfCastImage();
  Force("cast_image_convolution_bfloat16", &program);
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.values[program.steps[0].inputs[0]].name, "image");
  EXPECT_EQ(program.steps[0].fused, std::vector<NodeId>{1});
  Program read_twice = OfCastImage();
  read_twice.outputs.push_back(0);
  Force("cast_image_convolution_bfloat16", &read_twice);
  EXPECT_EQ(read_twice.steps.size(), 2u);
  Program no_code = OfCastImage();
  Force("cast_image_convolution_bfloat16", &no_code, false);
  EXPECT_EQ(no_code.steps.size(), 2u);
}

TEST(ChooseKernels, ImagesArePooled) {
  Program program = OfPooledImage(kF32);
  Force("pooled_image_convolution_float32", &program);
  ASSERT_EQ(program.steps.size(), 1u);
  const Step& step = program.steps[0];
  EXPECT_EQ(step.outputs, program.outputs);
  EXPECT_EQ(step.node, 1);
  EXPECT_EQ(step.fused, std::vector<NodeId>{0});
}

TEST(ChooseKernels, ImagesAreNotPooledOtherwise) {
  const auto stay = [](Program program, bool is_channels_last = true) {
    ChooseKernels(ForcedKernel("pooled_image_convolution_float32"), Of(is_channels_last), nullptr, &program, 2);
    return program.steps.size() == 2;
  };
  EXPECT_FALSE(stay(OfPooledImage(kF32)));
  EXPECT_TRUE(stay(OfPooledImage(kF32), false));
  Program read_twice = OfPooledImage(kF32);
  read_twice.outputs.push_back(2);
  EXPECT_TRUE(stay(read_twice));
  Program of_means = OfPooledImage(kF32);
  std::get<PoolingSpec>(of_means.steps[1].spec).kind = PoolingKind::kAverageIncludePadding;
  EXPECT_TRUE(stay(of_means));
  Program high = OfPooledImage(kF32);
  std::get<PoolingSpec>(high.steps[1].spec).kernel = {9, 3};
  EXPECT_TRUE(stay(high));
  Program with_function = OfPooledImage(kF32);
  with_function.steps[1].post_ops.push_back({EltwiseSpec{EltwiseKind::kTanh}});
  EXPECT_TRUE(stay(with_function));
  Program with_sum = OfPooledImage(kF32);
  const ValueId added = with_sum.AddValue({kF32, {1, 64, 16, 16}}, "added", ValueSource::kInput);
  with_sum.steps[0].inputs.push_back(added);
  with_sum.steps[0].post_ops.push_back({SumSpec{}, 2});
  EXPECT_TRUE(stay(with_sum));
  Program given = OfPooledImage(kF32);
  given.values[1].source = ValueSource::kInput;
  EXPECT_TRUE(stay(given));
}

// What rounds its image itself pools, too; what multiplies otherwise would read what is not there.
TEST(ChooseKernels, ImagesThatAreConvertedArePooled) {
  for (const std::string name : {"pooled_image_convolution_float32", "pooled_image_convolution_bfloat16"}) {
    Program program = OfPooledImage(kBF16);
    const ValueId image = program.AddValue({kF32, program.values[0].type.shape}, "image", ValueSource::kInput);
    program.steps.insert(program.steps.begin(), Step{CastSpec{}, {image}, {0}, 7, ""});
    program.values[0].source = ValueSource::kComputed;
    Force("cast_image_convolution_bfloat16", &program);
    ASSERT_EQ(program.steps.size(), 2u);
    Force(name, &program);
    EXPECT_EQ(program.steps.size(), name.ends_with("bfloat16") ? 1u : 2u) << name;
    EXPECT_EQ(program.steps[0].inputs[0], image);
  }
}

// Its law counts what it multiplies in float32, whatever the image is.
TEST(ChooseKernels, ImagesWhereTheLibraryIsSlow) {
  for (const double ratio : {-1, 2}) {
    nlohmann::ordered_json file = testing::MachineFile();
    file["bytes_per_second"] = {{1 << 30, 1e15}};
    file["steps"]["convolution_first float32"] = {{0, 0, 0, 0, 0, 0, 0, ratio}};
    const auto machine = MachineTable::Parse(file.dump(), "test");
    Program program = OfImage(kF32);
    ChooseKernels(PredictedKernels(), Of(true), machine.get(), &program);
    EXPECT_EQ(!OwnKernelOf(program.steps[0]).empty(), ratio > 0);
  }
}

// Options stand for all steps that any of them takes; what is told of the chosen one is its own time.
TEST(ChooseKernels, APredictionIsThatOfTheStep) {
  nlohmann::ordered_json file = testing::MachineFile();
  const auto machine = MachineTable::Parse(file.dump(), "test");
  for (const char* kernel : {"fused_depthwise_float32", "expanding_fused_depthwise_float32"}) {
    Program program = InvertedResidualProgram(kF32);
    ChooseKernels(ForcedKernel(kernel), Of(true), machine.get(), &program);
    const Step& block = program.steps.back();
    ASSERT_EQ(KernelOf(block), kernel);
    StepTypes types;
    for (const ValueId v : block.inputs) types.inputs.push_back(program.values[v].type);
    for (const ValueId v : block.outputs) types.outputs.push_back(program.values[v].type);
    const double seconds = machine->Seconds(FeaturesOf(block, types));
    EXPECT_NEAR(*block.choice->predicted_seconds, seconds, 1e-6 * seconds) << kernel;
  }
}

TEST(ChooseKernels, ABlockTakesTheOperandsOfAll) {
  Program program = InvertedResidualProgram(kF32);
  const std::vector<LayerDecision> decisions = Force("expanding_fused_depthwise_float32", &program);
  ASSERT_EQ(program.steps.size(), 1u);
  const Step& step = program.steps[0];
  EXPECT_EQ(step.inputs, (std::vector<ValueId>{0, 1, 2, 3, 0}));
  EXPECT_EQ(step.node, 2u);
  EXPECT_EQ(step.fused, (std::vector<NodeId>{1, 0}));
  EXPECT_STREQ(NameOf(step.spec), "fused_depthwise");
  EXPECT_EQ(decisions.back().nodes, (std::vector<NodeId>{2, 1, 0}));
}

TEST(ChooseKernels, ABlockNeedsStepsThatItKnows) {
  Program tanh = InvertedResidualProgram(kF32, {EltwiseKind::kTanh});
  Force("expanding_fused_depthwise_float32", &tanh);
  EXPECT_EQ(tanh.steps.size(), 3u);
  Program read_twice = InvertedResidualProgram(kF32);
  read_twice.outputs.push_back(read_twice.steps[0].outputs[0]);
  Force("expanding_fused_depthwise_float32", &read_twice);
  EXPECT_EQ(read_twice.steps.size(), 3u);
  Program blocked = InvertedResidualProgram(kF32);
  ChooseKernels(ForcedKernel("fused_depthwise_float32"), Of(false), nullptr, &blocked, 2);
  EXPECT_EQ(blocked.steps.size(), 3u);
}

// All options stand for the same work: where a block takes less, the steps that it leaves count to it.
TEST(ChooseKernels, BlocksOfTwoAndOfThreeStepsCompare) {
  const auto steps_with = [](float expanding) {
    nlohmann::ordered_json file = testing::MachineFile();
    file["bytes_per_second"] = {{1 << 30, 1e15}};
    for (const char* law : {"convolution_1x1", "convolution_depthwise", "gemm_float32", "fused_depthwise_float32"}) {
      file["steps"][std::string(law) + " float32"] = {{0, 0, 0, 0, 0, 0, 0, law[0] == 'f' ? 2 : 3}};
    }
    file["steps"]["expanding_fused_depthwise_float32 float32"] = {{0, 0, 0, 0, 0, 0, 0, expanding}};
    const auto machine = MachineTable::Parse(file.dump(), "test");
    Program program = InvertedResidualProgram(kF32);
    ChooseKernels(PredictedKernels(), Of(true), machine.get(), &program);
    return program.steps.size();
  };
  EXPECT_EQ(steps_with(1), 1u);
  EXPECT_EQ(steps_with(3), 2u);
}

TEST(ChooseKernels, TheLibraryAlone) {
  Program program = ScaledGemm(kF32);
  Force(kOneDnnKernel, &program);
  ASSERT_EQ(program.steps.size(), 2u);
  EXPECT_EQ(KernelOf(program.steps[1]), kOneDnnKernel);
  EXPECT_EQ(program.steps[1].choice->predicted_seconds, std::nullopt);
}

TEST(ChooseKernels, TellsWhatItDecided) {
  Program program = ScaledGemm(kF32);
  const std::vector<LayerDecision> decisions = Force("scaled_gemm_float32", &program);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].kernels, (std::vector<std::string>{kOneDnnKernel, "gemm_float32"}));
  EXPECT_EQ(decisions[0].chosen, 0u);
  EXPECT_EQ(decisions[0].nodes, std::vector<NodeId>{1});
  EXPECT_EQ(decisions[1].kernels, (std::vector<std::string>{kSeparateSteps, "scaled_gemm_float32"}));
  EXPECT_EQ(decisions[1].chosen, 1u);
  EXPECT_EQ(decisions[1].nodes, (std::vector<NodeId>{1, 0}));
  EXPECT_EQ(program.steps[0].fused, std::vector<NodeId>{0});
}

TEST(ChooseKernels, ReplaysARecord) {
  Program given = OneConvolution(kF32, 28);
  TunedKernels record;
  record.Set(Force(kOneDnnKernel, &given)[0].key, "winograd_f4x4_f32");
  const auto chosen = [&](int num_threads, std::int64_t size) {
    Program program = OneConvolution(kF32, size);
    ChooseKernels(RecordedKernels(record, std::make_shared<PredictedKernels>()), Of(true), nullptr, &program,
                  num_threads);
    return *program.steps[0].choice;
  };
  EXPECT_STREQ(chosen(2, 28).name(), "winograd_f4x4_f32");
  EXPECT_TRUE(chosen(2, 28).is_tuned);
  EXPECT_STREQ(chosen(1, 28).name(), kOneDnnKernel);  // other threads
  EXPECT_STREQ(chosen(2, 14).name(), kOneDnnKernel);
  EXPECT_FALSE(chosen(2, 14).is_tuned);
}

// The product by Strassen's algorithm knows no scale, and results were wrong where both were chosen.
TEST(ChooseKernels, AProductThatTakesItsScaleHasOneKernel) {
  const Program given = ScaledGemm(kF32, 512, 512);
  Program first = given, program = given;
  const std::vector<LayerDecision> layers = Force("scaled_gemm_float32", &first);
  ASSERT_EQ(layers.size(), 2u);
  TunedKernels record;
  record.Set(layers[0].key, "gemm_strassen_float32");
  const auto choose = [&] {
    ChooseKernels(RecordedKernels(record, std::make_shared<PredictedKernels>()), Of(true), nullptr, &program, 2);
    return OwnKernelOf(program.steps.back());
  };
  EXPECT_EQ(choose(), "gemm_strassen_float32");
  program = given;
  record.Set(layers[1].key, "scaled_gemm_float32");
  EXPECT_EQ(choose(), "scaled_gemm_float32");
  EXPECT_EQ(program.steps.size(), 1u);
}

// oneDNN's convolutions of AVX2 read blocks of channels: a product that wants channels last would cost reorders.
TEST(ChooseKernels, ProductsOnlyAmongChannelsLast) {
  for (const bool is_channels_last : {false, true}) {
    Program program = OneDense(kF32), convolution = ScaledGemm(kF32, 256, 256);
    convolution.outputs.push_back(convolution.steps[0].outputs[0]);
    ChooseKernels(ForcedKernel("dense_float32"), Of(is_channels_last), nullptr, &program, 2);
    ChooseKernels(ForcedKernel("gemm_float32"), Of(is_channels_last), nullptr, &convolution, 2);
    EXPECT_EQ(OwnKernelOf(program.steps[0]), "dense_float32");
    EXPECT_EQ(OwnKernelOf(convolution.steps[1]), is_channels_last ? "gemm_float32" : "");
  }
}

// Blocks of 8 that a float32 layer's channels do not fill stay oneDNN's.
TEST(ChooseKernels, WinogradOnlyInBlocksThatItKnows) {
  const auto chosen = [](std::int64_t channels, bool is_channels_last) {
    Program program = OneConvolution(kF32, 28);
    program.values[0].type.shape = {1, channels, 28, 28};
    program.values[1].type.shape = {128, channels, 3, 3};
    ChooseKernels(ForcedKernel("winograd_f4x4_f32"), Of(is_channels_last), nullptr, &program, 2);
    return OwnKernelOf(program.steps[0]);
  };
  EXPECT_EQ(chosen(64, false), "winograd_f4x4_f32");
  EXPECT_EQ(chosen(60, false), "");
  EXPECT_EQ(chosen(60, true), "winograd_f4x4_f32");
}

TEST(ChooseKernels, SaysWhatItPredicts) {
  Program program = OneConvolution(kF32, 28);
  const auto machine = MachineOfSpeeds(2e9);
  ChooseKernels(PredictedKernels(), kWithBF16, machine.get(), &program);
  EXPECT_EQ(KernelOf(program.steps[0]), "winograd_f4x4_f32");
  EXPECT_GT(program.steps[0].choice->predicted_seconds.value(), 0);
}

}  // namespace
}  // namespace amp
