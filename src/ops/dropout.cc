// Dropout: the identity at inference.
#include <algorithm>

#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/op_facts.h"
#include "passes/range_rule.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

struct DropoutParam {
  double p = 0.5;
  std::string mode = "training";
  IntTuple axes;
};

ParamSchema<DropoutParam> Schema() {
  return ParamSchema<DropoutParam>()
      .Optional("p", &DropoutParam::p, "Fraction that training drops; no effect at inference.")
      .Range(0, 1)
      .Optional("mode", &DropoutParam::mode, "'always' draws random numbers at inference, too: not supported.")
      .OneOf({"training", "always"})
      .Optional("axes", &DropoutParam::axes, "Axes that share one mask; no effect at inference.")
      .Ignored("cudnn_off");
}

void RefuseAlways(const Node& node) {
  if (node.params<DropoutParam>().mode == "always") {
    throw UnsupportedError(node.Describe() +
                           ": mode 'always' draws random numbers at inference, which is not supported");
  }
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  RefuseAlways(node);
  if (out[0].defined()) CopyElements(in[0], out[0]);
  if (!out[1].defined()) return;
  WithNumberType(out[1].dtype(), [&](auto zero) {  // the mask: everything is kept
    Store(std::vector<decltype(zero)>(static_cast<std::size_t>(out[1].size()), 1), out[1]);
  });
}

bool Lower(LowerContext& c) {
  RefuseAlways(c.node());
  c.SetOut(0, c.in(0));
  return true;
}

[[maybe_unused]] const auto kCard =
    RegisterOp<DropoutParam>("Dropout")
        .Alias("_npx_dropout")
        .Doc("The identity at inference.")
        .Params(Schema())
        .Inputs({"data"})
        .Outputs({"output", "mask"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(RangeRule{[](const RangeQuery& q, int index) { return index == 0 ? q.in[0] : ValueRange::Of(1); }})
        .Set(IdentityFact{[](const Node& node) { return node.params<DropoutParam>().mode != "always"; }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp
