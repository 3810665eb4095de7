// stack: arrays of one shape along a new axis.
#include <cstring>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::stack {
namespace {

struct StackParam {
  std::int64_t num_args = 0;
  std::int64_t axis = 0;
};

int Axis(const Node& node, int out_rank) {
  const auto& p = node.params<StackParam>();
  const auto axis = NormalizeAxis(p.axis, out_rank);
  if (!axis) FailAt(node, "axis {} does not exist in the output of rank {}", p.axis, out_rank);
  return *axis;
}

void InferShape(ShapeRelation& r) {
  Shape common;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < r.num_inputs(); ++i) {
      r.In(i, common);
      common = r.in(i);
    }
  }
  if (!common.rank_known()) return;
  std::vector<std::int64_t> dims = common.dims();
  dims.insert(dims.begin() + Axis(r.node(), common.rank() + 1), r.num_inputs());
  r.Out(0, Shape(dims));
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const int axis = Axis(node, out[0].shape().rank());
  const std::int64_t outer = in[0].shape().SizeOf(0, axis);
  const auto row = static_cast<std::size_t>(in[0].shape().SizeOf(axis, in[0].shape().rank()) * BytesOf(in[0].dtype()));
  for (std::int64_t o = 0; o < outer && row != 0; ++o) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::memcpy(out[0].As<char>() + (static_cast<std::size_t>(o) * in.size() + i) * row, in[i].As<char>() + o * row,
                  row);
    }
  }
}

bool Lower(LowerContext& c) {
  const int axis = Axis(c.node(), c.out_type(0).shape.rank());
  if (c.in_types().size() > 1 && JoinsShortLines(c, axis)) return false;
  Shape part = c.out_type(0).shape;
  part[axis] = 1;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < c.node().inputs().size(); ++i) {
    inputs.push_back(c.Reshape(c.in(static_cast<int>(i)), part));
  }
  c.SetOut(0, inputs.size() == 1 ? inputs[0] : c.Emit(ConcatSpec{axis}, inputs, c.out_type(0)));
  return true;
}

bool LowerToMoves(LowerContext& c) {
  const int axis = Axis(c.node(), c.out_type(0).shape.rank());
  Shape part = c.out_type(0).shape;
  part[axis] = 1;
  return LowerToConcat(c, axis, std::vector<Shape>(c.in_types().size(), part));
}

[[maybe_unused]] const auto kCard =
    RegisterOp<StackParam>("stack")
        .Alias("_npi_stack")
        .Doc("Joins arrays of one shape along a new axis.")
        .Params(ParamSchema<StackParam>()
                    .Required("num_args", &StackParam::num_args, "Number of inputs.")
                    .Range(1, 1 << 16)
                    .Optional("axis", &StackParam::axis, "Where the new axis stands; may be negative."))
        .Variadic("num_args")
        .Inputs([](const StackParam& p) { return NumberedNames("arg", p.num_args); })
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(GradientRule{[](GradientContext& c) {
          const std::string axis = PrintAttr(c.params<StackParam>().axis);
          for (int i = 0; i < c.num_inputs(); ++i) {
            if (!c.is_asked(i)) continue;
            const AttrMap attrs{{"axis", axis}, {"begin", std::to_string(i)}, {"end", std::to_string(i + 1)}};
            c.Set(i, ReshapeLike(c.Call("slice_axis", {c.gradient()}, attrs), c.in(i)));
          }
        }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower})
        .Set(KernelRule{LowerToMoves});

}  // namespace
}  // namespace amp::stack
