// What the policy and the caller say about each node, before anything spreads through the graph.
#pragma once

#include <vector>

#include "passes/precision/convert_options.h"
#include "passes/precision/precision_category.h"
#include "passes/precision/problems.h"
#include "passes/precision/reason.h"

namespace amp {

struct PrecisionChoices {
  std::vector<PrecisionCategory> roles;  // by NodeId; kKeep for variables
  std::vector<Reason> reasons;           // why; of no meaning for neutral operators
  std::vector<bool> named;               // by NodeId: chosen as a single node, not for its operator
  std::vector<std::string> details;      // texts of the reasons
  std::vector<bool> widens;              // by NodeId: a list of the call wants its inputs in float32, whatever they are
  std::vector<bool> forced;              // by NodeId: the call forces it to the target
  std::vector<NodeId> forced_low;        // of these, nodes that it calls by their own name
  std::vector<std::string> unknown_names;  // patterns that match no node, if that is allowed
};

// Adds every unknown operator, name and output (with near matches), every conflict between choices of the same strength
// and every option that the policy does not have to `problems`.
PrecisionChoices ChoosePrecision(const Graph& graph, const ConvertOptions& options, Problems* problems);
// Throws ArgumentError that lists the problems.
PrecisionChoices ChoosePrecision(const Graph& graph, const ConvertOptions& options);

// Policy graphamp's preset mp0: nothing is decided, and the symbol comes back as it was.
bool IsOff(const ConvertOptions& options);

// Whether `name` matches the glob `pattern` (*, ? and [..]).
bool MatchesGlob(const std::string& pattern, const std::string& name);

inline constexpr const char* kOptConstraintAttr = "__opt_constraint__";
inline constexpr long kDisableAmpBit = 1;

// The bits of a node's __opt_constraint__ and, of a fused node, of those of the nodes in its subgraph. Text that is no
// number counts as 0, as in MXNet.
long OptConstraints(const Node& node);
// Is the bit DisableAMP among them?
bool IsAmpDisabled(const Node& node);

}  // namespace amp
