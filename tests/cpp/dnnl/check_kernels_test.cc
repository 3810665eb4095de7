// Kernels of low precision are compared with float32 before they are used; wrong ones are not.
#include "dnnl/check_kernels.h"

#include <gtest/gtest.h>

#include "dnnl/convolution_models.h"
#include "program/layer_kernel.h"
#include "program/small_program.h"
#include "runtime/bind.h"
#include "runtime/executor_options.h"

namespace amp::onednn {
namespace {

using namespace testing;

// 1x1 convolutions of bfloat16 to nine channels, which no other test has. One of the two kernels loses the last
// channel of odd numbers of channels: a fault as of a kernel's edge.
constexpr std::int64_t kPlantedChannels = 9;
constexpr const char *kRight = "planted_right", *kWrong = "planted_wrong";

class PlantedKernel : public OwnKernel {
 public:
  PlantedKernel(std::int64_t rows, std::int64_t in, bool is_wrong) : rows_(rows), in_(in), is_wrong_(is_wrong) {}
  void Run(const KernelOperands& operands) const override {
    const auto* x = static_cast<const std::uint16_t*>(operands.input(0));
    const auto* w = static_cast<const float*>(operands.input(1));
    auto* y = static_cast<std::uint16_t*>(operands.output());
    const std::int64_t added = is_wrong_ ? in_ / 2 * 2 : in_;
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t o = 0; o < kPlantedChannels; ++o) {
        float sum = 0;
        for (std::int64_t i = 0; i < added; ++i) sum += kernels::BF16ToFloat(x[row * in_ + i]) * w[o * in_ + i];
        y[row * kPlantedChannels + o] = kernels::FloatToBF16(sum);
      }
    }
  }

 private:
  const std::int64_t rows_, in_;
  const bool is_wrong_;
};

class PlantedLayer : public Layer {
 public:
  PlantedLayer(std::int64_t rows, std::int64_t in, bool is_wrong) : rows_(rows), in_(in), is_wrong_(is_wrong) {}
  void Price(StepCost*) const override {}
  std::vector<float> Features() const override { return {0}; }
  bool Reads(std::size_t, const StridedTensor& tensor) const override {
    return tensor.channel_block == 0 && tensor.strides == IntTuple{tensor.strides[0], 1, tensor.strides[2], in_};
  }
  OperandLayout LayoutOfInput(std::size_t input) const override {
    return input == 0 ? OperandLayout::kChannelsLast : OperandLayout::kPacked;
  }
  bool Writes(const StridedTensor&) const override { return false; }
  OperandLayout LayoutOfResult() const override { return OperandLayout::kChannelsLast; }
  PackedWeights Pack(std::size_t) const override {
    const auto bytes = static_cast<std::size_t>(in_ * kPlantedChannels) * sizeof(float);
    return {"planted", bytes, [bytes](const float* weights, void* packed) { std::memcpy(packed, weights, bytes); }};
  }
  std::unique_ptr<const OwnKernel> Make(const LayerOperands&) const override {
    return std::make_unique<PlantedKernel>(rows_, in_, is_wrong_);
  }

 private:
  const std::int64_t rows_, in_;
  const bool is_wrong_;
};

template <bool kIsWrong>
std::optional<LayerMatch> MatchPlanted(const LayerSite& site) {
  const auto* spec = std::get_if<ConvolutionSpec>(&site.step.spec);
  if (spec == nullptr || !site.HasConstantWeights() || site.step.inputs.size() != 2 || !site.step.post_ops.empty())
    return std::nullopt;
  const StepTypes types = site.types();
  const Shape &source = types.inputs[0].shape, &result = types.outputs[0].shape;
  const bool is_low = types.inputs[0].dtype == DType::kBFloat16 && types.outputs[0].dtype == DType::kBFloat16;
  if (!is_low || types.inputs[1].shape != Shape{kPlantedChannels, source[1], 1, 1} || result[2] != source[2])
    return std::nullopt;
  return LayerMatch{site.step, std::make_shared<PlantedLayer>(source[0] * source[2] * source[3], source[1], kIsWrong)};
}

const bool kPlanted = RegisterLayerKernels({{kRight, MatchPlanted<false>, 1}, {kWrong, MatchPlanted<true>, 1}});

TestModel NineChannels(std::int64_t channels) {
  TestModel m;
  const Symbol x = Op("amp_cast", "low", {Var("x")}, {{"dtype", "bfloat16"}});
  m.types["x"] = F32({2, channels, 6, 5});
  m.params.args["w"] = Random({DType::kBFloat16, {kPlantedChannels, channels, 1, 1}}, 3, 0.3f);
  m.symbol =
      Op("Convolution", "layer", {x, Var("w")}, {{"kernel", "(1, 1)"}, {"num_filter", "9"}, {"no_bias", "True"}});
  return m;
}

