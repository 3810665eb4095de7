// What an operator's definition lowers its node with.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nnvm/graph.h"
#include "nnvm/ndarray.h"
#include "program/body_runner.h"
#include "program/step.h"

namespace amp {

// An output that a lowering rule has not set.
inline constexpr ValueId kNoValue = ~ValueId{0};

// The value name of a parameter, and so its key in the ConstantStore; no computed value has such a name.
inline std::string ParameterKey(const std::string& name) { return "$" + name; }
inline bool IsParameterKey(const std::string& name) { return name.starts_with('$'); }

// What an operator's lowering rule sees of its node and of the program.
class LowerContext {
 public:
  LowerContext(Program* program, const Node& node, NodeId id, std::string key, std::vector<ValueId> inputs,
               std::vector<TensorType> in_types, std::vector<TensorType> out_types, std::vector<bool> is_read,
               const BodyPlanner* plan_body = nullptr);

  const Node& node() const { return node_; }
  const TensorType& in_type(int i) const { return in_types_[i]; }
  const TensorType& out_type(int i) const { return out_types_[i]; }
  const std::vector<TensorType>& in_types() const { return in_types_; }
  const std::vector<TensorType>& out_types() const { return out_types_; }
  // Some node reads output i, or it is an output of the graph.
  bool is_read(int i) const { return is_read_[i]; }

  // Input i is a parameter of the model.
  bool is_parameter(int i) const;

  ValueId in(int i) const { return inputs_[i]; }
  // Numbers that follow from the node's attributes and their own shape alone: plans for other shapes share what has the
  // same name and shape.
  ValueId Constant(const NDArray& array, const std::string& name);
  // Adds a step and returns its output.
  ValueId Emit(StepSpec spec, std::vector<ValueId> inputs, TensorType type);
  // Like Emit, for a step with several outputs.
  std::vector<ValueId> EmitSeveral(StepSpec spec, std::vector<ValueId> inputs, std::vector<TensorType> types);
  // `value` is output i.
  void SetOut(int i, ValueId value) { outputs_[i] = value; }

  // Whether the back end makes plans of bodies of control flow, and the plan of one. `parameters` are the inputs of the
  // node that its variables are in every run, nullopt where they change.
  bool plans_bodies() const { return plan_body_ != nullptr && *plan_body_ != nullptr; }
  std::shared_ptr<const BodyRunner> PlanBody(const std::string& role, const ControlFlowBody& body,
                                             std::vector<TensorType> inputs,
                                             const std::vector<std::optional<int>>& parameters) const;

  ValueId Reshape(ValueId value, Shape shape);
  ValueId Permute(ValueId value, std::vector<int> axes);
  ValueId Cast(ValueId value, DType dtype);
  // Like Cast, for a cast of a conversion, which makes no finite number infinite.
  ValueId CastOfConversion(ValueId value, DType dtype);
  // Like Cast, for a cast of the program: a step even where the dtype is that of `value`.
  ValueId CastOfProgram(ValueId value, DType dtype);
  // Input i. A parameter, or a cast of one, is widened from bfloat16, once: our kernels read biases in float32.
  ValueId Bias(int i);

  const Shape& ShapeOf(ValueId value) const { return program_->values[value].type.shape; }
  DType DTypeOf(ValueId value) const { return program_->values[value].type.dtype; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::map<std::string, NDArray>& constants() const { return constants_; }

 private:
  std::size_t FirstStep() const;
  bool IsCastOfConstant(ValueId value) const;
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
  const BodyPlanner* plan_body_;
  std::size_t first_step_;  // of the node: there may be some before the context
};

// A fact of an operator. Returns false where oneDNN cannot express the node; it then runs on its reference kernel.
// A view (see IsView) needs no rule. Low-precision nodes are lowered only where the CPU computes that dtype natively;
// elsewhere the rule sees float32 types between casts.
struct LowerRule {
  std::function<bool(LowerContext&)> lower;
};

// A fact of an operator: lowers it to own kernels (KernelSpec) and views. Asked where LowerRule cannot lower the
// node, for operands of every dtype. Returns false where it cannot either.
struct KernelRule {
  std::function<bool(LowerContext&)> lower;
};

}  // namespace amp
