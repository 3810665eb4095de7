// The values of what depends on no variable: masks, positions and numbers that a graph makes by itself.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "nnvm/ndarray.h"
#include "passes/infer.h"

namespace amp {

// How to compute with arrays; passes know no kernels.
struct NodeRunner {
  // On arrays of the inferred types; false for an operator that it does not know. Inputs that are not read have no
  // memory, and those that the operator ignores are undefined.
  bool (*run)(const Node& node, std::span<const NDArray> inputs, std::span<NDArray> outputs) = nullptr;
  std::vector<double> (*numbers)(const NDArray& array) = nullptr;
};

// An entry is constant where its node reads values of constants alone; shapes it may take from anywhere.
class ConstantValues {
 public:
  // Without a runner nothing is constant.
  ConstantValues(const Graph& graph, const Types& types, const NodeRunner& runner)
      : graph_(graph), types_(types), runner_(runner) {}

  // Whether the node looks at the elements of an input, not only at its type.
  static bool ReadsValues(const Node& node, std::size_t slot);

  bool IsConstant(EntryId entry);
  // All elements of a constant, row-major; nullopt for what is none, or where the runner does not know an operator.
  std::optional<std::vector<double>> Numbers(EntryId entry);

 private:
  void FindConstants();
  bool HasConstantInputs(NodeId id) const;
  bool HasSmallOutputs(NodeId id) const;
  bool Compute(NodeId id);
  NDArray InputOf(NodeId id, std::size_t slot) const;
  std::vector<NodeId> MissingFor(NodeId id) const;

  const Graph& graph_;
  const Types& types_;
  NodeRunner runner_;
  std::vector<bool> is_constant_;                  // by node; found for the first question
  std::unordered_map<EntryId, NDArray> computed_;  // so far
};

}  // namespace amp
