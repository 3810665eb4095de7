// Pooling and resampling.
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

dnnl::algorithm PoolingAlgorithm(PoolingKind kind) {
  using enum dnnl::algorithm;
  constexpr dnnl::algorithm kAlgorithms[] = {pooling_max, pooling_avg_include_padding, pooling_avg_exclude_padding};
  return kAlgorithms[static_cast<int>(kind)];
}

std::optional<PreparedPrimitive> PreparePooling(const PrimitiveBuilder& b) {
  const auto& spec = b.spec<PoolingSpec>();
  const dnnl::memory::dims dense(spec.kernel.size(), 0);
  const dnnl::pooling_forward::primitive_desc pd(CpuEngine(), b.kInference, PoolingAlgorithm(spec.kind), b.layout(0),
                                                 AnyDesc(b.out()), spec.strides, spec.kernel, dense, spec.pads_begin,
                                                 spec.pads_end, b.Attributes(), b.kAllowEmpty);
  return b.DescribeUnary(pd);
}

std::optional<PreparedPrimitive> PrepareResample(const PrimitiveBuilder& b) {
  const dnnl::resampling_forward::primitive_desc pd(CpuEngine(), b.kInference, dnnl::algorithm::resampling_nearest,
                                                    b.layout(0), AnyDesc(b.out()), b.Attributes(), b.kAllowEmpty);
  return b.DescribeUnary(pd);
}

[[maybe_unused]] const bool kPooling = RegisterStepKind<PoolingSpec>({.prepare = PreparePooling});
[[maybe_unused]] const bool kResample = RegisterStepKind<NearestResampleSpec>({.prepare = PrepareResample});

}  // namespace
}  // namespace amp::onednn
