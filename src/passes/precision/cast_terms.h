// What is paid for casts, as part of the network for minimum cuts.
#pragma once

#include "passes/precision/cost.h"
#include "passes/precision/cut_problem.h"
#include "passes/precision/propagation.h"
#include "passes/precision/tensor_roots.h"

namespace amp {

// What is paid for the casts of each tensor: once for each dtype, however many read it. Their times, or without costs
// the number of amp_casts.
class CastTerms {
 public:
  CastTerms(const PropagationContext& context, const PrecisionCosts* costs, CutProblem* problem)
      : c_(context), costs_(costs), problem_(*problem) {}

  void Add(const TensorRoot& given);

 private:
  bool IsChoice(DType dtype) const { return dtype == c_.options.target || dtype == DType::kFloat32; }
  bool IsTarget(const TensorUse& use) const { return use.dtype == c_.options.target; }
  Choice SideOf(const TensorRoot& root, const TensorUse& use) const;
  Choice Demand(const TensorRoot& root, const TensorUse& use);
  void AddWhereCast(const TensorRoot& root, const TensorUse& use, Capacity cost);
  void AddTime(const TensorRoot& root, const TensorUse& use);
  void AddCount(const TensorRoot& root, const TensorUse& use);
  void AddWhereOther(const TensorRoot& root, const TensorUse& use, Capacity cost);
  bool MayBeCastOffline(const TensorRoot& root, const TensorUse& use) const;
  bool IsCastOffline(const TensorRoot& root, const TensorUse& use) const;
  void AddOffline(const TensorRoot& root, const TensorUse& use);

  const PropagationContext& c_;
  const PrecisionCosts* costs_;
  CutProblem& problem_;
};

}  // namespace amp
