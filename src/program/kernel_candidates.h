// The kernels of ours that may compute a layer in place of the library: one entry each.
//
// A new candidate is an entry of the table in kernel_candidates.cc: its name, what it has to gain, and the function
// that proposes it. What its step takes is said by LawOf (step_features.cc) and Flops (step_cost.cc); with a law of its
// own, `amp calibrate` measures it, and tune=True times it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "program/step.h"

namespace amp {

// A step, as candidates see it.
struct KernelSite {
  const Program& program;
  const std::vector<bool>& constant;  // by value: it is computed once, whatever the shapes of the inputs are
  const Step& step;
  // The step that makes the first input, which nothing else reads; null for candidates that do not take it.
  const Step* producer = nullptr;
  bool has_bf16 = false;  // there is code that multiplies bfloat16

  StepTypes TypesOf(const Step& of) const;
  bool HasConstantWeights() const { return step.inputs.size() > 1 && constant[step.inputs[1]]; }
};

struct KernelCandidate {
  const char* name;
  // As long as its law is not measured on the machine, it has to take less than this part of what the library takes.
  double least_gain;
  // Whether it computes the step that makes the first input, too; that one is removed.
  bool takes_producer;
  // The step as this kernel computes it; nullopt where it cannot, or loses accuracy. All else of the step stays.
  std::optional<Step> (*propose)(const KernelSite& site);
};

// In the order in which they are asked; of equally fast ones the first is taken.
std::span<const KernelCandidate> KernelCandidates();

}  // namespace amp
