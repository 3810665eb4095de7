// A graph with what is bound to its variables.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/params_file.h"
#include "nnvm/rewriter.h"
#include "passes/infer.h"

namespace amp {

// The form in which passes, pipelines and executors hand a model on. What is known of a variable goes by its name.
class Model {
 public:
  // `variable_types`: dtypes and shapes as far as they are known. `parameters`: names of variables that are bound once,
  // with values in `arrays` or elsewhere; those of `arrays` are parameters without being named.
  Model(Graph graph, TypeMap variable_types, std::set<std::string> parameters = {}, ModelParams arrays = {});

  const Graph& graph() const { return graph_; }
  const ModelParams& arrays() const { return arrays_; }
  // The types of the graph's variables, and maybe of others.
  const TypeMap& variable_types() const { return variable_types_; }
  const std::set<std::string>& parameters() const { return parameters_; }

  // Whether the variable is a parameter; false for an operator.
  bool IsParameter(NodeId id) const { return is_parameter_[id]; }
  // Says for each node whether it reads no input of the model, at whatever distance.
  std::vector<bool> ConstantNodes() const;

  // Types of the graph's variables alone, as far as they are known.
  TypeMap GraphVariableTypes() const;
  // The types of all entries, inferred when they are first asked for after a change; some may be unknown. Throws
  // GraphError where types clash.
  const Types& types() const;

  // For a pass that changes the graph in place; Replace gives it back.
  Graph TakeGraph() { return std::move(graph_); }
  // A pass's result takes the place of the graph.
  void Replace(Graph graph);
  void Replace(RewriteResult rewrite) {
    if (rewrite.changed) Replace(std::move(rewrite.graph));
  }
  void SetVariableTypes(TypeMap variable_types);
  void SetVariableDType(const std::string& name, DType dtype);
  // Parameters stay parameters; what their values are is known elsewhere.
  void ReleaseArrays() { arrays_ = {}; }
  // Parameters without which the graph does, and values that are new.
  void ReplaceArrays(const std::set<std::string>& dropped, const std::map<std::string, NDArray>& arrays);

 private:
  void FindParameters();

  Graph graph_;
  TypeMap variable_types_;
  std::set<std::string> parameters_;
  ModelParams arrays_;
  std::vector<bool> is_parameter_;  // by NodeId
  mutable std::optional<Types> types_;
};

// The value of a parameter, whichever group it is in; nullptr where there is none.
const NDArray* FindArray(const ModelParams& arrays, const std::string& name);
std::set<std::string> ParameterNames(const ModelParams& arrays);

// The types of all variables: those of `arrays`, then `input_types`, then __dtype__, and float32 for the rest. Throws
// ArgumentError for names that the graph lacks, for a parameter that has no value or is given as argument and as
// auxiliary state, and GraphError where two variables have one name.
TypeMap VariableTypes(const Graph& graph, const ModelParams& arrays, const TypeMap& input_types);

}  // namespace amp
