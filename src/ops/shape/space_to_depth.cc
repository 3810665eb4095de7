// Blocks of an image as channels, and back: space_to_depth, depth_to_space.
#include <utility>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/partial_shape.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::space_to_depth {
namespace {

struct BlockParam {
  std::int64_t block_size = 0;
};

// Both are a reshape to six axes, a permutation of these and a reshape to the output.
struct Steps {
  Shape six;
  std::vector<int> axes;
  Shape out;
};

void RequireMultiple(const Node& node, const Shape& data, int axis, std::int64_t unit) {
  if (data[axis] % unit != 0) {
    FailAt(node, "axis {} of data of shape {} is no multiple of {}", axis, data.ToString(), unit);
  }
}

Steps ToDepth(const Node& node, std::int64_t b, const Shape& data) {
  const std::int64_t n = data[0], c = data[1], h = data[2] / b, w = data[3] / b;
  RequireMultiple(node, data, 2, b);
  RequireMultiple(node, data, 3, b);
  return {{n, c, h, b, w, b}, {0, 3, 5, 1, 2, 4}, {n, b * b * c, h, w}};
}

Steps ToSpace(const Node& node, std::int64_t b, const Shape& data) {
  const std::int64_t n = data[0], c = data[1] / (b * b), h = data[2], w = data[3];
  RequireMultiple(node, data, 1, b * b);
  return {{n, b, b, c, h, w}, {0, 3, 4, 1, 5, 2}, {n, c, h * b, w * b}};
}

using StepsFn = Steps (*)(const Node&, std::int64_t, const Shape&);

Steps StepsOf(const Node& node, StepsFn steps, const Shape& data) {
  if (data.rank() != 4) FailAt(node, "expected data of rank 4, got shape {}", data.ToString());
  for (int i = 1; i < 4; ++i) {
    if (data[i] == 0) FailAt(node, "expected pictures with elements, got shape {}", data.ToString());
  }
  return steps(node, node.params<BlockParam>().block_size, data);
}

OpDefinition<BlockParam> Register(const char* name, const char* doc, StepsFn steps) {
  return RegisterOp<BlockParam>(name)
      .Doc(doc)
      .Params(ParamSchema<BlockParam>()
                  .Required("block_size", &BlockParam::block_size, "Height and width of a block.")
                  .Range(1, 1 << 15))
      .Inputs({"data"})
      .Set(ShapeRule{[steps](ShapeRelation& r) {
        r.Out(0, PartialShape(r.in(0), [&](const Shape& data) { return StepsOf(r.node(), steps, data).out; }));
      }})
      .Set(SameDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(MoveGradient())
      .Set(ReferenceKernel{[steps](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        const Steps s = StepsOf(node, steps, in[0].shape());
        CopyElements(Transposed(in[0].Reshaped(s.six), s.axes), out[0]);
      }})
      .Set(LowerRule{[steps](LowerContext& c) {
        const Steps s = StepsOf(c.node(), steps, c.in_type(0).shape);
        c.SetOut(0, c.Reshape(c.Permute(c.Reshape(c.in(0), s.six), s.axes), s.out));
        return true;
      }})
      .Set(KernelRule{[steps](LowerContext& c) {
        const Steps s = StepsOf(c.node(), steps, c.in_type(0).shape);
        const std::vector<std::int64_t> strides = RowMajorStrides(s.six);
        std::vector<std::int64_t> sizes, from;
        for (const int axis : s.axes) {
          sizes.push_back(s.six[axis]);
          from.push_back(strides[static_cast<std::size_t>(axis)]);
        }
        return LowerToMove(c, MoveTo(Shape(sizes), from));
      }});
}

[[maybe_unused]] const auto kSpaceToDepth =
    Register("space_to_depth", "The elements of each block of an image (N, C, H, W) as channels.", ToDepth);
[[maybe_unused]] const auto kDepthToSpace =
    Register("depth_to_space", "Channels of (N, C, H, W) as blocks of an image.", ToSpace);

}  // namespace
}  // namespace amp::space_to_depth
