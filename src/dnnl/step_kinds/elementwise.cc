// Functions of one element, of two, and PReLU.
#include "dnnl/assign_primitive.h"
#include "dnnl/step_kind.h"
#include "dnnl/step_kinds/map.h"
#include "program/map_steps.h"

namespace amp::onednn {
namespace {

std::optional<PreparedPrimitive> InPlace(std::optional<PreparedPrimitive> prepared) {
  if (prepared) prepared->can_run_in_place = true;
  return prepared;
}

std::optional<PreparedPrimitive> PrepareEltwise(const PrimitiveBuilder& b) {
  const auto& spec = b.spec<EltwiseSpec>();
  const dnnl::eltwise_forward::primitive_desc pd(CpuEngine(), b.kInference, AlgorithmOf(spec.kind), b.layout(0),
                                                 b.layout(0), AlphaOf(spec), spec.beta, b.Attributes(), b.kAllowEmpty);
  return InPlace(b.DescribeUnary(pd));
}

std::optional<PreparedPrimitive> PrepareBinary(const PrimitiveBuilder& b) {
  if (b.in(0).dtype != b.out().dtype) return std::nullopt;  // only its slow code can do that
  const Desc other = b.in(0).shape == b.in(1).shape ? b.layout(0) : PlainDesc(b.in(1));
  const dnnl::binary::primitive_desc pd(CpuEngine(), AlgorithmOf(b.spec<BinarySpec>().kind), b.layout(0), other,
                                        b.layout(0), b.Attributes(), b.kAllowEmpty);
  if (!pd) return std::nullopt;
  auto prepared = b.Describe(pd, {pd.src_desc(0), pd.src_desc(1)}, pd.dst_desc());
  b.SetInput(0, pd.src_desc(0), DNNL_ARG_SRC_0, &*prepared);
  b.SetInput(1, pd.src_desc(1), DNNL_ARG_SRC_1, &*prepared);
  return InPlace(std::move(prepared));
}

std::optional<PreparedPrimitive> PreparePRelu(const PrimitiveBuilder& b) {
  const dnnl::prelu_forward::primitive_desc pd(CpuEngine(), b.kInference, b.layout(0), AnyDesc(b.in(1)), b.layout(0),
                                               b.Attributes(), b.kAllowEmpty);
  if (!pd) return std::nullopt;
  return b.Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc());
}

bool AssignAsMap(LayoutBuilder* builder, const Step& step) {
  const NumericMode mode = builder->is_fast() ? NumericMode::kFast : NumericMode::kExact;
  std::optional<Step> map = AsMap(step, builder->laid_out().program, mode);
  if (map) AssignMap(builder, *std::move(map));
  return map.has_value();
}

// oneDNN's give a bound or infinity for a NaN, and its logarithms of numbers below 1.18e-38 are off by up to 15.
// Its relu gives 0 for a NaN, as MXNet's layers do, and runs in place, which maps do not.
bool IsForNormalNumbersAlone(const EltwiseSpec& spec) {
  if (spec.kind == EltwiseKind::kRelu) return spec.alpha == 0 && spec.beta == kReluKeepsNaN;
  return spec.kind == EltwiseKind::kClip || spec.kind == EltwiseKind::kExp || spec.kind == EltwiseKind::kLog ||
         spec.kind == EltwiseKind::kHardSigmoid;
}

void AssignEltwise(LayoutBuilder* builder, Step step) {
  if (IsForNormalNumbersAlone(std::get<EltwiseSpec>(step.spec)) && AssignAsMap(builder, step)) return;
  AssignPrimitive(builder, std::move(step));
}

[[maybe_unused]] const bool kEltwise = RegisterStepKind<EltwiseSpec>(
    {.assign_layouts = AssignEltwise, .prepare = PrepareEltwise, .assign_instead = AssignAsMap});
[[maybe_unused]] const bool kBinary =
    RegisterStepKind<BinarySpec>({.prepare = PrepareBinary, .assign_instead = AssignAsMap, .avoids_reference = true});
[[maybe_unused]] const bool kPRelu =
    RegisterStepKind<PReluSpec>({.prepare = PreparePRelu, .assign_instead = AssignAsMap, .avoids_reference = true});

}  // namespace
}  // namespace amp::onednn
