// softmax_cross_entropy: the sum of the losses of a batch.
#include <algorithm>
#include <cmath>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/composition_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::softmax_cross_entropy {
namespace {

// Labels that are no class are cut to one, as `pick` does it.
template <class T>
double LossOf(const T* row, std::int64_t classes, std::int64_t label) {
  const T largest = *std::max_element(row, row + classes);
  double sum = 0;
  for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(static_cast<double>(row[i] - largest));
  return std::log(sum) - static_cast<double>(row[std::clamp<std::int64_t>(label, 0, classes - 1)] - largest);
}

void Reference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t rows = in[0].shape()[0], classes = in[0].shape()[1];
  const std::vector<std::int64_t> labels = Numbers<std::int64_t>(in[1]);
  WithFloatType(in[0].dtype(), [&](auto zero) {
    const auto x = Numbers<decltype(zero)>(in[0]);
    double total = 0;
    for (std::int64_t i = 0; i < rows; ++i) total += LossOf(x.data() + i * classes, classes, labels[i]);
    Store(std::vector<double>{total}, out[0]);
  });
}

[[maybe_unused]] const auto kCard =
    RegisterOp<NoParam>("softmax_cross_entropy")
        .Doc("The sum of -log(softmax(data)) (N, classes) at the classes label (N); shape (1,).")
        .Inputs({"data", "label"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(0, Shape{kUnknownDim, kUnknownDim});
          r.In(1, Shape{r.in(0)[0]});
          r.In(0, Shape{r.in(1)[0], kUnknownDim});
          r.Out(0, Shape{1});
          if (r.in(0)[1] == 0) FailAt(r.node(), "there are no classes");
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          r.InIsFloat(0);
          if (!IsKnown(r.in(1))) r.In(1, r.in(0));
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kData, SlotRole::kIndex}})
        .Set(CompositionRule([](GradientContext& c) {
          const Term logs = c.Call("log_softmax", {c.in(0)}, {{"axis", "-1"}});
          const Term losses = c.Call("pick", {logs, c.in(1)}, {{"axis", "-1"}});
          return std::vector<Term>{-c.Call("sum", {losses}, {{"axis", "(0,)"}, {"keepdims", "True"}})};
        }))
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::softmax_cross_entropy
