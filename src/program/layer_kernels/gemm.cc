// Convolutions as products of matrices: of 1x1 windows, of larger ones, by Strassen's algorithm, and with the scale and
// shift of what they read.
#include "program/layer_kernels/gemm_layer.h"
#include "program/layer_kernels/gemm_problem.h"
#include "program/step_features.h"
#include "program/step_graph.h"

namespace amp {
namespace {

// What a source meets before it is multiplied: y = min(max(source * scale + shift, low), high), in float32.
struct SourceScale {
  std::size_t place;  // of the scale among the inputs; the shift is behind it
  float low, high;
};

class ConvolutionGemm : public GemmLayer {
 public:
  ConvolutionGemm(const Step& step, const StepTypes& types, DType dtype, GemmEpilogue epilogue)
      : GemmLayer(dtype, {HasBias(step), epilogue.sum, epilogue.slopes, {}}, std::move(epilogue),
                  WindowFeatures(types, types.outputs[0], std::get<ConvolutionSpec>(step.spec).strides)),
        job_(GemmProblem(std::get<ConvolutionSpec>(step.spec), types, dtype)),
        strides_(std::get<ConvolutionSpec>(step.spec).strides) {}

  const kernels::Gemm& job() const { return job_; }
  void UseStrassen() { job_.strassen = true; }
  void ScaleSource(const SourceScale& scale) { scale_ = scale; }

  OperandLayout LayoutOfInput(std::size_t input) const override {
    const bool is_of_channels = scale_ && input >= scale_->place;
    return is_of_channels ? OperandLayout::kRowMajor : GemmLayer::LayoutOfInput(input);
  }
  PackedWeights Pack(std::size_t) const override { return PackedGemmWeights(job_, dtype()); }

  std::unique_ptr<const OwnKernel> Make(const LayerOperands& operands) const override {
    kernels::Gemm job = job_;
    CompleteProblem(operands, &job);
    job.source = *PositionsOf(*operands.inputs[0]);
    if (job.window.channels == 0) {
      job.source.row *= strides_[0];
      job.source.pixel *= strides_.back();
    }
    GemmPlaces all = places();
    if (scale_) {
      job.source_low = scale_->low;
      job.source_high = scale_->high;
      all.scale = scale_->place;
    }
    return MakeGemmKernel<kernels::RunGemm>(job, kernels::GemmScratchBytes(job), all, epilogue());
  }

 protected:
  double Flops() const override { return GemmFlops(job_, scale_.has_value()); }
  bool ReadsSource(const StridedTensor& tensor) const override { return PositionsOf(tensor).has_value(); }

 private:
  kernels::Gemm job_;  // without strides of memory
  IntTuple strides_;
  std::optional<SourceScale> scale_;
};

// A layer with constant weights, in whatever layout the source lies.
std::shared_ptr<ConvolutionGemm> GemmLayerOf(const LayerSite& site, DType dtype,
                                             bool (*is_for)(const StepSpec& spec, const StepTypes& types)) {
  if (!std::holds_alternative<ConvolutionSpec>(site.step.spec)) return nullptr;
  const StepTypes types = site.types();
  const bool is_apt = site.HasConstantWeights() && site.Multiplies(dtype, types) && is_for(site.step.spec, types) &&
                      HasKernelTypes(site.step, types);
  if (!is_apt) return nullptr;
  auto epilogue = GemmEpilogueOf(site.step, types);
  return epilogue ? std::make_shared<ConvolutionGemm>(site.step, types, dtype, *std::move(epilogue)) : nullptr;
}

// Only where oneDNN has channels last, so that what lies around the step stays as it is.
template <DType kDType, auto kIsFor>
std::optional<LayerMatch> MatchGemm(const LayerSite& site) {
  auto layer = GemmLayerOf(site, kDType, kIsFor);
  if (layer == nullptr || site.ChannelBlock() != 0) return std::nullopt;
  return LayerMatch{site.step, std::move(layer)};
}

template <DType kDType>
std::optional<LayerMatch> MatchGemmStrassen(const LayerSite& site) {
  auto layer = GemmLayerOf(site, kDType, IsForGemm);
  if (layer == nullptr || site.ChannelBlock() != 0 || !IsForStrassen(layer->job())) return std::nullopt;
  layer->UseStrassen();
  return LayerMatch{site.step, std::move(layer)};
}

// Computes the scale and shift of its source, too, which are not rounded in between.
template <DType kDType>
std::optional<LayerMatch> MatchScaled(const LayerSite& site) {
  const Step& before = *site.producers[0];
  const auto* scale = std::get_if<ScaleShiftSpec>(&before.spec);
  if (scale == nullptr || !before.post_ops.empty()) return std::nullopt;
  auto layer = GemmLayerOf(site, kDType, IsForGemm);
  if (layer == nullptr || !IsFloat32OrBF16(site.TypesOf(before).inputs[0].dtype)) return std::nullopt;
  Step step = site.step;
  step.spec = FusedLayerSpec{"convolution"};
  layer->ScaleSource({step.inputs.size(), scale->low, scale->high});
  step.inputs[0] = before.inputs[0];
  step.inputs.insert(step.inputs.end(), {before.inputs[1], before.inputs[2]});
  AddFused(before, &step);
  return LayerMatch{std::move(step), std::move(layer)};
}

// Products of int16 and by Strassen's algorithm gain or lose by what a CPU has besides arithmetic.
[[maybe_unused]] const bool kGemm = RegisterLayerKernels({
    {"gemm_float32", MatchGemm<DType::kFloat32, IsForGemm>, kMaxProductTimeRatio},
    {"gemm_bfloat16", MatchGemm<DType::kBFloat16, IsForGemm>, kMaxProductTimeRatio},
    {"gemm_int16", MatchGemm<DType::kInt16, IsForGemm>, kMaxProductTimeRatio, 0, true},
    {"gemm_strassen_float32", MatchGemmStrassen<DType::kFloat32>, kMaxProductTimeRatio, 0, true},
    {"gemm_strassen_int16", MatchGemmStrassen<DType::kInt16>, kMaxProductTimeRatio, 0, true},
    {"implicit_gemm_float32", MatchGemm<DType::kFloat32, IsForImplicitGemm>, kMaxProductTimeRatio},
    {"implicit_gemm_bfloat16", MatchGemm<DType::kBFloat16, IsForImplicitGemm>, kMaxProductTimeRatio},
    {"implicit_gemm_int16", MatchGemm<DType::kInt16, IsForImplicitGemm>, kMaxProductTimeRatio, 0, true},
    {"scaled_gemm_float32", MatchScaled<DType::kFloat32>, kMaxTimeRatio, 1},
    {"scaled_gemm_bfloat16", MatchScaled<DType::kBFloat16>, kMaxTimeRatio, 1},
    {"scaled_gemm_int16", MatchScaled<DType::kInt16>, kMaxProductTimeRatio, 1, true},
});

}  // namespace
}  // namespace amp
