// Operators that a program defines at run time, such as MXNet's CustomOp in Python. They are nodes `Custom`.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nnvm/ndarray.h"
#include "nnvm/param.h"
#include "nnvm/shape.h"

namespace amp {

// What one node computes. Functions may be called by any thread, and throw what they like.
class CustomOperator {
 public:
  virtual ~CustomOperator() = default;

  // Names. Inputs of a node are its arguments, and behind them its states.
  const std::vector<std::string>& arguments() const { return arguments_; }
  const std::vector<std::string>& states() const { return states_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  // Types of arguments, outputs and states, in this order, given those of the arguments; some may be unknown.
  virtual std::vector<Shape> InferShapes(const std::vector<Shape>& arguments) const = 0;
  virtual std::vector<DType> InferDTypes(const std::vector<DType>& arguments) const = 0;

  // `inputs` are arguments and states; the result is outputs, and what the states become.
  virtual std::vector<NDArray> Forward(bool is_train, std::span<const NDArray> inputs) const = 0;
  // The gradients of the arguments, given those of the outputs, the inputs, and the results of Forward.
  virtual std::vector<NDArray> Backward(std::span<const NDArray> output_gradients, std::span<const NDArray> inputs,
                                        std::span<const NDArray> results) const = 0;

 protected:
  CustomOperator(std::vector<std::string> arguments, std::vector<std::string> states, std::vector<std::string> outputs)
      : arguments_(std::move(arguments)), states_(std::move(states)), outputs_(std::move(outputs)) {}

 private:
  const std::vector<std::string> arguments_, states_, outputs_;
};

// A hidden attribute of nodes in training, and of those of their gradients: the name of the node that they stand for.
// What Forward keeps for Backward belongs to that node.
inline constexpr const char* kCustomNodeAttr = "__custom_node__";

// The operator that the attributes of a node name.
using MakeCustomOperator = std::function<std::shared_ptr<const CustomOperator>(const AttrMap& attrs)>;

// Registers the operator `Custom`, and what stands for it in training. To be called once, before graphs are made.
void RegisterCustomOperators(MakeCustomOperator make);

// Registers an operator of a name of its own: its nodes are what those of `Custom` with this `op_type` are. To be
// called behind RegisterCustomOperators.
void RegisterCustomName(const std::string& name, const std::string& doc, MakeCustomOperator make);

}  // namespace amp
