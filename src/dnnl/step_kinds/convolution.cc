// Convolutions and deconvolutions.
#include <algorithm>

#include "dnnl/assign_primitive.h"
#include "dnnl/cpu_info.h"
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

// oneDNN has code for blocks of as many channels as a vector register holds floats.
bool HasWideVectors() {
  static const bool kIsWide = OneDnnHasAvx512();
  return kIsWide;
}
std::int64_t BlockSize() { return HasWideVectors() ? 16 : 8; }

// Left to the primitive where blocks would be too large.
Desc BlockedDesc(const TensorType& type) {
  const Tag tag = HasWideVectors() ? Tag::aBcd16b : Tag::aBcd8b;
  return TaggedDesc(DimsOf(type.shape), DataType(type.dtype), tag).value_or(AnyDesc(type));
}

// One axis of a convolution.
struct Axis {
  std::int64_t input, output, stride, distance, pad;  // `distance`: of taps
};

template <class Spec>
Axis AxisOf(const Spec& spec, std::size_t axis, std::int64_t input, std::int64_t output) {
  return {input, output, spec.strides[axis], spec.dilates[axis] + 1, spec.pads_begin[axis]};
}

// Whether that position of the kernel meets an element of the input for some element of the output.
bool TapMeetsInput(const Axis& axis, std::int64_t tap) {
  const std::int64_t offset = tap * axis.distance - axis.pad;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const std::int64_t position = i * axis.stride + offset;
    if (0 <= position && position < axis.input) return true;
  }
  return false;
}

// Whether in each axis some position of the kernel does.
bool SomeTapsMeetInput(const ConvolutionSpec& spec, const Shape& input, const Shape& kernel, const Shape& output) {
  const std::size_t first = kernel.dims().size() - spec.strides.size();  // behind the channels
  for (std::size_t axis = 0; axis < spec.strides.size(); ++axis) {
    const Axis along = AxisOf(spec, axis, input[axis + 2], output[axis + 2]);
    std::int64_t tap = 0;
    while (tap < kernel[first + axis] && !TapMeetsInput(along, tap)) ++tap;
    if (tap == kernel[first + axis]) return false;
  }
  return true;
}

// oneDNN 3.13 with AMX computes other numbers where rows of the output have one element and those of the kernel more.
// Its kernels by rows end the process where some axis of the output sees nothing but padding.
bool IsBrokenConvolution(const PrimitiveBuilder& b, const std::string& implementation) {
  if (!implementation.starts_with("brg_conv_fwd")) return false;
  const bool has_narrow_rows = b.out().shape.dims().back() == 1 && b.in(1).shape.dims().back() > 1;
  const bool is_wrong = has_narrow_rows && implementation.find("amx") != std::string::npos;
  return is_wrong || !SomeTapsMeetInput(b.spec<ConvolutionSpec>(), b.in(0).shape, b.in(1).shape, b.out().shape);
}

std::optional<PreparedPrimitive> PrepareWith(const PrimitiveBuilder& b, const Desc& source, const Desc& out) {
  const auto& spec = b.spec<ConvolutionSpec>();
  const dnnl::convolution_forward::primitive_desc pd(
      CpuEngine(), b.kInference, dnnl::algorithm::convolution_direct, source, AnyDesc(b.in(1)), b.BiasDesc(),
      b.OutDesc(out), spec.strides, spec.dilates, spec.pads_begin, spec.pads_end, b.Attributes(), b.kAllowEmpty);
  const auto is_broken = [&](const std::string& implementation) { return IsBrokenConvolution(b, implementation); };
  return b.DescribeWithBias(b.WithoutBroken(pd, is_broken));
}

