#include "dnnl/plan_stages.h"

#include <algorithm>
#include <span>

#include "dnnl/constants.h"
#include "dnnl/cpu_info.h"
#include "dnnl/fold_pads.h"
#include "dnnl/fuse_post_ops.h"
#include "program/choose_kernels.h"
#include "program/choose_layouts.h"
#include "program/fuse_maps.h"
#include "program/split_phases.h"
#include "program/threads.h"
#include "program/verify_program.h"

namespace amp::onednn {
namespace {

bool IsOneDnn(const PlanState& state) { return state.is_onednn(); }
bool IsFastOneDnn(const PlanState& state) { return state.is_fast() && state.is_onednn(); }

// Each node becomes steps as its operator's definition says; later stages do not look at operators.
void LowerNodes(PlanState& state) {
  state.lowered = Lower(state.model, state.lowering);
  state.store.AddArrays(state.lowered.constants);
  const std::vector<Step>& steps = state.program().steps;
  state.keeps_denormals =
      std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.alternate.has_value(); });
}

// What another plan of this model packed already is a constant now, and is not computed again.
void RemoveKnown(PlanState& state) { RemoveKnownConstants(state.store, &state.program()); }

// Behind ChooseLayouts no stage moves steps, but this one.
void SplitPhases(PlanState& state) { PutForwardFirst(*state.options.num_forward_outputs, &state.program()); }

constexpr Stage<PlanState> kStages[] = {
    {"Lower", nullptr, LowerNodes},
    {"RemoveKnownConstants", nullptr, RemoveKnown},
    // First, because pads stand between what may be fused.
    {"FoldPads", IsFastOneDnn, [](PlanState& s) { FoldPads(s.do_not_fuse, &s.program()); }, true},
    // Before layouts are assigned, so that what is fused has no layout of its own.
    {"FusePostOps", IsOneDnn, [](PlanState& s) { FusePostOps(s.options.mode, s.do_not_fuse, &s.program()); }, true},
    // Constants that FusePostOps makes (wider slopes) may be known from another plan, too.
    {"RemoveKnownConstants", nullptr, RemoveKnown},
    // What is left of elementwise work between primitives becomes one pass over memory.
    {"FuseMaps", IsOneDnn, [](PlanState& s) { FuseMaps(s.options.mode, &s.program()); }, true},
    // Now that it is known what layers do beside.
    {"ChooseKernels", [](const PlanState& s) { return ChoosesKernels(s.options); },
     [](PlanState& s) {
       s.decisions = ChooseKernels(*s.options.kernels, s.capabilities, s.options.machine.get(), &s.program(),
                                   EffectiveThreads(s.options.num_threads));
     }},
    // Hints for primitives, now that it is known what they do. Other layouts give other sums.
    {"ChooseLayouts", [](const PlanState& s) { return s.is_laid_out && s.is_fast(); },
     [](PlanState& s) { ChooseLayouts(OneDnnHasAmx(), &s.program()); }, true},
    {"PutForwardFirst", [](const PlanState& s) { return s.is_laid_out && s.options.num_forward_outputs.has_value(); },
     SplitPhases},
};

// Checks the program, too.
class VerifyingWatch : public ProgramWatch {
 public:
  using ProgramWatch::ProgramWatch;

  void Finish(const PlanState& state) const {
    ProgramWatch::Finish(state.program());
    if (StageClock::verifies()) VerifyProgram(state.program(), stage());
  }
};

}  // namespace

bool ChoosesKernels(const CompileOptions& options) {
  return options.mode == NumericMode::kFast && options.kernels != nullptr && options.backend == Backend::kOneDnn &&
         PassEnabled("ChooseKernels");
}

void ProgramWatch::Finish(const Program& program) const {
  clock_.Print(program.steps.size(), "steps");
  if (!StageClock::dumps()) return;
  const std::string text = TextOf(program);
  if (text != before_) clock_.Dump(text);
}

void RunPlanStages(PlanState& state) { RunPipeline<VerifyingWatch>(std::span<const Stage<PlanState>>(kStages), state); }

}  // namespace amp::onednn
