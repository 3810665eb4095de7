// The stages of a plan in which operators have become steps and nothing has a layout yet.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "dnnl/compile_options.h"
#include "passes/pipeline.h"
#include "program/layer_decision.h"
#include "program/lowering.h"
#include "program/machine_capabilities.h"
#include "program/program_text.h"

namespace amp::onednn {

class ConstantStore;

// What the stages read and change.
struct PlanState {
  const Model& model;
  const CompileOptions& options;
  const MachineCapabilities& capabilities;
  const LowerOptions& lowering;
  const std::set<NodeId>& do_not_fuse;  // nodes whose fused steps oneDNN does not have
  ConstantStore& store;
  bool is_laid_out = false;  // the plan will be built, and not only its kernels chosen

  LoweredGraph lowered = {};
  std::vector<LayerDecision> decisions = {};
  bool keeps_denormals = false;  // some step has to

  Program& program() { return lowered.program; }
  const Program& program() const { return lowered.program; }
  bool is_fast() const { return options.mode == NumericMode::kFast; }
  bool is_onednn() const { return options.backend == Backend::kOneDnn; }
};

// Before and after one stage over a state that has a `program()`: with AMP_DUMP it is written where it differs, with
// AMP_VERBOSE the time of the stage is printed.
class ProgramWatch {
 public:
  template <class State>
  ProgramWatch(const char* stage, const State& state)
      : clock_(stage), before_(StageClock::dumps() ? TextOf(state.program()) : "") {}

  template <class State>
  void Finish(const State& state) const {
    Finish(state.program());
  }
  void Finish(const Program& program) const;

  const char* stage() const { return clock_.stage(); }

 private:
  const StageClock clock_;
  const std::string before_;
};

// Whether own kernels are chosen for layers.
bool ChoosesKernels(const CompileOptions& options);

// Runs the stages. With AMP_VERIFY the program is checked behind each.
void RunPlanStages(PlanState& state);

}  // namespace amp::onednn
