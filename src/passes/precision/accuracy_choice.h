// The choice for an accuracy target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/precision/cost.h"
#include "passes/precision/search_accuracy.h"

namespace amp {

// The choice for an accuracy target, and what single nodes would have added to its errors. `nodes` are the choices by
// NodeId.
class AccuracyChoice {
 public:
  AccuracyChoice(const PropagationContext& context, const CutProblem& problem, std::size_t num_decisions,
                 const TensorRoots& roots, const std::vector<Choice>& nodes);

  const CutProblem::Solution& solution() const { return found_.solution; }
  ErrorOutcome Outcome() const;
  // Whether the node is low where errors have no price.
  bool WouldBeLow(NodeId id) const { return cheapest_.solution.IsLow(nodes_[id]); }
  // "its roundings have 23 % of the squared error and save 1 % of the time"
  std::string Price(NodeId id, std::optional<Picoseconds> saved) const;

 private:
  const ErrorTarget& target_;
  const std::vector<Choice>& nodes_;
  AccuracySearch search_;
  const AccuracySearch::Found cheapest_, found_;
};

}  // namespace amp
