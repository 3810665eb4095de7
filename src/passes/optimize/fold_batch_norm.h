// FoldBatchNorm: batch norm at inference is a scale and a shift per channel, which the convolution or fully connected
// layer before it, or the one behind it, can do by itself.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nnvm/rewriter.h"
#include "passes/model.h"

namespace amp {

// A weight with a batch norm in it that is read in low precision only.
struct FoldedWeight {
  std::string node;  // that reads it
  DType target = DType::kUnknown;
  int channel_axis = 0;     // of output channels
  std::int64_t groups = 1;  // that divide axis 0 where channels are on another axis; each has channels of its own
};

// Names of nodes.
struct FoldedBatchNorm {
  std::string batch_norm, into;
  bool operator==(const FoldedBatchNorm&) const = default;
};
struct UnfoldedBatchNorm {
  std::string batch_norm, reason;
  bool operator==(const UnfoldedBatchNorm&) const = default;
};

// Both in graph order; together all batch norms of the graph.
struct FoldedNames {
  std::vector<FoldedBatchNorm> folded;
  std::vector<UnfoldedBatchNorm> kept;
};

struct FoldResult {
  RewriteResult rewrite;
  // What replaces a weight or bias, and biases that are new, by name of the parameter. All float32.
  std::map<std::string, NDArray> arrays;
  std::set<std::string> dropped;  // parameters that the graph read and reads no more
  FoldedNames names;
};

enum class FoldDirection { kIntoProducers, kBoth };

// Folds every batch norm whose producer has no other reader and whose parameters are float32 arrays of the model; with
// kBoth the others into their only reader, maybe behind copies and Flatten. Each weight is computed in double and
// rounded once, however many norms are folded into it. `keeps`, where given, says which nodes (norms, producers or
// readers) must stay as they are. Outputs of the graph keep their names; a bias that was missing is called
// "<node>_bias". The reason for which a norm is kept is that against its producer. Folding the result again changes
// nothing.
FoldResult FoldBatchNorm(const Model& model, const std::function<bool(const Node&)>& keeps,
                         FoldDirection direction = FoldDirection::kIntoProducers);

}  // namespace amp
