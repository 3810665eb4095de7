// Inner products (a matrix times transposed weights) and products of matrices.
#include "dnnl/step_kind.h"

namespace amp::onednn {
namespace {

std::optional<PreparedPrimitive> PrepareInnerProduct(const PrimitiveBuilder& b) {
  const bool row_major = b.spec<InnerProductSpec>().layout_hint == LayoutHint::kRowMajorWeights;
  const dnnl::inner_product_forward::primitive_desc pd(CpuEngine(), b.kInference, AnyDesc(b.in(0)),
                                                       row_major ? PlainDesc(b.in(1)) : AnyDesc(b.in(1)), b.BiasDesc(),
                                                       b.OutDesc(), b.Attributes(), b.kAllowEmpty);
  return b.DescribeWithBias(b.WithoutBroken(pd));
}

std::optional<PreparedPrimitive> PrepareMatMul(const PrimitiveBuilder& b) {
  const float scale = b.spec<MatMulSpec>().scale;
  const auto pd = b.WithoutBroken(dnnl::matmul::primitive_desc(CpuEngine(), AnyDesc(b.in(0)), AnyDesc(b.in(1)),
                                                               PlainDesc(b.out()), b.Attributes(scale), b.kAllowEmpty));
  if (!pd) return std::nullopt;
  return b.Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc(), scale != 1);
}

[[maybe_unused]] const bool kInnerProduct =
    RegisterStepKind<InnerProductSpec>({.prepare = PrepareInnerProduct, .splits_sums = true});
[[maybe_unused]] const bool kMatMul = RegisterStepKind<MatMulSpec>({.prepare = PrepareMatMul, .splits_sums = true});

}  // namespace
}  // namespace amp::onednn