std::shared_ptr<const Plan> PlanWithRecord(const std::string& kernel, const std::shared_ptr<KernelRecord>& record,
                                           const TestModel& m) {
  CompileOptions compile = CompileOptionsFor(Forced(kernel, 1), nullptr);
  compile.kernel_record = record;
  return MakePlan(BindModel(GivenModel{m.symbol, m.params, ""}, m.types, compile));
}

std::string KernelOf(const Plan& plan, const std::string& node) {
  for (const PlanStep& step : plan.summary.steps) {
    if (step.node == node && step.kind == "convolution") return step.implementation;
  }
  return "";
}

TEST(CheckKernelsTest, ARightKernelIsUsed) {
  const auto record = std::make_shared<KernelRecord>();
  EXPECT_EQ(KernelOf(*PlanWithRecord(kRight, record, NineChannels(33)), "layer"), std::string("own:") + kRight);
  EXPECT_EQ(record->Find(std::string("own:") + kRight), "right");
}

// The layer at hand has an even number of channels, for which the kernel is right.
TEST(CheckKernelsTest, AWrongKernelIsFoundAndReplaced) {
  int kept = 0;
  const auto record =
      std::make_shared<KernelRecord>(KernelRecord::Known(), [&](const KernelRecord::Known&) { ++kept; });
  ::testing::internal::CaptureStderr();
  for (int plan = 0; plan < 2; ++plan) {
    EXPECT_NE(KernelOf(*PlanWithRecord(kWrong, record, NineChannels(64)), "layer"), std::string("own:") + kWrong);
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(record->Find(std::string("own:") + kWrong), "wrong");
  EXPECT_GE(kept, 1);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;  // one line
  EXPECT_NE(said.find(kWrong), std::string::npos) << said;
}

TEST(CheckKernelsTest, WithoutARecordNothingIsChecked) {
  EXPECT_EQ(KernelOf(*PlanWithRecord(kWrong, nullptr, NineChannels(64)), "layer"), std::string("own:") + kWrong);
}

// What another process found out about a kernel of oneDNN: the node runs in float32 then.
TEST(CheckKernelsTest, AWrongKernelOfOneDnnIsReplacedByFloat32) {
  const TestModel m = NineChannels(64);
  const auto right = PlanWithRecord("", std::make_shared<KernelRecord>(), m);
  const std::string name = KernelOf(*right, "layer");
  KernelRecord::Known known;
  for (const char* types : {"bfloat16-bfloat16", "bfloat16-float32"}) {
    known["convolution " + name + " " + types] = "wrong";
  }
  ::testing::internal::CaptureStderr();
  const auto plan = PlanWithRecord("", std::make_shared<KernelRecord>(known), m);
  const bool was_low = !::testing::internal::GetCapturedStderr().empty();
  const auto& steps = plan->summary.steps;
  const auto layer = std::ranges::find_if(
      steps, [](const PlanStep& step) { return step.node == "layer" && step.kind == "convolution"; });
  ASSERT_NE(layer, steps.end());
  EXPECT_EQ(layer->dtypes[0].dtype, "float32");
  const auto low = std::ranges::find_if(right->summary.steps, [](const PlanStep& step) {
    return step.node == "layer" && step.kind == "convolution" && step.dtypes[0].dtype == "bfloat16";
  });
  EXPECT_EQ(was_low, low != right->summary.steps.end());
}

TEST(CheckKernelsTest, PlansInFloat32CheckNothing) {
  const auto record = std::make_shared<KernelRecord>();
  PlanWithRecord("", record, SmallNet());
  EXPECT_EQ(record->seconds(), 0);
}

TEST(CheckKernelsTest, SmallProgramsAreSmallAndOdd) {
  const IntTuple ones{1, 1}, zeros{0, 0};
  const Step step{ConvolutionSpec{ones, zeros, ones, ones}, {0, 1, 2}, {3}, 0, ""};
  const StepTypes types{{F32({16, 512, 56, 56}), F32({256, 512, 3, 3}), F32({256})}, {F32({16, 256, 56, 56})}};
  const std::vector<TypedStep> chain{{step, types}};
  const auto program = SmallProgram(chain, SmallSizes::All()[0]);
  ASSERT_TRUE(program.has_value());
  const StepTypes small = program->TypesOf(program->steps[0]);
  EXPECT_EQ(small.inputs[0].shape, (Shape{1, 35, 9, 11}));
  EXPECT_EQ(small.inputs[1].shape, (Shape{37, 35, 3, 3}));
  EXPECT_EQ(small.inputs[2].shape, (Shape{37}));
  EXPECT_EQ(small.outputs[0].shape, (Shape{1, 37, 9, 11}));
}

}  // namespace
}  // namespace amp::onednn
