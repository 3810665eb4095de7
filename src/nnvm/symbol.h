// What users compose, load and save: one or more outputs of a graph.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nnvm/graph.h"

namespace amp {

class Symbol {
 public:
  Symbol() = default;
  explicit Symbol(std::vector<NodeEntry> outputs, bool np_shape = false)
      : outputs_(std::move(outputs)), np_shape_(np_shape) {}

  static Symbol Variable(std::string name, AttrMap attrs = {});
  static Symbol Group(const std::vector<Symbol>& symbols);

  // Applies an operator. Inputs come by position, then by name; each of them must have exactly one output, except that
  // the only positional input of a variadic operator may have several. Missing inputs become variables
  // "<name>_<input>". Throws GraphError / ArgumentError / UnsupportedError.
  static Symbol Apply(std::string_view op_name, std::string name, AttrMap attrs, const std::vector<Symbol>& positional,
                      const std::map<std::string, Symbol>& by_name);

  const std::vector<NodeEntry>& outputs() const { return outputs_; }
  // Files say whether a graph is of MXNet's np mode, in which scalars and empty arrays are values. What is made of
  // such a symbol is of that mode, too.
  bool np_shape() const { return np_shape_; }
  Symbol WithNpShape(bool np_shape) const { return Symbol(outputs_, np_shape); }
  Graph ToGraph() const { return Graph(outputs_); }

  std::vector<std::string> ListArguments() const;
  std::vector<std::string> ListAuxiliaryStates() const;
  std::vector<std::string> ListInputs() const;
  std::vector<std::string> ListOutputs() const;
  std::map<std::string, AttrMap> AttrDict() const;  // node name -> attributes, nodes without any left out

  // Every visible output of every node.
  Symbol GetInternals() const;
  // The inputs of the output nodes; empty for variables.
  Symbol GetChildren() const;
  // Output by its name ("fc1_output"); throws ArgumentError with near matches.
  Symbol ByName(std::string_view output_name) const;
  Symbol At(std::size_t index) const;
  // This symbol with some variables replaced; unknown names throw ArgumentError.
  Symbol Substitute(const std::map<std::string, Symbol>& variables) const;

 private:
  std::vector<NodeEntry> outputs_;
  bool np_shape_ = false;
};

}  // namespace amp
