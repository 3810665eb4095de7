// The parameters that FoldBatchNorm reads and changes, and what stands against that.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>

#include "passes/model.h"
#include "passes/op_facts.h"
#include "passes/optimize/folded_product.h"

namespace amp {

// Inputs of a product and of a batch norm.
enum FoldSlot : std::size_t { kData = 0, kWeight = 1, kBias = 2, kGamma = 1, kBeta = 2, kMean = 3, kVariance = 4 };

// An obstacle is a sentence; "" where there is none. Returns the first.
std::string FirstObstacle(std::initializer_list<std::function<std::string()>> checks);

class FoldParameters {
 public:
  explicit FoldParameters(const Model& model);

  // The array of a parameter, if it is float32 and has the given shape and that of the graph.
  std::string Read(NodeId id, FoldSlot slot, const std::optional<Shape>& shape, NDArray* array) const;
  // A weight that is about to change must not be shared.
  std::string OwnObstacle(NodeId id, FoldSlot slot) const;
  // What the norm does to each of `channels` channels; an obstacle if a variance is not positive, too.
  std::string ReadNorm(NodeId norm, const BatchNormFact::Use& use, std::int64_t channels, ChannelAffine* affine) const;

  EntryId Input(NodeId id, FoldSlot slot) const { return model_.graph().InputsOf(id)[slot]; }
  bool HasBias(NodeId product) const { return model_.graph().InputsOf(product).size() > kBias; }
  // The name of the variable in a slot.
  const std::string& NameAt(NodeId id, FoldSlot slot) const;
  // "the weight of conv0"
  std::string Label(NodeId id, FoldSlot slot) const;

 private:
  std::string StateObstacle(NodeId norm, FoldSlot slot) const;

  const Model& model_;
  std::set<std::string> shared_names_;  // of several variables each
};

}  // namespace amp
