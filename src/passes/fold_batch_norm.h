// FoldBatchNorm: batch norm at inference is a scale and a shift per channel, which the convolution or fully connected
// layer before it, or the one behind it, can do by itself.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nnvm/params_file.h"
#include "nnvm/rewriter.h"
#include "passes/infer.h"

namespace amp {

// Fact of an operator that adds up products with a weight (input 1), plus a bias (input 2, where there is one): scaling
// the weights of an output channel scales that channel of output 0.
struct FoldTarget {
  // The axis of an output of `rank` axes that holds the channels.
  std::function<int(const Node&, int rank)> channel_axis;
  // The weight's axis of output channels. Where axis 0 consists of groups, each of them has channels of its own, and
  // those of the first group come first.
  int weight_axis = 0;
  std::function<std::int64_t(const Node&)> weight_groups = [](const Node&) { return std::int64_t{1}; };
  // The attributes that give a node without a bias the input for one.
  AttrMap with_bias = {{"no_bias", "False"}};
};

// Fact of an operator that adds up products with a weight (input 1) and whose output channels are the weight's axis 0:
// scaling and shifting a channel of its input is scaling weights and shifting the bias, where it adds no padding.
struct FoldReader {
  struct Use {
    int channel_axis = 1;     // of the input
    int weight_axis = 1;      // of the weight: the input's channels
    std::int64_t groups = 1;  // the output channels fall into as many parts; each reads channels of its own
    bool flattens = false;    // all axes of the input but the first become one, along `weight_axis`
  };
  // For an input of `rank` axes; nullopt for a node that pads.
  std::function<std::optional<Use>(const Node&, int rank)> use;
};

// Fact of an operator over (data, gamma, beta, mean, variance) whose output 0 is
// (data - mean) * gamma / sqrt(variance + eps) + beta, per channel.
struct BatchNormFact {
  struct Use {
    std::int64_t axis = 1;  // negative: from behind
    double eps = 0;
    bool fix_gamma = false;  // gamma counts as 1
    bool is_plain = true;    // no other output is visible
  };
  std::function<Use(const Node&)> use;
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

struct FoldResult {
  RewriteResult rewrite;
  // By name of the parameter: what replaces a weight or bias, and biases that are new. All float32.
  std::map<std::string, NDArray> arrays;
  std::set<std::string> dropped;  // parameters that the graph read and reads no more
  std::vector<FoldedBatchNorm> folded;
  std::vector<UnfoldedBatchNorm> kept;  // both in graph order; together all batch norms of the graph
};

enum class FoldDirection { kIntoProducers, kBoth };

// Folds every batch norm whose producer nobody else reads and whose parameters are float32 arrays in `params`; with
// kBoth the others into their only reader, maybe behind copies and Flatten. Each weight is computed in double and
// rounded once, however many norms are folded into it. `keeps`, where given, says which nodes (norms, producers or
// readers) must stay as they are. Heads keep their names; a bias that was missing is called "<node>_bias". The reason
// for which a norm is kept is that against its producer. Folding the result again changes nothing.
FoldResult FoldBatchNorm(const Graph& graph, const Types& types, const ModelParams& params,
                         const std::function<bool(const Node&)>& keeps,
                         FoldDirection direction = FoldDirection::kIntoProducers);

}  // namespace amp
