// The kernels of ours that may compute a layer in place of the library: one entry each.
//
// A new candidate is an entry of the table in kernel_candidates.cc: its name, what it has to gain, and the function
// that proposes it. LawOf (step_features.cc) and Flops (step_cost.cc) predict how long its step takes. `amp calibrate`
// measures candidates with a prediction of their own, and tune=True times them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "program/machine_capabilities.h"
#include "program/step.h"

namespace amp {

// A step, as candidates see it.
struct KernelSite {
  const Program& program;
  const std::vector<bool>& constant;  // by value: it is computed once, whatever the shapes of the inputs are
  const MachineCapabilities& machine;
  const Step& step;
  // The step that makes the first input, which nothing else reads, and the step before that one; as many as there are.
  std::vector<const Step*> producers = {};

  // Whether what is around the step has its channels last.
  bool IsChannelsLast() const;
  StepTypes TypesOf(const Step& of) const;
  bool HasConstantWeights() const { return HasConstantWeights(step); }
  bool HasConstantWeights(const Step& of) const { return of.inputs.size() > 1 && constant[of.inputs[1]]; }
};

// More steps than any candidate takes.
inline constexpr std::size_t kMaxTakenSteps = 2;

struct KernelCandidate {
  const char* name;
  // As long as its law is not measured on the machine, it has to take less than this part of what the library takes.
  double least_gain;
  // How many steps before it computes, too: the one that makes the first input, and so on. They are removed.
  std::size_t takes;
  // The step as this kernel computes it; nullopt where it cannot, or loses accuracy. All else of the step stays.
  std::optional<Step> (*propose)(const KernelSite& site);
};

// In the order in which they are asked; of equally fast ones the first is taken.
std::span<const KernelCandidate> KernelCandidates();

}  // namespace amp
