// What every policy propagates low precision with.
#pragma once

#include <vector>

#include "passes/model.h"
#include "passes/precision/low_precision_types.h"
#include "passes/precision/precision_categories.h"

namespace amp {

// What both policies work on.
struct PropagationContext {
  const Model& model;
  const Graph& graph;
  const Types& types;
  const ConvertOptions& options;
  const PrecisionChoices& choices;
  const LowPrecisionTypes& low_types;

  bool IsParameter(EntryId entry) const { return model.IsParameter(graph.NodeOf(entry)); }
  bool WasLow(EntryId entry) const { return types[entry].dtype == options.target; }
};

}  // namespace amp
