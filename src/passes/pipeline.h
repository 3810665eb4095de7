// Runs the stages of a pipeline, one after the other, over a state that holds a model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/model.h"

namespace amp {

// `State` has a member `model`.
template <class State>
struct Stage {
  const char* name;            // of the pass: for AMP_DISABLE_PASSES, AMP_DUMP and AMP_VERIFY
  bool (*when)(const State&);  // whether the state asks for it
  void (*run)(State&);
  bool may_be_disabled = false;  // by AMP_DISABLE_PASSES; what follows needs the others
};

// Whether AMP_DISABLE_PASSES, a list of names between commas, leaves the pass on.
bool PassEnabled(std::string_view pass);
// Throws ArgumentError where AMP_DISABLE_PASSES holds a name that is none of `known`.
void CheckDisabledPasses(const std::vector<std::string>& known);

// Before and after one stage: with AMP_VERIFY its result is checked, with AMP_DUMP it is written where it differs, with
// AMP_VERBOSE its time is printed.
class StageWatch {
 public:
  StageWatch(const char* stage, const Model& model);
  void Finish(const Model& model) const;

 private:
  const char* stage_;
  std::vector<NodeEntry> outputs_;  // of the graph before; keeps its nodes alive only where a dump compares them
  double begin_ = 0;                // in seconds, where the time is printed
};

template <class State>
void RunPipeline(std::span<const Stage<State>> stages, State& state) {
  for (const Stage<State>& stage : stages) {
    if (!stage.when(state) || (stage.may_be_disabled && !PassEnabled(stage.name))) continue;
    const StageWatch watch(stage.name, state.model);
    stage.run(state);
    watch.Finish(state.model);
  }
}

}  // namespace amp
