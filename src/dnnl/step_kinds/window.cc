// Pooling and resampling.
#include <algorithm>

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

// oneDNN 3.13 takes channels of one element each in row-major order for channels that lie behind all else, and writes
// beyond the end.
bool IsBrokenResample(const PrimitiveBuilder& b, const std::string& implementation) {
  const std::vector<std::int64_t>& dims = b.in(0).shape.dims();
  const bool is_one_element = std::all_of(dims.begin() + 2, dims.end(), [](std::int64_t dim) { return dim == 1; });
  return is_one_element && IsRowMajor(b.layout(0)) && implementation.starts_with("jit");
}

std::optional<PreparedPrimitive> PrepareResample(const PrimitiveBuilder& b) {
  const dnnl::resampling_forward::primitive_desc pd(CpuEngine(), b.kInference, dnnl::algorithm::resampling_nearest,
                                                    b.layout(0), AnyDesc(b.out()), b.Attributes(), b.kAllowEmpty);
  return b.DescribeUnary(
      b.WithoutBroken(pd, [&](const std::string& implementation) { return IsBrokenResample(b, implementation); }));
}

[[maybe_unused]] const bool kPooling = RegisterStepKind<PoolingSpec>({.prepare = PreparePooling});
[[maybe_unused]] const bool kResample = RegisterStepKind<NearestResampleSpec>({.prepare = PrepareResample});

}  // namespace
}  // namespace amp::onednn
