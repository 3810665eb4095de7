// SequenceMask: elements behind the end of each sequence replaced by a value.
#include <algorithm>

#include "ops/numeric.h"
#include "ops/ranges.h"
#include "ops/rules.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

struct SequenceMaskParam {
  bool use_sequence_length = false;
  double value = 0;
  std::int64_t axis = 0;
};

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<SequenceMaskParam>();
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).rank_known()) return;
  if (r.in(0).rank() < 2) FailAt(r.node(), "expected data of rank 2 or more, got {}", r.in(0).ToString());
  if (p.use_sequence_length) r.In(1, Shape{r.in(0)[p.axis == 0 ? 1 : 0]});
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<SequenceMaskParam>();
  if (!p.use_sequence_length) return CopyElements(in[0], out[0]);
  const Shape& shape = in[0].shape();
  const std::int64_t inner = shape.SizeOf(2, shape.rank());
  const std::vector<std::int64_t> lengths = Numbers<std::int64_t>(in[1]);
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> y = Numbers<T>(in[0]);
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        const std::int64_t time = p.axis == 0 ? i : j, sequence = p.axis == 0 ? j : i;
        if (time < lengths[sequence]) continue;
        std::fill_n(y.begin() + (i * shape[1] + j) * inner, inner, static_cast<T>(p.value));
      }
    }
    Store(y, out[0]);
  });
}

[[maybe_unused]] const auto kCard =
    RegisterOp<SequenceMaskParam>("SequenceMask")
        .Alias("_npx_sequence_mask")
        .Doc("Sets elements at and behind sequence_length along the time axis to `value`.")
        .Params(ParamSchema<SequenceMaskParam>()
                    .Optional("use_sequence_length", &SequenceMaskParam::use_sequence_length,
                              "There is an input sequence_length (batch); otherwise data passes as it is.")
                    .Optional("value", &SequenceMaskParam::value, "What the rest becomes.")
                    .Optional("axis", &SequenceMaskParam::axis, "The time axis: 0 or 1; the other one is the batch.")
                    .Range(0, 1))
        .Inputs([](const SequenceMaskParam& p) {
          return p.use_sequence_length ? std::vector<std::string>{"data", "sequence_length"}
                                       : std::vector<std::string>{"data"};
        })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          if (r.num_inputs() > 1 && !IsKnown(r.in(1))) r.In(1, DType::kFloat32);
        }})
        .Set(AmpFacts{Arithmetic::kMovesData,
                      {SlotRole::kData, SlotRole::kIndex},
                      [](const Node& node, DType) { return node.params<SequenceMaskParam>().value == 0; }})
        .Set(DataAndConstant([](const Node& node) { return node.params<SequenceMaskParam>().value; }))
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp
