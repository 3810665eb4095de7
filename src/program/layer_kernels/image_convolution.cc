// Convolutions of images with few channels, channels first; with the cast before them, or the max pooling behind them.
#include "kernels/gemm/image_convolution.h"

#include "program/layer_kernels/gemm_layer.h"
#include "program/layer_kernels/gemm_problem.h"
#include "program/step_features.h"
#include "program/step_graph.h"

namespace amp {
namespace {

using kernels::ImageConvolution;

class ImageLayer : public GemmLayer {
 public:
  ImageLayer(const Step& step, const StepTypes& types, DType dtype, GemmEpilogue epilogue)
      : GemmLayer(dtype, {HasBias(step), epilogue.sum, epilogue.slopes, {}}, std::move(epilogue),
                  WindowFeatures(types, types.outputs[0], std::get<ConvolutionSpec>(step.spec).strides)),
        job_(ImageConvolutionProblem(std::get<ConvolutionSpec>(step.spec), types, dtype)) {}

  DType multiplied() const { return dtype(); }
  bool AddsTensor() const { return places().sum.has_value(); }
  void ReadFloat32() { job_.product.source.is_bf16 = false; }
  void Pool(const PoolingSpec& pool, const Shape& shape) { job_ = WithPool(job_, pool, shape); }

  PackedWeights Pack(std::size_t) const override {
    return {std::string("image_") + NameOf(dtype()), kernels::PackedGemmBytes(job_.product),
            [job = job_](const float* weights, void* packed) {
              kernels::PackImageConvolutionWeights(job, weights, packed);
            }};
  }

  std::unique_ptr<const OwnKernel> Make(const LayerOperands& operands) const override {
    ImageConvolution job = job_;
    CompleteProblem(operands, &job.product);
    return MakeGemmKernel<kernels::RunImageConvolution>(job, kernels::ImageConvolutionScratchBytes(job), places(),
                                                        epilogue());
  }

 protected:
  double Flops() const override { return ImageConvolutionFlops(job_); }
  bool ReadsSource(const StridedTensor&) const override { return false; }  // only in row-major order
  OperandLayout LayoutOfSource() const override { return OperandLayout::kRowMajor; }

 private:
  ImageConvolution job_;  // without strides of memory
};

// Only where results with channels last are what the layers behind it read.
std::shared_ptr<ImageLayer> ImageLayerOf(const LayerSite& site, const Step& step, DType dtype) {
  const bool is_apt = std::holds_alternative<ConvolutionSpec>(step.spec) && site.HasConstantWeights(step);
  if (!is_apt || !site.IsChannelsLast()) return nullptr;
  const StepTypes types = site.TypesOf(step);
  if (!IsForImageConvolution(step.spec, types) || !site.Multiplies(dtype, types) || !HasKernelTypes(step, types))
    return nullptr;
  auto epilogue = GemmEpilogueOf(step, types);
  return epilogue ? std::make_shared<ImageLayer>(step, types, dtype, *std::move(epilogue)) : nullptr;
}

template <DType kDType>
std::optional<LayerMatch> MatchImage(const LayerSite& site) {
  auto layer = ImageLayerOf(site, site.step, kDType);
  return layer == nullptr ? std::nullopt : std::optional(LayerMatch{site.step, std::move(layer)});
}

// Computes the conversion of the image, too, which the kernel rounds itself.
std::optional<LayerMatch> MatchCastImage(const LayerSite& site) {
  const Step& cast = *site.producers[0];
  const bool is_cast = std::holds_alternative<CastSpec>(cast.spec) && cast.post_ops.empty();
  if (!is_cast || site.TypesOf(cast).inputs[0].dtype != DType::kFloat32) return std::nullopt;
  auto layer = ImageLayerOf(site, site.step, DType::kBFloat16);
  if (layer == nullptr) return std::nullopt;
  layer->ReadFloat32();
  Step step = site.step;
  step.spec = FusedLayerSpec{"convolution"};
  step.inputs[0] = cast.inputs[0];
  AddFused(cast, &step);
  return LayerMatch{std::move(step), std::move(layer)};
}

// The layer that makes what is pooled: of a convolution, or of one that rounds its image itself.
std::shared_ptr<ImageLayer> PooledLayerOf(const LayerSite& site, const Step& convolution, DType dtype) {
  if (!std::holds_alternative<FusedLayerSpec>(convolution.spec)) return ImageLayerOf(site, convolution, dtype);
  const auto* known = dynamic_cast<const ImageLayer*>(convolution.layer());
  return known != nullptr && known->multiplied() == dtype ? std::make_shared<ImageLayer>(*known) : nullptr;
}

// Computes the max pooling of its results, which are then written nowhere else. Each thread keeps the rows of a window.
template <DType kDType>
std::optional<LayerMatch> MatchPooledImage(const LayerSite& site) {
  constexpr std::int64_t kMaxHeight = 8;
  const Step& convolution = *site.producers[0];
  const auto* pooling = std::get_if<PoolingSpec>(&site.step.spec);
  const bool is_pooled = pooling != nullptr && pooling->kind == PoolingKind::kMax && site.step.post_ops.empty();
  if (!is_pooled || pooling->kernel.size() != 2 || pooling->kernel[0] > kMaxHeight) return std::nullopt;
  auto layer = PooledLayerOf(site, convolution, kDType);
  if (layer == nullptr || layer->AddsTensor()) return std::nullopt;
  layer->Pool(*pooling, site.types().outputs[0].shape);
  Step step = convolution;
  step.spec = FusedLayerSpec{"convolution"};
  step.outputs = site.step.outputs;
  step.node = site.step.node;
  step.fused = site.step.fused;
  AddFused(convolution, &step);
  return LayerMatch{std::move(step), std::move(layer)};
}

[[maybe_unused]] const bool kImage = RegisterLayerKernels({
    {"image_convolution_float32", MatchImage<DType::kFloat32>, kMaxTimeRatio},
    {"image_convolution_bfloat16", MatchImage<DType::kBFloat16>, kMaxTimeRatio},
    {.name = "cast_image_convolution_bfloat16",
     .match = MatchCastImage,
     .max_time_ratio = kMaxTimeRatio,
     .fused_producers = 1,
     .samples = "image_convolution_bfloat16"},
    {"pooled_image_convolution_float32", MatchPooledImage<DType::kFloat32>, kMaxTimeRatio, 1},
    {"pooled_image_convolution_bfloat16", MatchPooledImage<DType::kBFloat16>, kMaxTimeRatio, 1},
});

}  // namespace
}  // namespace amp
