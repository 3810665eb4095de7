// Dense layers as products of matrices.
#include "program/layer_kernels/gemm_layer.h"
#include "program/layer_kernels/gemm_problem.h"
#include "program/step_features.h"

namespace amp {
namespace {

// Rows of a matrix whose elements lie side by side.
std::optional<kernels::GemmImage> MatrixRowsOf(const StridedTensor& tensor) {
  const bool is_plain = tensor.channel_block == 0 && tensor.type.shape.rank() == 2 && tensor.strides[1] == 1;
  return is_plain ? std::optional(kernels::GemmImage{tensor.is_bf16(), tensor.strides[0]}) : std::nullopt;
}

class DenseLayer : public GemmLayer {
 public:
  DenseLayer(const Step& step, const StepTypes& types, DType dtype, GemmEpilogue epilogue)
      : GemmLayer(dtype, {HasBias(step), epilogue.sum, epilogue.slopes, {}}, std::move(epilogue), DenseFeatures(types)),
        job_(DenseProblem(types, dtype)) {}

  const kernels::Gemm& job() const { return job_; }
  void UseStrassen() { job_.strassen = true; }

  PackedWeights Pack(std::size_t) const override { return PackedGemmWeights(job_, dtype()); }
  OperandLayout LayoutOfResult() const override { return OperandLayout::kRowMajor; }

  std::unique_ptr<const OwnKernel> Make(const LayerOperands& operands) const override {
    kernels::Gemm job = job_;
    CompleteProblem(operands, &job);
    const kernels::GemmImage source = *MatrixRowsOf(*operands.inputs[0]);
    job.source = {source.is_bf16, 0, 0, source.pixel};
    return MakeGemmKernel<kernels::RunGemm>(job, kernels::GemmScratchBytes(job), places(), epilogue());
  }

 protected:
  double Flops() const override { return GemmFlops(job_, false); }
  bool ReadsSource(const StridedTensor& tensor) const override { return MatrixRowsOf(tensor).has_value(); }
  OperandLayout LayoutOfSource() const override { return OperandLayout::kRowMajor; }
  std::optional<kernels::GemmImage> ResultOf(const StridedTensor& tensor) const override {
    return MatrixRowsOf(tensor);
  }

 private:
  kernels::Gemm job_;  // without strides of memory
};

std::shared_ptr<DenseLayer> DenseLayerOf(const LayerSite& site, DType dtype) {
  if (!std::holds_alternative<InnerProductSpec>(site.step.spec) || !site.HasConstantWeights()) return nullptr;
  const StepTypes types = site.types();
  if (!site.Multiplies(dtype, types) || !IsForDense(types, dtype) || !HasKernelTypes(site.step, types)) return nullptr;
  auto epilogue = GemmEpilogueOf(site.step, types);
  return epilogue ? std::make_shared<DenseLayer>(site.step, types, dtype, *std::move(epilogue)) : nullptr;
}

template <DType kDType>
std::optional<LayerMatch> MatchDense(const LayerSite& site) {
  auto layer = DenseLayerOf(site, kDType);
  return layer == nullptr ? std::nullopt : std::optional(LayerMatch{site.step, std::move(layer)});
}

template <DType kDType>
std::optional<LayerMatch> MatchDenseStrassen(const LayerSite& site) {
  auto layer = DenseLayerOf(site, kDType);
  if (layer == nullptr || !IsForStrassen(layer->job())) return std::nullopt;
  layer->UseStrassen();
  return LayerMatch{site.step, std::move(layer)};
}

[[maybe_unused]] const bool kDense = RegisterLayerKernels({
    {"dense_float32", MatchDense<DType::kFloat32>, kMaxTimeRatio},
    {"dense_bfloat16", MatchDense<DType::kBFloat16>, kMaxTimeRatio},
    {"dense_int16", MatchDense<DType::kInt16>, kMaxProductTimeRatio, 0, true},
    {"dense_strassen_float32", MatchDenseStrassen<DType::kFloat32>, kMaxProductTimeRatio, 0, true},
    {"dense_strassen_int16", MatchDenseStrassen<DType::kInt16>, kMaxProductTimeRatio, 0, true},
});

}  // namespace
}  // namespace amp