std::optional<PreparedPrimitive> PrepareConvolution(const PrimitiveBuilder& b) {
  const LayoutHint hint = b.spec<ConvolutionSpec>().layout_hint;
  std::optional<PreparedPrimitive> prepared;
  if (hint == LayoutHint::kBlocked) {
    const bool is_image = b.in(0).shape[1] < BlockSize();  // of which oneDNN has an opinion of its own
    prepared = PrepareWith(b, is_image ? AnyDesc(b.in(0)) : BlockedDesc(b.in(0)), BlockedDesc(b.out()));
  } else if (hint == LayoutHint::kChannelsLastOut) {
    prepared = PrepareWith(b, AnyDesc(b.in(0)), ChannelsLast(b.out()));
  }
  const bool follows_hint = prepared && !prepared->is_reference();
  return follows_hint ? prepared : PrepareWith(b, AnyDesc(b.in(0)), AnyDesc(b.out()));
}

// oneDNN makes code for every phase of the stride and block of the row: 0.4 s at 128 x 128, minutes at 512 x 512.
bool BuildsQuickly(const DeconvolutionSpec& spec, const TensorType& out) {
  constexpr std::int64_t kMaxPhases = 128 * 128, kMaxRow = 8192;
  std::int64_t phases = 1;
  for (const std::int64_t stride : spec.strides) phases *= std::min(stride, kMaxPhases + 1);
  return phases == 1 || (phases <= kMaxPhases && out.shape.dims().back() <= kMaxRow);
}

// A backward convolution knows no post-ops: oneDNN applies them in reference code behind it (0.5 s for a layer of
// ResNet-50 at batch 16).
bool IsBackwardConvolution(const PreparedPrimitive& prepared) { return prepared.implementation.starts_with("conv:"); }

std::optional<PreparedPrimitive> PrepareDeconvolutionWith(const PrimitiveBuilder& b, const Desc& source,
                                                          const Desc& out) {
  const auto& spec = b.spec<DeconvolutionSpec>();
  const dnnl::deconvolution_forward::primitive_desc pd(
      CpuEngine(), b.kInference, dnnl::algorithm::deconvolution_direct, source, AnyDesc(b.in(1)), b.BiasDesc(),
      b.OutDesc(out), spec.strides, spec.dilates, spec.pads_begin, spec.pads_end, b.Attributes(), b.kAllowEmpty);
  auto prepared = b.DescribeWithBias(b.WithoutBroken(pd));
  const bool is_slow = prepared && b.has_post_ops() && IsBackwardConvolution(*prepared);
  return is_slow ? std::nullopt : std::move(prepared);
}

std::optional<PreparedPrimitive> PrepareDeconvolution(const PrimitiveBuilder& b) {
  const auto& spec = b.spec<DeconvolutionSpec>();
  if (!BuildsQuickly(spec, b.out())) return std::nullopt;
  if (spec.layout_hint == LayoutHint::kBlocked) {
    auto prepared = PrepareDeconvolutionWith(b, BlockedDesc(b.in(0)), BlockedDesc(b.out()));
    if (prepared && !prepared->is_reference()) return prepared;
  }
  return PrepareDeconvolutionWith(b, AnyDesc(b.in(0)), AnyDesc(b.out()));
}

// oneDNN 3.2 computes some strided deconvolutions as several convolutions and finishes each of them.
bool FinishesOnce(const Step& step, const std::string& implementation) {
  const IntTuple& strides = std::get<DeconvolutionSpec>(step.spec).strides;
  const bool is_strided = std::any_of(strides.begin(), strides.end(), [](std::int64_t s) { return s > 1; });
  return !is_strided || implementation.find("brg") == std::string::npos;
}

// Whether every position of the kernel meets the input somewhere, and not only its padding.
bool KernelMeetsInput(const PrimitiveBuilder& b) {
  const auto& spec = b.spec<WeightGradientSpec>();
  for (std::size_t axis = 0; axis < spec.strides.size(); ++axis) {
    const Axis along = AxisOf(spec, axis, b.in(0).shape[axis + 2], b.in(1).shape[axis + 2]);
    for (std::int64_t tap = 0; tap < b.out().shape[axis + 2]; ++tap) {
      if (!TapMeetsInput(along, tap)) return false;
    }
  }
  return true;
}

// oneDNN 3.2 with AMX leaves the gradient of a weight that meets only padding as it found the memory.
bool MayLeaveHoles(const std::string& implementation) { return implementation.find("amx") != std::string::npos; }

