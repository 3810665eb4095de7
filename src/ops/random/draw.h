// What operators that draw random arrays have in common: those of MXNet, and those that stand for them in graphs that
// run, which read the key of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "nnvm/op.h"
#include "ops/common/open_shape.h"
#include "ops/common/random_stream.h"
#include "passes/draws_at_inference.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/training_form.h"
#include "program/reference.h"

namespace amp {

// Throws GraphError.
inline void RequireFloat(DType dtype) {
  if (!IsFloat(dtype)) Throw<GraphError>("attribute dtype: expected a float dtype, got {}", NameOf(dtype));
}

// The output has the shape that an attribute says; one that says nothing is that of what reads the output, else [1].
template <class P>
OpDefinition<P>& SetSampleShape(OpDefinition<P>& op) {
  return op
      .Set(ShapeRule{[](ShapeRelation& r) {
        const IntTuple& shape = r.node().params<P>().shape;
        if (r.num_inputs() == 1) r.In(0, Shape{2});  // the key
        if (!shape.empty()) r.Out(0, OpenShape(shape));
      }})
      .Set(ShapeDefault{[](const Node& node) {
        const IntTuple& shape = node.params<P>().shape;
        return shape.empty() ? Shape{1} : ClosedShape(node, shape);
      }});
}

// The first inputs are parameters, for each element of which `shape` numbers are drawn.
inline void InferEach(ShapeRelation& r, int num_parameters, const IntTuple& shape) {
  for (int i = 1; i < num_parameters; ++i) {
    r.In(i, r.in(0));
    r.In(0, r.in(i));
  }
  if (!r.in(0).rank_known()) return;
  std::vector<std::int64_t> dims = r.in(0).dims();
  dims.insert(dims.end(), shape.begin(), shape.end());
  r.Out(0, Shape(std::move(dims)));
}
inline void InferEach(DTypeRelation& r, int num_parameters, DType dtype) {
  for (int i = 1; i < num_parameters; ++i) r.Same({0, i}, {});
  r.Out(0, dtype);
}

// The number of a stream of its own, as an attribute.
inline AttrMap StreamAttr(TrainingContext& c) { return {{"stream", PrintAttr(c.NextStream())}}; }

// The inputs of the node, and the key.
inline std::vector<NodeEntry> WithKey(TrainingContext& c) {
  std::vector<NodeEntry> inputs = c.inputs();
  inputs.push_back(c.RandomKey());
  return inputs;
}

// An operator of MXNet: wherever a graph runs, `op` with the attributes and a number for the stream stands for it.
template <class P>
OpDefinition<P>& SetDrawing(OpDefinition<P>& definition, const char* op, std::function<AttrMap(const P&)> attrs) {
  return definition.Set(DrawsAtInference{[](const Node&) { return true; }})
      .Set(TrainingForm{[op, attrs = std::move(attrs)](TrainingContext& c) {
        AttrMap all = attrs(c.node().params<P>());
        all.merge(StreamAttr(c));
        return c.Make(op, std::move(all), WithKey(c));
      }})
      .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray>, std::span<NDArray>) { RefuseToDraw(node); }});
}

}  // namespace amp
