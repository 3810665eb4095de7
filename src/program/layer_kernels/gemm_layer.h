// Layers whose sums are products of matrices: what convolutions and dense layers have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "program/epilogue.h"
#include "program/layer_kernel.h"
#include "program/step_cost.h"

namespace amp {

// The limit for products with the same arithmetic as oneDNN's. Tables say up to twice the time that small layers take
// in a network, because they measure layers by themselves; our formula does not. With 0.7 Zen 5 lost 7 % of MobileNetV2
// in bfloat16 at batch 1, with 0.5 3 %.
inline constexpr double kMaxProductTimeRatio = 0.3;

// Places of the operands among the inputs, behind source and weights.
struct GemmPlaces {
  bool has_bias = false;
  std::optional<std::size_t> sum, slopes, scale;  // the shift is behind the scale
};

// The epilogue as products know it: functions as steps of registers.
struct GemmEpilogue {
  std::optional<std::size_t> sum, slopes;
  std::vector<kernels::MapStep> functions;
  float low = 0, high = 0;
};
std::optional<GemmEpilogue> GemmEpilogueOf(const Step& step, const StepTypes& types);

// Positions with channels last, and such that lie equally far apart; nothing for other layouts. To a product the rows
// of all slices of a volume are those of one image, and a line is an image of one row.
std::optional<kernels::GemmSource> PositionsOf(const StridedTensor& tensor);
std::optional<kernels::GemmImage> ImageOf(const StridedTensor& tensor);

// Weights (O, ...), packed for products of that dtype.
PackedWeights PackedGemmWeights(const kernels::Gemm& job, DType dtype);

// A product, but for what it reads its rows from.
class GemmLayer : public Layer {
 public:
  GemmLayer(DType dtype, const GemmPlaces& places, GemmEpilogue epilogue, std::vector<float> features)
      : dtype_(dtype), places_(places), epilogue_(std::move(epilogue)), features_(std::move(features)) {}

  void Price(StepCost* cost) const override {
    cost->flops = Flops();
    cost->dtype = PeakOf(dtype_);
  }
  std::vector<float> Features() const override { return features_; }

  bool Reads(std::size_t input, const StridedTensor& tensor) const override {
    if (input == 0) return ReadsSource(tensor);
    return places_.sum == input && ResultOf(tensor);
  }
  OperandLayout LayoutOfInput(std::size_t input) const override {
    if (input == 0) return LayoutOfSource();
    if (input == 1) return OperandLayout::kPacked;
    return places_.sum == input ? LayoutOfResult() : OperandLayout::kRowMajor;
  }
  bool Writes(const StridedTensor& result) const override { return ResultOf(result).has_value(); }
  OperandLayout LayoutOfResult() const override { return OperandLayout::kChannelsLast; }

 protected:
  virtual double Flops() const = 0;
  virtual bool ReadsSource(const StridedTensor& tensor) const = 0;
  virtual OperandLayout LayoutOfSource() const { return OperandLayout::kChannelsLast; }
  virtual std::optional<kernels::GemmImage> ResultOf(const StridedTensor& tensor) const { return ImageOf(tensor); }

  // What a product does with its sums, and where it writes them.
  void CompleteProblem(const LayerOperands& operands, kernels::Gemm* job) const;

  DType dtype() const { return dtype_; }
  const GemmPlaces& places() const { return places_; }
  const GemmEpilogue& epilogue() const { return epilogue_; }

 private:
  DType dtype_;
  GemmPlaces places_;
  GemmEpilogue epilogue_;
  std::vector<float> features_;
};

// Where the operands of a product are in a run. `functions` are those of its epilogue.
kernels::GemmData DataOf(const KernelOperands& operands, const GemmPlaces& places,
                         const std::vector<kernels::MapStep>& functions);

// Runs kRun(job, data, scratch).
template <auto kRun, class Job>
std::unique_ptr<const OwnKernel> MakeGemmKernel(const Job& job, std::size_t scratch_bytes, const GemmPlaces& places,
                                                const GemmEpilogue& epilogue) {
  return MakeOwnKernel(
      [job, places, functions = epilogue.functions](const KernelOperands& operands) {
        kRun(job, DataOf(operands, places, functions), operands.scratch());
      },
      scratch_bytes);
}

}  // namespace amp
