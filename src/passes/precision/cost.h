// What a decision about precision may ask of the machine that a model will run on.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "passes/model.h"

namespace amp {

// Whole numbers, so that a sum does not depend on the order of its terms.
using Picoseconds = std::int64_t;

// Predicted times of one model's parts. The model outlives them and has shapes throughout.
class PrecisionCosts {
 public:
  virtual ~PrecisionCosts() = default;

  // One run of the node, with inputs and outputs of these dtypes (in their order; shapes are the model's). A node whose
  // inputs are all constants costs nothing: it runs once.
  virtual Picoseconds OfNode(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const = 0;
  // One cast of the entry; 0 where it is done once, or by a reorder that is due anyway.
  virtual Picoseconds OfCast(EntryId entry, DType from, DType to) const = 0;
  // What it costs more to run the reader apart from the node that writes the entry, because a cast stands between them.
  // 0 where they are not fused anyway.
  virtual Picoseconds OfLostFusion(EntryId entry, const Consumer& reader) const = 0;
};

// A machine whose speed is known. Immutable.
class Machine {
 public:
  virtual ~Machine() = default;

  virtual std::unique_ptr<PrecisionCosts> CostsOf(const Model& model) const = 0;
  // The costs of forward and backward together: a node's time contains that of its gradients, a cast's that of its
  // gradient's cast. `differentiated` names the variables whose gradients are computed.
  virtual std::unique_ptr<PrecisionCosts> TrainingCostsOf(const Model& model,
                                                          const std::set<std::string>& differentiated) const = 0;
  // The part of a model's time that low precision has to gain there: predictions of whole models err.
  virtual double min_gain() const { return 0.05; }
  // What replays decisions made for it: JSON, with a name and all figures.
  virtual const std::string& json() const = 0;
};

}  // namespace amp
