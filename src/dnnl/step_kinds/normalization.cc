// Along axes: softmax, layer normalisation, sums and means.
#include <algorithm>

#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

// oneDNN's code for layer normalisation grows with the row, which it unrolls.
constexpr std::int64_t kMaxNormalizedRow = 1 << 20;

// Own kernels are faster than oneDNN's reference code.
std::optional<PreparedPrimitive> FastOnly(std::optional<PreparedPrimitive> prepared) {
  return prepared && prepared->is_reference() ? std::nullopt : std::move(prepared);
}

// Along an axis with others behind it our kernel is faster, which reads row-major memory: with channels last the
// library takes lines one by one, however short they are.
std::optional<PreparedPrimitive> PrepareSoftmax(const PrimitiveBuilder& b) {
  const auto& spec = b.spec<SoftmaxSpec>();
  const std::vector<std::int64_t>& dims = b.in(0).shape.dims();
  if (std::any_of(dims.begin() + spec.axis + 1, dims.end(), [](std::int64_t size) { return size != 1; }))
    return std::nullopt;
  const auto kind = spec.logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const Desc out = WithDType(b.layout(0), b.out().dtype);
  if (out.is_zero()) return std::nullopt;
  const dnnl::softmax_forward::primitive_desc pd(CpuEngine(), b.kInference, kind, b.layout(0), out, spec.axis,
                                                 b.Attributes(), b.kAllowEmpty);
  return FastOnly(b.DescribeUnary(pd));
}

std::optional<PreparedPrimitive> PrepareLayerNorm(const PrimitiveBuilder& b) {
  if (b.in(0).shape.dims().back() > kMaxNormalizedRow) return std::nullopt;
  using dnnl::normalization_flags;
  const auto& spec = b.spec<LayerNormSpec>();
  const auto flags =
      spec.is_scaled ? normalization_flags::use_scale | normalization_flags::use_shift : normalization_flags::none;
  const dnnl::layer_normalization_forward::primitive_desc pd(CpuEngine(), b.kInference, PlainDesc(b.in(0)),
                                                             PlainDesc(b.out()), spec.epsilon, flags, b.Attributes(),
                                                             b.kAllowEmpty);
  auto prepared = b.DescribeUnary(pd);
  if (!prepared) return std::nullopt;
  if (spec.is_scaled) {
    b.SetInput(1, PlainDesc(b.in(1)), DNNL_ARG_SCALE, &*prepared);
    b.SetInput(2, PlainDesc(b.in(2)), DNNL_ARG_SHIFT, &*prepared);
  }
  prepared->can_run_in_place = true;
  return prepared;
}

// oneDNN's fast code sums up what lies together in memory.
std::optional<PreparedPrimitive> PrepareReduction(const PrimitiveBuilder& b) {
  const bool is_sum = b.spec<ReductionSpec>().kind == ReductionKind::kSum;
  const auto kind = is_sum ? dnnl::algorithm::reduction_sum : dnnl::algorithm::reduction_mean;
  const dnnl::reduction::primitive_desc pd(CpuEngine(), kind, b.layout(0), PlainDesc(b.out()), 0.0f, 0.0f,
                                           b.Attributes(), b.kAllowEmpty);
  return FastOnly(b.DescribeUnary(pd));
}

[[maybe_unused]] const bool kSoftmax = RegisterStepKind<SoftmaxSpec>({.prepare = PrepareSoftmax});
[[maybe_unused]] const bool kLayerNorm = RegisterStepKind<LayerNormSpec>({.prepare = PrepareLayerNorm});
[[maybe_unused]] const bool kReduction = RegisterStepKind<ReductionSpec>({.prepare = PrepareReduction});

}  // namespace
}  // namespace amp::onednn
