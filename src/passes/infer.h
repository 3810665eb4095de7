// Type and shape inference over partly known inputs and outputs.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "nnvm/graph.h"
#include "nnvm/shape.h"

namespace amp {

// The types of all entries of a graph, by EntryId.
using Types = std::vector<TensorType>;
using TypeMap = std::map<std::string, TensorType>;  // by variable name; either half may be unknown

// What an operator's shape rule works on: it reads what is known and says what must hold; a contradiction becomes a
// GraphError that names the node, the expected and the actual shape. Once all inputs are known, one call of a rule
// must settle all outputs.
class ShapeRelation {
 public:
  ShapeRelation(const Node& node, std::span<Shape> in, std::span<Shape> out) : node_(node), in_(in), out_(out) {}

  const Node& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(in_.size()); }
  int num_outputs() const { return static_cast<int>(out_.size()); }
  const Shape& in(int i) const { return in_[i]; }
  const Shape& out(int i) const { return out_[i]; }

  // "Input (output) i has this shape", as far as `shape` is known.
  void In(int i, const Shape& shape);
  void Out(int i, const Shape& shape);
  // All inputs and outputs have one shape.
  void AllSame();

  bool changed() const { return changed_; }

 private:
  const Node& node_;
  std::span<Shape> in_;
  std::span<Shape> out_;
  bool changed_ = false;
};

// Like ShapeRelation, for element types.
class DTypeRelation {
 public:
  DTypeRelation(const Node& node, std::span<DType> in, std::span<DType> out) : node_(node), in_(in), out_(out) {}

  const Node& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(in_.size()); }
  int num_outputs() const { return static_cast<int>(out_.size()); }
  DType in(int i) const { return in_[i]; }
  DType out(int i) const { return out_[i]; }

  void In(int i, DType dtype);
  void Out(int i, DType dtype);
  // Input i, where known, is a float dtype.
  void InIsFloat(int i);
  // These inputs and outputs have one dtype.
  void Same(std::vector<int> inputs, std::vector<int> outputs);
  void AllSame();

  bool changed() const { return changed_; }

 private:
  const Node& node_;
  std::span<DType> in_;
  std::span<DType> out_;
  bool changed_ = false;
};

using InferShapeFn = std::function<void(ShapeRelation&)>;
using InferDTypeFn = std::function<void(DTypeRelation&)>;

// Facts that operator definitions register (two types, so that they are two keys).
struct ShapeRule {
  InferShapeFn infer;
};
struct DTypeRule {
  InferDTypeFn infer;
};

// What a variable's attribute __dtype__ says; kUnknown where it says nothing.
DType DTypeAttr(const Node& variable);

// An operator that accumulates (AmpFacts) or DeclaresOutDType may say in this attribute which float dtype its output 0
// has. Its rule then relates the inputs alone: a product may read bfloat16 and give float32.
inline constexpr const char* kOutDTypeAttr = "__out_dtype__";

// Runs every operator's rules in both directions to the fixed point. `known` outranks the __shape__ and __dtype__ of
// variables (a 0 in __shape__ is an unknown dimension). Entries that stay unknown are left so.
// Throws GraphError for contradictions, ArgumentError for names in `known` that are no variable.
Types InferPartial(const Graph& graph, const TypeMap& known);

// Like InferPartial, but throws one GraphError that lists all entries that stayed unknown.
Types Infer(const Graph& graph, const TypeMap& known);

// The rules of one node applied to the given input dtypes; empty where the node refuses them (`why` says how).
std::vector<DType> OutputDTypes(const Node& node, std::vector<DType> in, std::string* why);

}  // namespace amp