// A backward primitive asks which forward primitive it belongs to; nothing is kept of that but the geometry.
std::optional<PreparedPrimitive> PrepareWeightGradientWith(const PrimitiveBuilder& b, const Desc& source,
                                                           const Desc& gradient) {
  const auto& spec = b.spec<WeightGradientSpec>();
  const auto direct = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      CpuEngine(), dnnl::prop_kind::forward_training, direct, source, AnyDesc({b.in(0).dtype, b.out().shape}), gradient,
      spec.strides, spec.dilates, spec.pads_begin, spec.pads_end, b.ScratchpadOnly(), b.kAllowEmpty);
  if (!forward) return std::nullopt;
  auto pd = b.WithoutBroken(dnnl::convolution_backward_weights::primitive_desc(
      CpuEngine(), direct, source, b.OutDesc(), gradient, spec.strides, spec.dilates, spec.pads_begin, spec.pads_end,
      forward, b.Attributes(), b.kAllowEmpty));
  if (!pd) return std::nullopt;
  const bool fills = KernelMeetsInput(b);
  while (!fills && MayLeaveHoles(pd.impl_info_str())) {
    if (!pd.next_impl()) return std::nullopt;
  }
  auto prepared = b.Describe(pd, {pd.src_desc(), pd.diff_dst_desc()}, pd.diff_weights_desc());
  prepared->input_args = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST};
  prepared->output_args = {DNNL_ARG_DIFF_WEIGHTS};
  return prepared;
}

std::optional<PreparedPrimitive> PrepareWeightGradient(const PrimitiveBuilder& b) {
  if (b.spec<WeightGradientSpec>().layout_hint == LayoutHint::kBlocked) {
    const bool is_image = b.in(0).shape[1] < BlockSize();
    const Desc source = is_image ? AnyDesc(b.in(0)) : BlockedDesc(b.in(0));
    auto prepared = PrepareWeightGradientWith(b, source, BlockedDesc(b.in(1)));
    if (prepared && !prepared->is_reference()) return prepared;
  }
  return PrepareWeightGradientWith(b, AnyDesc(b.in(0)), AnyDesc(b.in(1)));
}

// oneDNN with AMX writes weights of bfloat16 in pairs of channels: no float32 primitive, which small numbers would
// need, has that layout. It writes float32 in one that they have.
bool WritesInPairs(const LayoutBuilder& builder, const Step& step) {
  const bool may_run_another = step.alternate && *step.alternate != AlternateMode::kF32;
  return may_run_another && OneDnnHasAmx() && builder.TypeOf(step.outputs[0]).dtype == DType::kBFloat16;
}

void AssignWeightGradient(LayoutBuilder* builder, Step step) {
  if (!WritesInPairs(*builder, step)) return AssignPrimitive(builder, std::move(step));
  const ValueId rounded = step.outputs[0];
  const TensorType wide{DType::kFloat32, builder->TypeOf(rounded).shape};
  Step cast{CastSpec{},
            {builder->AddValue(wide, "", PlainDesc(wide))},
            {rounded},
            step.node,
            "no other primitive has the layout of these weights in bfloat16"};
  cast.is_backward = step.is_backward;
  cast.alternate = AlternateMode::kF32;
  step.outputs[0] = cast.inputs[0];
  AssignPrimitive(builder, std::move(step));
  BackEndOf(cast.spec).assign_layouts(builder, std::move(cast));
}

[[maybe_unused]] const bool kConvolution = RegisterStepKind<ConvolutionSpec>({.prepare = PrepareConvolution});
[[maybe_unused]] const bool kDeconvolution =
    RegisterStepKind<DeconvolutionSpec>({.prepare = PrepareDeconvolution, .finishes_once = FinishesOnce});
[[maybe_unused]] const bool kWeightGradient = RegisterStepKind<WeightGradientSpec>(
    {.assign_layouts = AssignWeightGradient, .prepare = PrepareWeightGradient, .splits_sums = true});

}  // namespace
}  // namespace amp::onednn
