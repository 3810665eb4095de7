// What an operator definition may state beside its schema and its rules for shapes and dtypes. Facts, never membership
// of lists: passes and policies are computed from them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "nnvm/node.h"
#include "nnvm/shape.h"
#include "passes/training_form.h"

namespace amp {

// ---- precision ----

enum class Arithmetic {
  kAccumulates,   // sums of many products: gains from low-precision operands, accumulates in float32
  kElementwise,   // little arithmetic per element: follows its neighbours
  kMovesData,     // values come out as they went in
  kNeedsFloat32,  // exponentials with reduction, norms, losses: computed in float32
  kCasts,         // its output dtype is its purpose
};

enum class SlotRole {
  kData,
  kStatistic,  // scales, shifts and statistics: stay float32
  kIndex,      // indices, lengths, axes, masks: never rounded
  kIgnored,    // labels: not read at inference
};

struct AmpFacts {
  Arithmetic arithmetic = Arithmetic::kElementwise;
  // Role of each input; slots beyond the end are kData.
  std::vector<SlotRole> roles = {};
  // Does rounding to `target` before the operator give the same bits as after it? Absent: no.
  std::function<bool(const Node&, DType target)> commutes = nullptr;
  // Are its results counted (positions, sizes, ranks)? Such numbers are never rounded, whatever their dtype.
  bool counts = false;

  SlotRole RoleOf(std::size_t slot) const { return slot < roles.size() ? roles[slot] : SlotRole::kData; }
};

// The definition's facts; neutral ones for an operator that states none.
inline const AmpFacts& FactsOf(const Node& node) {
  static const AmpFacts kNone{};
  const auto* facts = node.op()->Find<AmpFacts>();
  return facts != nullptr ? *facts : kNone;
}

// Does rounding to `target` before the node give the same bits as after it? Facts hold for inference: in training,
// another operator may stand for the node.
inline bool CommutesWithRounding(const Node& node, DType target, bool training) {
  const AmpFacts& facts = FactsOf(node);
  if (training && node.op()->Find<TrainingForm>() != nullptr) return false;
  return facts.commutes && facts.commutes(node, target);
}

// Its time is that of products inside, though it is none of kAccumulates.
struct MultipliesInside {};

// Whether the node multiplies data with weights, by itself or inside, as the bodies of loops may.
inline bool HasProducts(const Node& node) {
  return FactsOf(node).arithmetic == Arithmetic::kAccumulates || node.op()->Find<MultipliesInside>() != nullptr ||
         !node.subgraphs().empty();
}

inline bool AlwaysCommutes(const Node&, DType) { return true; }

// Its outputs depend on the shapes of its inputs, and on no values of theirs.
struct ReadsShapesOnly {};

// ---- where the elements of output 0 come from ----

// Output 0 is input 0.
struct IdentityFact {
  std::function<bool(const Node&)> holds = nullptr;  // absent: always
};

// Whether the node's output 0 is its input 0.
inline bool IsIdentity(const Node& node) {
  const auto* fact = node.op()->Find<IdentityFact>();
  return fact != nullptr && (!fact->holds || fact->holds(node));
}

// Output 0 holds the elements of input 0 in their order, under a shape of its own; other inputs are there for their
// shapes alone.
struct IsView {
  bool flattens = false;  // whatever the data's shape: the first axis stays, all others become one
};

// Axis i of output 0 is axis result[i] of input 0.
struct PermutesAxes {
  std::function<std::vector<int>(const Node&, int rank)> axes;
};

// An element of output 0 depends on the elements of the inputs in its own place. Inputs of another shape are broadcast
// as NumPy does it; those of rank 1 with the role of statistics have one value (or a single one at all) for each
// position of `statistics_axis` of the data.
struct IsElementwise {
  std::function<int(const Node&, int rank)> statistics_axis = nullptr;  // absent: 1
};

// Output 0 is a function of one number, without attributes; of integers it is an integer.
struct IsUnaryFunction {};

// The window of input 0 that an element of output 0 depends on. Along spatial axis i it begins at
// position * stride[i] - pad[i], and there are floor((size + 2 pad - reach) / stride) + 1 of them, where the reach does
// not depend on the stride.
struct SlidingWindow {
  int first_axis = 2;  // of the spatial axes, which follow each other
  IntTuple kernel, stride, pad;
};

// Its stride may be changed, by way of the attribute `stride`.
struct HasWindow {
  std::function<std::optional<SlidingWindow>(const Node&)> window;  // nullopt: the node is none of that kind
};

// ---- shapes ----

// The shape of output 0 where the shape rule leaves it open with all inputs known, and no reader requires another one.
struct ShapeDefault {
  std::function<Shape(const Node&)> shape;
};

// ---- batch norm and what it is folded into ----

// Fact of an operator that adds up products with a weight (input 1), plus a bias (input 2, where there is one): scaling
// the weights of an output channel scales that channel of output 0.
struct FoldTarget {
  // The axis of an output of `rank` axes that holds the channels.
  std::function<int(const Node&, int rank)> channel_axis;
  // The weight's axis of output channels. Where axis 0 consists of groups, each of them has channels of its own, and
  // those of the first group come first.
  int weight_axis = 0;
  std::function<std::int64_t(const Node&)> weight_groups = [](const Node&) { return std::int64_t{1}; };
  // The attributes that give a node without a bias the input for one.
  AttrMap with_bias = {{"no_bias", "False"}};
};

// Fact of an operator that adds up products with a weight (input 1) and whose output channels are the weight's axis 0:
// scaling and shifting a channel of its input is scaling weights and shifting the bias, where it adds no padding.
struct FoldReader {
  struct Use {
    int channel_axis = 1;     // of the input
    int weight_axis = 1;      // of the weight: the input's channels
    std::int64_t groups = 1;  // the output channels fall into as many parts; each reads channels of its own
    bool flattens = false;    // all axes of the input but the first become one, along `weight_axis`
  };
  // For an input of `rank` axes; nullopt for a node that pads.
  std::function<std::optional<Use>(const Node&, int rank)> use;
};

// Fact of an operator over (data, gamma, beta, mean, variance) whose output 0 is
// (data - mean) * gamma / sqrt(variance + eps) + beta, per channel.
struct BatchNormFact {
  struct Use {
    std::int64_t axis = 1;  // negative: from behind
    double eps = 0;
    bool fix_gamma = false;  // gamma counts as 1
    bool is_plain = true;    // no other output is visible
  };
  std::function<Use(const Node&)> use;
};

// ---- fused operators ----

// Fact of an operator whose node stands for its only subgraph; the subgraph's variables, in graph order, are the node's
// inputs, its outputs the node's outputs.
struct FusedFact {
  // The dtype that the node writes whatever its subgraph's arithmetic gives; kUnknown: that of the subgraph.
  std::function<DType(const Node&)> output_dtype;
};

}  // namespace amp
