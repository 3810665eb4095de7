// What stands between the two products of attention: the softmax, and what scales and hides scores.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "passes/optimize/causal_mask.h"
#include "passes/optimize/constant_values.h"

namespace amp {

struct AttentionWeights {
  NodeId scores = 0;  // the first product
  double scale = 1;
  std::string masking = "none";
  EntryId seen = 0;                    // lengths or mask
  std::int64_t row_offset = kSeesAll;  // query i sees key j where j <= i + row_offset
};

// Reads graphs backwards, from the second product to the first.
class AttentionWeightsReader {
 public:
  AttentionWeightsReader(const Graph& graph, const Types& types, const NodeRunner& runner)
      : graph_(graph), types_(types), constants_(graph, types, runner) {}

  // How `entry` is computed from a node of the operator `product`; nullopt where that is in another way.
  std::optional<AttentionWeights> Find(EntryId entry, std::string_view product);

 private:
  struct Found : AttentionWeights {
    std::int64_t kept = kSeesAll;  // factors of the softmax are 1 where j <= i + kept
  };
  // The input of a selection that may be scores.
  struct Choice {
    std::size_t data;
    SightOf condition;
    bool hides;  // what else is selected
  };

  bool HasOneReader(NodeId id) const;
  std::optional<NodeId> Behind(std::optional<EntryId> entry) const;
  bool IsLastAxis(NodeId id) const;
  bool Normalises(NodeId id, Found* found);
  bool ReadLengths(NodeId id, Found* found);
  bool ReadMask(NodeId id, Found* found);
  std::optional<EntryId> BeforeScores(NodeId id, Found* found);
  std::optional<EntryId> BeforeFactor(NodeId id, std::int64_t* kept);
  std::optional<EntryId> BeforeAddend(NodeId id, Found* found);
  std::optional<EntryId> BeforeSelection(NodeId id, Found* found);
  std::vector<Choice> ChoicesOf(NodeId id, double scale);
  bool Hides(EntryId entry, double scale);
  std::optional<std::int64_t> RowOffset(EntryId mask, NodeId masked, const SightOf& sight);
  const Shape& ShapeOf(NodeId id) const { return types_[graph_.EntryOf(id, 0)].shape; }

  const Graph& graph_;
  const Types& types_;
  ConstantValues constants_;
};

}  // namespace amp
