// Keys of random numbers for runs of bodies: each step of a loop draws numbers of its own.
#include <cstdint>

#include "nnvm/op.h"
#include "ops/common/random_stream.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "program/lower_context.h"
#include "program/reference.h"

namespace amp::draw_key {
namespace {

struct DrawKeyParam {
  std::int64_t stream = 0;
};

void Next(std::int64_t stream, const std::int64_t* key, std::int64_t* next) {
  const std::array<std::uint32_t, 4> drawn = RandomStreamOf(stream, key).Block(0);
  const auto join = [](std::uint32_t high, std::uint32_t low) {
    return static_cast<std::int64_t>(std::uint64_t{high} << 32 | low);
  };
  next[0] = join(drawn[0], drawn[1]);
  next[1] = join(drawn[2], drawn[3]);
}

bool Lower(LowerContext& c) {
  const std::int64_t stream = c.node().params<DrawKeyParam>().stream;
  auto run = [stream](const KernelOperands& operands) {
    Next(stream, static_cast<const std::int64_t*>(operands.input(0)), static_cast<std::int64_t*>(operands.output()));
  };
  c.SetOut(0, c.Emit(KernelSpec{"random_key", run}, {c.in(0)}, c.out_type(0)));
  return true;
}

[[maybe_unused]] const auto kDrawKey =
    RegisterOp<DrawKeyParam>("_draw_key")
        .Doc(
            "The key of other random numbers than those of `key`: 128 bits that are drawn with it from the stream. "
            "Loops and branches make keys for their steps with it.")
        .Params(ParamSchema<DrawKeyParam>().Optional("stream", &DrawKeyParam::stream,
                                                     "Tells keys that are made of one apart."))
        .Inputs({"key"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(0, Shape{2});
          r.Out(0, Shape{2});
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.In(0, DType::kInt64);
          r.Out(0, DType::kInt64);
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kIndex}})
        .Set(ZeroGradient{"keys are no numbers to compute with"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          Next(node.params<DrawKeyParam>().stream, in[0].As<std::int64_t>(), out[0].As<std::int64_t>());
        }})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::draw_key
