// Runs the stages of a pipeline, one after the other, over a state.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/model.h"

namespace amp {

template <class State>
struct Stage {
  const char* name;            // of the pass: for AMP_DISABLE_PASSES, AMP_DUMP and AMP_VERIFY
  bool (*when)(const State&);  // whether the state asks for it; null: always
  void (*run)(State&);
  bool may_be_disabled = false;  // by AMP_DISABLE_PASSES; what follows needs the others
};

// Whether AMP_DISABLE_PASSES, a list of names between commas, leaves the pass on.
bool PassEnabled(std::string_view pass);
// Throws ArgumentError where AMP_DISABLE_PASSES holds a name that is none of `known`.
void CheckDisabledPasses(const std::vector<std::string>& known);

// Times one stage, where AMP_VERBOSE asks for it, and names its dump.
class StageClock {
 public:
  explicit StageClock(const char* stage);

  const char* stage() const { return stage_; }
  // Whether AMP_DUMP, and AMP_VERIFY, are set.
  static bool dumps();
  static bool verifies();
  // Prints, with AMP_VERBOSE, the time since construction, and how large what was made is.
  void Print(std::size_t count, const char* of_what) const;
  void Dump(const std::string& text) const;

 private:
  const char* stage_;
  double begin_ = 0;  // in seconds, where the time is printed
};

// Before and after one stage over a state that has a member `model`: with AMP_VERIFY its graph is checked, with
// AMP_DUMP it is written where it differs.
class StageWatch {
 public:
  template <class State>
  StageWatch(const char* stage, const State& state) : StageWatch(stage, state.model) {}
  StageWatch(const char* stage, const Model& model);

  template <class State>
  void Finish(const State& state) const {
    Finish(state.model);
  }
  void Finish(const Model& model) const;

 private:
  const StageClock clock_;
  std::vector<NodeEntry> outputs_;  // of the graph before; keeps its nodes alive only where a dump compares them
};

template <class Watch = StageWatch, class State>
void RunPipeline(std::span<const Stage<State>> stages, State& state) {
  for (const Stage<State>& stage : stages) {
    if ((stage.when != nullptr && !stage.when(state)) || (stage.may_be_disabled && !PassEnabled(stage.name))) continue;
    const Watch watch(stage.name, state);
    stage.run(state);
    watch.Finish(state);
  }
}

}  // namespace amp
