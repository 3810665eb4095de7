// What an operator's definition lowers its node with.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nnvm/graph.h"
#include "nnvm/ndarray.h"
#include "program/step.h"

namespace amp {

// An output that a lowering rule has not set.
inline constexpr ValueId kNoValue = ~ValueId{0};

// What an operator's lowering rule sees of its node and of the program.
class LowerContext {
 public:
  LowerContext(Program* program, const Node& node, NodeId id, std::string key, std::vector<ValueId> inputs,
               std::vector<TensorType> in_types, std::vector<TensorType> out_types, std::vector<bool> is_read);

  const Node& node() const { return node_; }
  const TensorType& in_type(int i) const { return in_types_[i]; }
  const TensorType& out_type(int i) const { return out_types_[i]; }
  const std::vector<TensorType>& in_types() const { return in_types_; }
  const std::vector<TensorType>& out_types() const { return out_types_; }
  // Some node reads output i, or it is an output of the graph.
  bool is_read(int i) const { return is_read_[i]; }

  ValueId in(int i) const { return inputs_[i]; }
  ValueId Constant(const NDArray& array, const std::string& name);
  // Adds a step and returns its output.
  ValueId Emit(StepSpec spec, std::vector<ValueId> inputs, TensorType type);
  // The same for a step with several outputs.
  std::vector<ValueId> EmitSeveral(StepSpec spec, std::vector<ValueId> inputs, std::vector<TensorType> types);
  // `value` is output i.
  void SetOut(int i, ValueId value) { outputs_[i] = value; }

  ValueId Reshape(ValueId value, Shape shape);
  ValueId Permute(ValueId value, std::vector<int> axes);
  ValueId Cast(ValueId value, DType dtype);

  const Shape& ShapeOf(ValueId value) const { return program_->values[value].type.shape; }
  DType DTypeOf(ValueId value) const { return program_->values[value].type.dtype; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::map<std::string, NDArray>& constants() const { return constants_; }

 private:
  std::string NewName(const StepSpec& spec, DType dtype) const;

  Program* program_;
  const Node& node_;
  NodeId id_;
  std::string key_;
  std::vector<ValueId> inputs_;
  std::vector<TensorType> in_types_;
  std::vector<TensorType> out_types_;
  std::vector<bool> is_read_;
  std::vector<ValueId> outputs_;
  std::map<std::string, NDArray> constants_;
};

// A fact of an operator. Returns false where oneDNN cannot express the node; it then runs on its reference kernel.
// A view (see IsView) needs no rule. Low-precision nodes are lowered only where the CPU computes that dtype natively;
// elsewhere the rule sees float32 types between casts.
struct LowerRule {
  std::function<bool(LowerContext&)> lower;
};

// A fact of an operator: lowers it to kernels of ours (KernelSpec) and views. Asked where LowerRule cannot lower the
// node, for operands of every dtype. Returns false where it cannot either.
struct KernelRule {
  std::function<bool(LowerContext&)> lower;
};

}  // namespace amp
