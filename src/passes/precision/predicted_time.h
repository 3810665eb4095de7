// The time that a machine predicts for a decision.
#pragma once

#include "passes/model.h"
#include "passes/precision/cost.h"
#include "passes/precision/decision.h"

namespace amp {

// The time of any decision, whoever made it: nodes, the casts that ApplyDecision would make, and fusions that these
// prevent. Throws ArgumentError for a machine whose times are negative or too large to add.
Picoseconds PredictTime(const Model& model, const Decision& decision, const PrecisionCosts& costs);

// The decision that changes nothing of the model; `like` has the reasons.
Decision Unchanged(const Model& model, const Decision& like);

// Whether low precision is worth it for the model as a whole. Predictions of whole models err by some per cent: a
// smaller gain than that may be a loss.
bool PaysOff(const Prediction& predicted, const Machine& machine);

// Throws ArgumentError for a time that is negative.
Picoseconds CheckedTime(Picoseconds time);

}  // namespace amp
