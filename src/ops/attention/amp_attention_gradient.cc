// The gradients of the operators that the pass FuseAttention makes.
#include "ops/attention/amp_attention.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::amp_attention_gradient {
namespace {

std::vector<std::string> GradientInputs(const AmpAttentionParam& p, const std::vector<std::string>& operands) {
  std::vector<std::string> names = WithMasking(p, operands);
  names.insert(names.begin(), "gradient_output");
  names.push_back("output");
  names.push_back("logsumexp");
  return names;
}

// Infers by the rule of the forward operator, whose inputs are all but the first and the last two.
ShapeRule GradientShapes(void (*infer)(ShapeRelation&), int num_operands) {
  return {[infer, num_operands](ShapeRelation& r) {
    const int results = r.num_inputs() - 2;
    std::vector<Shape> in, out(3);
    for (int i = 1; i < results; ++i) in.push_back(r.in(i));
    ShapeRelation forward(r.node(), in, out);
    infer(forward);
    r.In(0, out[0]);
    for (int i = 1; i < results; ++i) r.In(i, in[static_cast<std::size_t>(i - 1)]);
    r.In(results, out[0]);
    r.In(results + 1, out[1]);
    for (int i = 0; i < num_operands; ++i) r.Out(i, in[static_cast<std::size_t>(i)]);
  }};
}

DTypeRule GradientDTypes(int num_operands) {
  return {[num_operands](DTypeRelation& r) {
    const int results = r.num_inputs() - 2;
    std::vector<int> operands, outputs;
    for (int i = 0; i < num_operands; ++i) operands.push_back(1 + i), outputs.push_back(i);
    r.Same(operands, outputs);
    InferAttentionResults(r, 1, {0, results}, {results + 1});
    const int seen = 1 + num_operands;
    if (seen == results || IsKnown(r.in(seen))) return;
    r.In(seen, SeenDType(r.node().params<AmpAttentionParam>()));
  }};
}

void SeparateGradientReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  WithSeparateAttention(node, in, 1, [&](const AttentionWork& work, std::span<const NDArray> operands) {
    AttentionGradientReference(work, operands, out);
  });
}

bool LowerSeparateGradient(LowerContext& c) {
  const auto& p = c.node().params<AmpAttentionParam>();
  const bool has_mask = p.masking == "mask";
  if (has_mask && c.in_type(1).shape.rank() > 4) return false;
  return LowerAttentionGradient(c, SeparateAttentionWork(p, c.in_type(1).dtype, c.in_type(1).shape, c.in_type(3).shape,
                                                         has_mask ? &c.in_type(4).shape : nullptr));
}

constexpr const char* kNoSecond = "second derivatives of attention are not implemented";

[[maybe_unused]] const auto kSeparateGradient =
    RegisterOp<AmpAttentionParam>("_backward_amp_attention")
        .Doc("The gradients of _amp_attention's query, key and value.")
        .Params(SeparateAttentionSchema(), ValidateAttention)
        .Inputs([](const AmpAttentionParam& p) {
          return GradientInputs(p, {"query", "key", "value"});
        })
        .Outputs({"query", "key", "value"})
        .VisibleOutputs([](const AmpAttentionParam&) { return 3; })
        .Set(GradientShapes(InferSeparateAttention, 3))
        .Set(GradientDTypes(3))
        .Set(AmpFacts{Arithmetic::kAccumulates,
                      {SlotRole::kData, SlotRole::kData, SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{kNoSecond})
        .Set(ReferenceKernel{SeparateGradientReference})
        .Set(KernelRule{LowerSeparateGradient});

[[maybe_unused]] const auto kInterleavedGradient =
    RegisterOp<AmpAttentionParam>("_backward_amp_interleaved_attention")
        .Doc("The gradient of _amp_interleaved_attention's projections.")
        .Params(InterleavedAttentionSchema(), ValidateAttention)
        .Inputs([](const AmpAttentionParam& p) { return GradientInputs(p, {"queries_keys_values"}); })
        .Outputs({"queries_keys_values"})
        .Set(GradientShapes(InferInterleavedAttention, 1))
        .Set(GradientDTypes(1))
        .Set(AmpFacts{Arithmetic::kAccumulates, {SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
        .Set(NoGradient{kNoSecond})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<AmpAttentionParam>();
          AttentionGradientReference(InterleavedAttentionWork(p, in[1].dtype(), SplitProjections(node, in[1].shape())),
                                     in, out);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<AmpAttentionParam>();
          return LowerAttentionGradient(
              c, InterleavedAttentionWork(p, c.in_type(1).dtype, SplitProjections(c.node(), c.in_type(1).shape)));
        }});

}  // namespace
}  // namespace amp::amp_attention_gradient
