// What a decision rounds, and what that does to the outputs.
#pragma once

#include <vector>

#include "passes/model.h"
#include "passes/precision/cut_problem.h"
#include "passes/precision/decision.h"
#include "passes/precision/propagation.h"
#include "passes/precision/tensor_roots.h"

namespace amp {

// A float32 tensor whose rounding adds an error, once however many of these readers read it rounded. It is rounded
// where its node writes it low or a reader reads it low. A node that commutes with rounding adds no error of its own
// where it is low. A tensor whose readers see parts of its error has a point for each.
struct RoundingPoint {
  double squared_error = 0;
  Choice writer = Choice::High();  // of the tensor, or of its node where that commutes with rounding
  bool commutes = false;
  std::vector<Choice> readers = {};

  bool IsPaid(const CutProblem::Solution& solution) const;
  // Adds `price` to every solution in which the tensor is rounded.
  void AddTo(CutProblem* problem, Capacity price) const;
};

// The tensors with a squared error that can be rounded. `nodes` are the choices by NodeId.
std::vector<RoundingPoint> RoundingPointsOf(const PropagationContext& context, const TensorRoots& roots,
                                            const std::vector<Choice>& nodes);

// The squared error of any decision, from the decision alone, without the network.
double PredictSquaredError(const Model& model, const Decision& decision, const ConvertOptions& options);

}  // namespace amp
