// A layer kernel of a test: 1x1 convolutions in float32 to seven channels, which no other test has. What computes it is
// this file alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "program/layer_kernel.h"
#include "program/step_cost.h"

namespace amp::testing {

inline constexpr const char* kFakeKernel = "fake_1x1_to_seven";
inline constexpr std::int64_t kFakeChannels = 7;

struct FakeProblem {
  std::int64_t rows = 0, in = 0;
  std::int64_t source = 0, result = 0;  // elements from one row to the next
};

class FakeOwnKernel : public OwnKernel {
 public:
  explicit FakeOwnKernel(const FakeProblem& problem) : p_(problem) {}
  void Run(const KernelOperands& operands) const override {
    const auto* x = static_cast<const float*>(operands.input(0));
    const auto* w = static_cast<const float*>(operands.input(1));
    auto* y = static_cast<float*>(operands.output());
    for (std::int64_t row = 0; row < p_.rows; ++row) {
      for (std::int64_t o = 0; o < kFakeChannels; ++o) {
        double sum = 0;
        for (std::int64_t i = 0; i < p_.in; ++i) sum += double{x[row * p_.source + i]} * w[i * kFakeChannels + o];
        y[row * p_.result + o] = static_cast<float>(sum);
      }
    }
  }

 private:
  FakeProblem p_;
};

class FakeLayer : public Layer {
 public:
  explicit FakeLayer(const FakeProblem& problem) : p_(problem) {}

  void Price(StepCost* cost) const override {
    cost->flops = static_cast<double>(2 * p_.rows * p_.in * kFakeChannels);
    cost->dtype = DType::kFloat32;
  }
  std::vector<float> Features() const override { return {static_cast<float>(std::log2(p_.rows * p_.in))}; }
  bool Reads(std::size_t input, const StridedTensor& tensor) const override {
    return input == 0 && tensor.channel_block == 0 && tensor.strides[1] == 1;
  }
  OperandLayout LayoutOfInput(std::size_t input) const override {
    return input == 0 ? OperandLayout::kChannelsLast : OperandLayout::kPacked;
  }
  bool Writes(const StridedTensor& result) const override { return Reads(0, result); }
  OperandLayout LayoutOfResult() const override { return OperandLayout::kChannelsLast; }
  PackedWeights Pack(std::size_t) const override {
    const std::int64_t in = p_.in;
    return {kFakeKernel, static_cast<std::size_t>(in * kFakeChannels) * sizeof(float),
            [in](const float* weights, void* packed) {
              for (std::int64_t o = 0; o < kFakeChannels; ++o) {
                for (std::int64_t i = 0; i < in; ++i) {
                  static_cast<float*>(packed)[i * kFakeChannels + o] = weights[o * in + i];
                }
              }
            }};
  }
  std::unique_ptr<const OwnKernel> Make(const LayerOperands& operands) const override {
    FakeProblem problem = p_;
    problem.source = operands.inputs[0]->strides.back();
    problem.result = operands.result.strides.back();
    return std::make_unique<FakeOwnKernel>(problem);
  }

 private:
  FakeProblem p_;
};

inline std::optional<LayerMatch> MatchFake(const LayerSite& site) {
  const bool is_bare = std::holds_alternative<ConvolutionSpec>(site.step.spec) && site.HasConstantWeights() &&
                       site.step.inputs.size() == 2 && site.step.post_ops.empty();
  if (!is_bare) return std::nullopt;
  const StepTypes types = site.types();
  const Shape &source = types.inputs[0].shape, &weights = types.inputs[1].shape;
  const bool is_float32 = types.inputs[0].dtype == DType::kFloat32 && types.outputs[0].dtype == DType::kFloat32;
  if (!is_float32 || weights != Shape{kFakeChannels, source[1], 1, 1} || types.outputs[0].shape[3] != source[3])
    return std::nullopt;
  return LayerMatch{site.step, std::make_shared<FakeLayer>(FakeProblem{source[0] * source[2] * source[3], source[1]})};
}

inline const bool kFake = RegisterLayerKernels({{kFakeKernel, MatchFake, kMaxTimeRatio, 0, /*needs_samples=*/true}});

}  // namespace amp::testing
