#include "program/fuse_maps.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "program/map_steps.h"
#include "program/step_graph.h"

namespace amp {
namespace {

class MapFuser {
 public:
  MapFuser(NumericMode mode, Program* program)
      : mode_(mode), program_(*program), constant_(ValuesComputedOnce(*program)), graph_(program) {}

  void Run() {
    for (StepId id = 0; id < graph_.size(); ++id) {
      while (graph_.alive(id) && MergeOneProducer(id)) {
      }
    }
  }

 private:
  bool MergeOneProducer(StepId id) {
    const Step& step = graph_.step(id);
    if (step.outputs.size() != 1) return false;
    for (const ValueId input : step.inputs) {
      const auto producer = graph_.producer(input);
      if (producer && !constant_[input] && IsReadOnlyBy(id, input) && Merge(*producer, id)) return true;
    }
    return false;
  }

  // However often; and in its own shape.
  bool IsReadOnlyBy(StepId id, ValueId v) const {
    if (graph_.is_output(v)) return false;
    for (const StepId reader : graph_.readers(v)) {
      if (reader != id) return false;
    }
    return graph_.type(v).shape == graph_.type(graph_.step(id).outputs[0]).shape;
  }

  bool Merge(StepId producer, StepId reader) {
    if (!MayMerge(producer) || !MayMerge(reader) || (IsPlainCast(producer) && IsPlainCast(reader))) return false;
    const std::optional<Step> first = AsMap(graph_.step(producer), program_, mode_);
    if (!first) return false;
    const std::optional<Step> second = AsMap(graph_.step(reader), program_, mode_);
    if (!second) return false;
    std::optional<Step> merged = MergeMaps(*first, *second, program_, mode_);
    if (!merged) return false;
    graph_.Replace(reader, *std::move(merged));
    graph_.Remove(producer);
    return true;
  }

  // Primitives treat NaN and denormals in ways of their own: mode `exact` leaves them alone.
  bool MayMerge(StepId id) const {
    return mode_ == NumericMode::kFast || IsPlainCast(id) || std::holds_alternative<MapSpec>(graph_.step(id).spec);
  }

  bool IsPlainCast(StepId id) const { return std::holds_alternative<CastSpec>(graph_.step(id).spec); }

  const NumericMode mode_;
  const Program& program_;
  const std::vector<bool> constant_;
  StepGraph graph_;
};

}  // namespace

void FuseMaps(NumericMode mode, Program* program) { MapFuser(mode, program).Run(); }

}  // namespace amp
