// Convolutions and deconvolutions.
#include <algorithm>

#include "dnnl/assign_primitive.h"
#include "dnnl/cpu_info.h"
#include "dnnl/step_kind.h"
#include "dnnl/step_kinds/pointwise.h"
#include "dnnl/step_kinds/winograd.h"

namespace amp::onednn {
namespace {

// The library has code for blocks of as many channels as a vector register holds floats.
bool HasWideVectors() {
  static const bool kIsWide = OneDnnHasAvx512();
  return kIsWide;
}
std::int64_t BlockSize() { return HasWideVectors() ? 16 : 8; }

Desc BlockedDesc(const TensorType& type) {
  using Tag = dnnl::memory::format_tag;
  return Desc(DimsOf(type.shape), DataType(type.dtype), HasWideVectors() ? Tag::aBcd16b : Tag::aBcd8b);
}

std::optional<PreparedPrimitive> PrepareWith(const PrimitiveBuilder& b, const Desc& source, const Desc& out) {
  const auto& spec = b.spec<ConvolutionSpec>();
  const dnnl::convolution_forward::primitive_desc pd(
      CpuEngine(), b.kInference, dnnl::algorithm::convolution_direct, source, AnyDesc(b.in(1)), b.BiasDesc(),
      b.OutDesc(out), spec.strides, spec.dilates, spec.pads_begin, spec.pads_end, b.Attributes(), b.kAllowEmpty);
  return b.DescribeWithBias(pd);
}

std::optional<PreparedPrimitive> PrepareConvolution(const PrimitiveBuilder& b) {
  const LayoutHint hint = b.spec<ConvolutionSpec>().layout_hint;
  std::optional<PreparedPrimitive> prepared;
  if (hint == LayoutHint::kBlocked) {
    const bool is_image = b.in(0).shape[1] < BlockSize();  // of which the library has an opinion of its own
    prepared = PrepareWith(b, is_image ? AnyDesc(b.in(0)) : BlockedDesc(b.in(0)), BlockedDesc(b.out()));
  } else if (hint == LayoutHint::kChannelsLastOut) {
    prepared = PrepareWith(b, AnyDesc(b.in(0)), ChannelsLast(b.out()));
  }
  const bool follows_hint = prepared && !prepared->is_reference();
  return follows_hint ? prepared : PrepareWith(b, AnyDesc(b.in(0)), AnyDesc(b.out()));
}

void AssignConvolution(LayoutBuilder* builder, Step step) {
  auto& spec = std::get<ConvolutionSpec>(step.spec);
  if (spec.winograd && AssignWinograd(builder, step)) return;
  spec.winograd.reset();
  if (spec.pointwise && AssignPointwise(builder, step)) return;
  spec.pointwise.reset();
  AssignPrimitive(builder, std::move(step));
}

std::unique_ptr<const OwnKernel> MakeConvolution(const Step& step, const LaidOutProgram& program) {
  const bool is_pointwise = std::get<ConvolutionSpec>(step.spec).pointwise.has_value();
  return is_pointwise ? MakePointwise(step, program) : MakeWinograd(step, program);
}

bool CanWriteConvolution(const Step& step, const LaidOutProgram& program, const Desc& layout) {
  const bool is_pointwise = std::get<ConvolutionSpec>(step.spec).pointwise.has_value();
  return is_pointwise ? CanWritePointwise(step, program, layout) : CanWriteWinograd(step, program, layout);
}

// oneDNN makes code for every phase of the stride and block of the row: 0.4 s at 128 x 128, minutes at 512 x 512.
bool BuildsQuickly(const DeconvolutionSpec& spec, const TensorType& out) {
  constexpr std::int64_t kMaxPhases = 128 * 128, kMaxRow = 8192;
  std::int64_t phases = 1;
  for (const std::int64_t stride : spec.strides) phases *= std::min(stride, kMaxPhases + 1);
  return phases == 1 || (phases <= kMaxPhases && out.shape.dims().back() <= kMaxRow);
}

std::optional<PreparedPrimitive> PrepareDeconvolution(const PrimitiveBuilder& b) {
  const auto& spec = b.spec<DeconvolutionSpec>();
  if (!BuildsQuickly(spec, b.out())) return std::nullopt;
  const dnnl::deconvolution_forward::primitive_desc pd(CpuEngine(), b.kInference, dnnl::algorithm::deconvolution_direct,
                                                       AnyDesc(b.in(0)), AnyDesc(b.in(1)), b.BiasDesc(), b.OutDesc(),
                                                       spec.strides, spec.dilates, spec.pads_begin, spec.pads_end,
                                                       b.Attributes(), b.kAllowEmpty);
  return b.DescribeWithBias(pd);
}

// oneDNN 3.2 computes some strided deconvolutions as several convolutions and finishes each of them.
bool FinishesOnce(const Step& step, const std::string& implementation) {
  const IntTuple& strides = std::get<DeconvolutionSpec>(step.spec).strides;
  const bool is_strided = std::any_of(strides.begin(), strides.end(), [](std::int64_t s) { return s > 1; });
  return !is_strided || implementation.find("brg") == std::string::npos;
}

[[maybe_unused]] const bool kConvolution = RegisterStepKind<ConvolutionSpec>({.assign_layouts = AssignConvolution,
                                                                              .prepare = PrepareConvolution,
                                                                              .make_kernel = MakeConvolution,
                                                                              .can_write = CanWriteConvolution});
[[maybe_unused]] const bool kDeconvolution =
    RegisterStepKind<DeconvolutionSpec>({.prepare = PrepareDeconvolution, .finishes_once = FinishesOnce});

}  // namespace
}  // namespace amp::onednn
