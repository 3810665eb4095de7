// The audit of a plan: what its runs executed against what it meant.
#pragma once

#include <string>
#include <vector>

#include "program/plan_summary.h"

namespace amp {

struct AuditedStep {
  PlanStep planned;
  ExecutedStep executed;
  // A sentence for each fact that differs; empty: what ran is what was planned.
  std::vector<std::string> differences;
};

// `executed` goes by step of the plan.
std::vector<AuditedStep> Audit(const std::vector<PlanStep>& planned, const std::vector<ExecutedStep>& executed);

}  // namespace amp
