// _random_randint, and the form in which it runs.
#include <limits>

#include "kernels/threads/parallel.h"
#include "ops/common/distributions.h"
#include "ops/common/numeric.h"
#include "ops/random/draw.h"
#include "passes/gradient/gradient_rule.h"

namespace amp::random_integers {
namespace {

struct IntegersParam {
  std::int64_t low = 0, high = 0;
  IntTuple shape;
  std::optional<DType> dtype;
  std::int64_t stream = 0;
};

DType DTypeOf(const IntegersParam& p) { return p.dtype.value_or(DType::kInt32); }

void Validate(IntegersParam& p) {
  RequireSizes(p.shape);
  const DType dtype = DTypeOf(p);
  if (dtype != DType::kInt32 && dtype != DType::kInt64) {
    Throw<GraphError>("attribute dtype: expected int32 or int64, got {}", NameOf(dtype));
  }
  if (p.low >= p.high) Throw<GraphError>("there is no integer from [{}, {})", p.low, p.high);
  using Limits = std::numeric_limits<std::int32_t>;
  if (dtype == DType::kInt32 && (p.low < Limits::min() || p.high - 1 > Limits::max())) {
    Throw<GraphError>("int32 does not hold all integers from [{}, {})", p.low, p.high);
  }
}

ParamSchema<IntegersParam> Schema() {
  return ParamSchema<IntegersParam>()
      .Required("low", &IntegersParam::low, "The least of the integers.")
      .Required("high", &IntegersParam::high, "The end: all are below it.")
      .Optional("shape", &IntegersParam::shape, "Shape of the output; () or sizes of 0: that of what reads it.")
      .Ignored("ctx")
      .Optional("dtype", &IntegersParam::dtype, "int32 or int64; None: int32.");
}

// What both forms have in common.
OpDefinition<IntegersParam>& Complete(OpDefinition<IntegersParam>& op) {
  return SetSampleShape(op)
      .Set(DTypeRule{[](DTypeRelation& r) {
        if (r.num_inputs() == 1) r.In(0, DType::kInt64);  // the key
        r.Out(0, DTypeOf(r.node().params<IntegersParam>()));
      }})
      .Set(ZeroGradient{"nothing that has a gradient is read"});
}

[[maybe_unused]] const bool kPublic = [] {
  auto op = RegisterOp<IntegersParam>("_random_randint").Alias("_npi_random_randint");
  Complete(op)
      .Alias("random_randint")
      .Doc("Integers from [low, high).")
      .Params(Schema(), Validate)
      .Inputs(std::vector<std::string>{})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true});
  SetDrawing<IntegersParam>(op, "_draw_integers", [](const IntegersParam& p) {
    return AttrMap{{"low", PrintAttr(p.low)},
                   {"high", PrintAttr(p.high)},
                   {"shape", PrintAttr(p.shape)},
                   {"dtype", PrintAttr(DTypeOf(p))}};
  });
  return true;
}();

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<IntegersParam>();
  const kernels::RandomStream stream = RandomStreamOf(p.stream, in[0].As<std::int64_t>());
  std::vector<std::int64_t> values(static_cast<std::size_t>(out[0].size()));
  kernels::ParallelFor(std::ssize(values), 1 << 12, [&](std::int64_t i) {
    Draws draws(stream, i);
    values[static_cast<std::size_t>(i)] = DrawInteger(draws, p.low, p.high);
  });
  Store(values, out[0]);
}

[[maybe_unused]] const bool kForm = [] {
  auto op = RegisterOp<IntegersParam>("_draw_integers");
  Complete(op)
      .Doc("Integers from [low, high), as functions of the key and the stream: see _draw.")
      .Params(Schema().Optional("stream", &IntegersParam::stream, "Tells the nodes of a graph apart."), Validate)
      .Inputs({"key"})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kIndex}, nullptr, true})
      .Set(ReferenceKernel{Reference});
  return true;
}();

}  // namespace
}  // namespace amp::random_integers
